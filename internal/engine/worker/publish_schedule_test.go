package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
)

// TestRotaSpreadsSnapshots: at most 2,000 snapshots come in a second, and those of one worker are a period apart. In a
// small fleet they come soon after the second.
func TestRotaSpreadsSnapshots(t *testing.T) {
	for _, c := range []struct {
		workers      int
		period, last time.Duration
	}{
		{1, time.Second, time.Millisecond},
		{10, time.Second, 5 * time.Millisecond},
		{1000, time.Second, 500 * time.Millisecond},
		{3000, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{10_000, 5 * time.Second, 5 * time.Second},
	} {
		const slot = 100 * time.Millisecond
		load := map[time.Duration]int{}
		for i := range c.workers {
			var r publishSchedule
			r.named(fmt.Sprintf("w%d/0123456789abcdef", i))
			r.members.Store(int64(c.workers))
			first := r.after(0)
			if first > c.last {
				t.Errorf("of %d, worker %d has its turn at %v", c.workers, i, first)
			}
			for at := first; at < time.Minute; {
				load[at/slot]++
				next := r.after(at + 1)
				if next != at+c.period {
					t.Fatalf("of %d, worker %d comes at %v, then at %v", c.workers, i, at, next)
				}
				at = next
			}
		}
		for at, n := range load {
			if n > 250 { // 200 on the average
				t.Errorf("of %d workers %d come in the 100 ms from %v", c.workers, n, at*slot)
			}
		}
	}
}

// busy is a Redis that takes one snapshot after the other and stands still for a while. It also takes snapshots whose
// sender has given up.
type busy struct {
	mu     sync.Mutex
	began  time.Time
	frozen [2]time.Duration
	free   time.Time
}

const serviceTime = 300 * time.Microsecond

func (b *busy) serve(ctx context.Context) error {
	b.mu.Lock()
	at := time.Now()
	if b.free.After(at) {
		at = b.free
	}
	if since := at.Sub(b.began); since >= b.frozen[0] && since < b.frozen[1] {
		at = b.began.Add(b.frozen[1])
	}
	b.free = at.Add(serviceTime)
	until := time.Until(b.free)
	b.mu.Unlock()
	select {
	case <-time.After(until):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// busyJournal is the journal of one of many workers at a busy Redis.
type busyJournal struct {
	*busy
	last  time.Duration // when Redis last took a snapshot
	fails int
}

func (j *busyJournal) Publish(ctx context.Context, _, _ *record.Snapshot, _ *record.Series) error {
	err := j.serve(ctx)
	if err != nil {
		j.fails++
		return err
	}
	j.last = time.Since(j.began)
	return nil
}

// TestManyPublishersAndAFrozenRedis: 3,000 workers publish again after Redis stood still for 1 s. If all did so at
// once, each round would take Redis 0.9 s. No worker waits that long, so Redis would never catch up.
func TestManyPublishersAndAFrozenRedis(t *testing.T) {
	simulate(t, func(t *testing.T) {
		const n, end = 3000, 30 * time.Second
		redis := &busy{began: time.Now(), frozen: [2]time.Duration{10 * time.Second, 11 * time.Second}}
		all := make([]*busyJournal, n)
		quit := make(chan struct{})
		var running sync.WaitGroup
		for i := range all {
			all[i] = &busyJournal{busy: redis}
			p := &publisher{worker: fmt.Sprint("w", i), incarnation: "1", journal: all[i], clock: pacer.NewClock(), started: func() int64 { return 0 }, log: slog.New(slog.DiscardHandler)}
			p.begin()
			p.schedule.members.Store(n)
			running.Go(func() { p.run(quit) })
		}
		time.Sleep(redis.frozen[0] - time.Millisecond)
		synctest.Wait() // no publisher is at work
		for i, j := range all {
			if j.fails > 0 {
				t.Fatalf("worker %d failed before", i)
			}
		}
		time.Sleep(end - time.Since(redis.began))
		close(quit)
		running.Wait()
		failed := 0
		for i, j := range all {
			if j.last < end-3*record.SnapshotPeriod(n) {
				t.Errorf("worker %d published last at %v", i, j.last)
			}
			failed += j.fails
		}
		if failed == 0 || failed > n {
			t.Errorf("%d attempts failed", failed)
		}
	})
}
