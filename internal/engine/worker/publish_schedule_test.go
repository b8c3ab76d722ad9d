package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/internal/engine/publishing"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
)

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
			p.schedule.Members.Store(n)
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
			if j.last < end-3*publishing.Period(n) {
				t.Errorf("worker %d published last at %v", i, j.last)
			}
			failed += j.fails
		}
		if failed == 0 || failed > n {
			t.Errorf("%d attempts failed", failed)
		}
	})
}
