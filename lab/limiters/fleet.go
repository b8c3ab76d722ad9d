package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/limiters"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/member"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

const (
	members = 2 // workers of a fleet, and callers of a rush

	netPatience    = 15 * time.Second // for a run to finish after its end
	redisPatience  = 3 * time.Second  // for Redis to answer a worker
	reportPatience = 5 * time.Second  // for the last snapshots
	tidyPatience   = 2 * time.Second  // for removing the run

	ahead = 250 * time.Millisecond // how long before its due time a worker asks for a slot
)

// errSlow ends a measurement whose run does not end by itself.
var errSlow = errors.New("the run does not end; check that Redis still answers, and stop other work on this machine")

// spec returns the run in which a limiter is measured.
func (m Measurement) spec(l limiters.Limiter, use Use, url string) spec.Spec {
	s := spec.Spec{
		Target: targets.Spec{URL: url}, QPS: pacer.PerSecond(m.QPS), Duration: m.Duration, MinWorkers: members,
		MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp,
	}
	switch {
	case !l.Library: // the schedule alone
		return s
	case l.Bursts:
		s.Burst = m.Burst
	default:
		s.Window = m.Window
	}
	s.Limiter, s.Together = l.Name, use == AtOnce
	return s
}

// fleet measures a run of two workers inside this process.
func (m Measurement) fleet(ctx context.Context, l limiters.Limiter, url string, s *Seen) error {
	client, err := link.Connect(ctx, m.Redis)
	if err != nil {
		return err
	}
	defer cli.Close(client)
	r, err := m.create(ctx, client, m.spec(l, s.Use, url))
	if err != nil {
		return err
	}
	defer tidy(ctx, client, r)
	limited, cancel := context.WithTimeoutCause(ctx, m.Duration+netPatience, errSlow)
	defer cancel()
	playing, fail := context.WithCancelCause(limited)
	defer fail(nil)
	crew := make([]*participant, members)
	var all sync.WaitGroup
	for i := range crew {
		crew[i] = &participant{name: fmt.Sprint("w", i+1), run: r, fail: fail}
		all.Go(func() {
			if err := crew[i].work(playing, m.Redis); err != nil {
				fail(err) // else the other worker would wait for it
			}
		})
	}
	all.Wait()
	if playing.Err() != nil {
		return context.Cause(playing)
	}
	total, err := results.FinalReport(ctx, r, reportPatience)
	if err != nil {
		return err
	}
	s.Late = time.Duration(total.Latency.Max)
	late := s.Late + s.Late/500 // it is reported with three digits
	passed := late
	var calls int64
	for _, w := range crew {
		calls += w.calls.Load()
		passed = max(passed, late+2*w.unsure()) // a worker decides by its own clock when a slot is due
	}
	if l.Library && !l.Queues && s.Use == Run { // granted permits leave at once when they are due
		passed += ahead
	}
	s.Calls = float64(calls) / m.Duration.Seconds()
	m.allow(s, l, passed)
	return nil
}

// create makes a new run, even if the measurement is interrupted in the meantime: else nobody would know of the run and
// remove it.
func (m Measurement) create(ctx context.Context, client rdb.Client, spec spec.Spec) (*run.Run, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), netPatience)
	defer cancel()
	r, _, err := run.Create(ctx, client, "limiters-"+run.NewID(), spec, run.Options{Keep: time.Hour})
	return r, err
}

// tidy removes a run that has no workers any more.
func tidy(ctx context.Context, client rdb.Client, r *run.Run) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyPatience)
	defer cancel()
	_ = run.Discard(ctx, client, r.Name) // or it expires by itself
}

// participant is one worker and its counts of calls: renewals, and calls to the run's limiter.
type participant struct {
	name string
	run  *run.Run
	fail context.CancelCauseFunc // ends the measurement

	clock    *pacer.Clock
	server   lease.Server
	grants   worker.Grants
	calls    atomic.Int64
	answered atomic.Int64 // time of the last reply of Redis, ns since 1970; 0 = no call has ended
	off      atomic.Int64 // how far the clock was off at most at any call but the last, ns
}

// unsure returns how far the clock was off at most.
func (w *participant) unsure() time.Duration { return max(time.Duration(w.off.Load()), w.clock.Err()) }

// Renew implements lease.Server.
func (w *participant) Renew(ctx context.Context, c lease.Call) (lease.Reply, error) {
	reply, err := w.server.Renew(ctx, c)
	w.called(err)
	return reply, err
}

// Grant implements worker.Grants.
func (w *participant) Grant(ctx context.Context, n int64, rate pacer.Rate) (lease.Grant, error) {
	g, err := w.grants.Grant(ctx, n, rate)
	w.called(err)
	return g, err
}

// called counts a call that has ended. It gives up if Redis is silent for too long: the run would go on without Redis.
func (w *participant) called(err error) {
	w.calls.Add(1)
	for off := w.off.Load(); int64(w.clock.Err()) > off && !w.off.CompareAndSwap(off, int64(w.clock.Err())); off = w.off.Load() {
	}
	now := time.Now().UnixNano()
	if err == nil || w.answered.CompareAndSwap(0, now) {
		w.answered.Store(now)
	} else if now-w.answered.Load() > int64(redisPatience) {
		w.fail(errSlow)
	}
}

// work takes part in the run until it ends.
func (w *participant) work(ctx context.Context, address string) error {
	link, err := link.New(ctx, address, "limiters:"+w.run.Name+":"+w.name)
	if err != nil {
		return err
	}
	defer cli.Close(link)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	m := member.New(watching, w.run, link, w.name, false)
	w.clock, w.server, w.grants = m.Clock, m.Server, m.Grants
	m.Started = nil // no series
	m.Server, m.Journal, m.DrainTimeout = w, journal{m.Results, ctx}, goodbye
	m.NewClient = func(int) (worker.Client, error) { return open(w.clock, w.run.Spec.Target) }
	if m.Grants != nil {
		m.Grants = w
	}
	_, err = m.Run(ctx)
	return err
}

// journal is the journal of a participant. When the measurement is over it ignores errors: nobody reads the data, so no
// retry is needed.
type journal struct {
	worker.Journal
	measuring context.Context
}

// Publish implements worker.Journal.
func (j journal) Publish(ctx context.Context, interval, total *record.Snapshot, series *record.Series) error {
	return j.unless(j.Journal.Publish(ctx, interval, total, series))
}

// unless returns err, or nil if the measurement is over.
func (j journal) unless(err error) error {
	if j.measuring.Err() != nil {
		return nil
	}
	return err
}
