//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/internal/engine/publishing"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
)

// start starts all workers. At most joining of them connect at the same time.
func (t *throng) start(ctx context.Context, r *run.Run, started *atomic.Int64) {
	t.failed = make(chan error, t.workers)
	room := make(chan struct{}, joining)
	t.all.Go(func() {
		for i := range t.workers {
			room <- struct{}{}
			t.all.Go(func() {
				joined := sync.OnceFunc(func() { <-room })
				defer joined()
				if err := t.member(ctx, r, i, started, joined); err != nil {
					t.failed <- err
				}
			})
		}
	})
}

// member runs one worker until the run is stopped. It calls joined when Redis has answered the worker.
func (t *throng) member(ctx context.Context, r *run.Run, i int, started *atomic.Int64, joined func()) error {
	name, incarnation := fmt.Sprint("w", i), run.NewID()
	link, mine, err := t.open(ctx, r.Name, name)
	if err != nil {
		return err
	}
	defer link.Close() //nolint:errcheck // the run is over
	watching, stop := context.WithCancel(ctx)
	defer stop()
	known := int64(0)
	var mu sync.Mutex // guards known: replies and messages both set it
	learn := func(laws []lease.Law) {
		mu.Lock()
		defer mu.Unlock()
		if n := len(laws); n > 0 && laws[n-1].ID > known {
			known = laws[n-1].ID
			t.received.law(known)
		}
	}
	idle := &idler{clock: pacer.NewClock(), changed: make(chan struct{}, 1)}
	var beat chan struct{} // nil if the worker publishes nothing
	if !t.silent {
		beat = make(chan struct{}, 1)
		go t.publish(watching, results.NewJournal(mine, name, incarnation), record.NewSnapshot(name, incarnation), i, started, beat)
	}
	renewer := lease.Renewer{
		Server: mine.Leases(link.Client), Sink: idle, Clock: idle.clock, Worker: name, Incarnation: incarnation, Changed: idle.changed, Beat: beat,
		Messages: tapped(watching, mine.Messages(watching, link, name), func(m lease.Message) { learn(m.Laws) }),
		Observe: func(reply lease.Reply, _ *lease.View) {
			joined()
			t.received.reply(i)
			learn(reply.Laws)
		},
	}
	if err := renewer.Run(ctx); !errors.Is(err, pacer.ErrStopped) {
		return fmt.Errorf("worker %s: %w", name, err)
	}
	_, reached := idle.Taken()
	return renewer.Leave(ctx, reached)
}

// tapped passes messages on, after it has called note with each.
func tapped(ctx context.Context, in <-chan lease.Message, note func(lease.Message)) <-chan lease.Message {
	out := make(chan lease.Message)
	go func() {
		for {
			select {
			case m := <-in:
				note(m)
				select {
				case out <- m:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// idler is a Sink that sends nothing.
type idler struct {
	clock   *pacer.Clock
	version atomic.Int64
	changed chan struct{}
}

// Take implements lease.Sink.
func (s *idler) Take(v *lease.View) {
	s.version.Store(int64(v.Version))
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Taken implements lease.Sink.
func (s *idler) Taken() (version int, reached int64) {
	return int(s.version.Load()), s.clock.Redis(s.clock.Now()) / 1000
}

// publish publishes invented results of worker i at the pace of a real worker, until ctx ends.
func (t *throng) publish(ctx context.Context, journal *results.Journal, total *record.Snapshot, i int, started *atomic.Int64, beat chan<- struct{}) {
	n := int64(t.workers)
	period, share := publishing.Period(n), publishing.Spread(n)*time.Duration(i)/time.Duration(n)
	recorder, interval := record.NewRecorder(), record.NewSnapshot(total.Worker, total.Incarnation)
	var series record.Series
	for {
		since := time.Since(time.UnixMicro(started.Load()))
		if started.Load() == 0 || since < 0 {
			since = period - 100*time.Millisecond - share
		}
		select {
		case <-time.After(share + period - since%period):
		case <-ctx.Done():
			return
		}
		if started.Load() == 0 {
			continue
		}
		recorder.Reset()
		interval.Reset()
		total.Seq++
		interval.Seq, interval.Start, interval.End = total.Seq, total.End, time.Now().UnixMicro()
		for j := range max(1, t.rate*int64(period)/int64(time.Second)/n) {
			lag := 20_000 + (j+int64(i))*7919%80_000
			recorder.Sent()
			recorder.Done(record.Finished{Sent: lag, Done: lag + 100_000 + j*j*7919%400_000, Status: 200, BytesIn: 120, BytesOut: 60})
		}
		interval.Record(recorder)
		total.Merge(interval)
		series.Add(int64(since/time.Microsecond), interval)
		select {
		case beat <- struct{}{}:
		default: // the previous beat was not received yet
		}
		limit, cancel := context.WithTimeout(ctx, time.Second)
		_ = journal.Publish(limit, interval, total, &series) // after an error the next snapshot brings it
		cancel()
	}
}
