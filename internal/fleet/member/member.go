// Package member makes a worker of a run. It fills in all that the run decides.
//
//	m := member.New(ctx, r, link, "host-1", false)
//	m.NewClient = open // and what else this machine decides
//	total, err := m.Run(ctx)
package member

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// surgePatience bounds how long reading the limiter's state may delay renewals after a change of the run.
const surgePatience = 250 * time.Millisecond

// Member is a worker of a run.
type Member struct {
	worker.Worker
	Results *results.Journal // its Journal, unless the caller takes another one
}

// New returns a worker of r with this id, and a new incarnation. Until ctx ends it receives messages over the link.
// describes: it was given the run's description, so it may restore the run if Redis has lost it. The caller adds
// NewClient, and what its machine decides.
func New(ctx context.Context, r *run.Run, l *link.Link, id string, describes bool) *Member {
	incarnation, started := run.NewID(), new(atomic.Int64)
	var asked sync.Once
	journal := results.NewJournal(r, id, incarnation)
	w := worker.Worker{
		ID: id, Incarnation: incarnation, Clock: pacer.NewClock(), Journal: journal,
		Started: func() int64 {
			asked.Do(func() { go awaitStart(ctx, r, started) })
			return started.Load()
		},
		Server: r.Leases(l.Client), Messages: r.Messages(ctx, l, id),
		Closed: r.Spec.Max, Seated: r.Spec.Seated(), Mix: r.Spec.Target.Mix(), Unique: r.Spec.Target.Numbered(), MaxLag: r.Spec.MaxLag, CatchUp: r.Spec.CatchUp,
		Goals:        goals(r.Spec.Target),
		DrainTimeout: cmp.Or(r.Spec.Target.Timeout, targets.DefaultTimeout) + time.Second,
		Restore: func(ctx context.Context, laws []lease.Law) error {
			return r.Restore(ctx, started.Load(), laws, describes)
		},
		Surge: func() (func(float64) float64, error) {
			limit, cancel := context.WithTimeout(ctx, surgePatience)
			defer cancel()
			return r.Surge(limit)
		},
	}
	if terms, limited := r.Spec.Terms(); limited {
		w.Grants, w.Terms = r.Grants(l.Client), terms
	}
	return &Member{Worker: w, Results: journal}
}

// goals returns what the answers of each step have to meet to count as good; nil = no step has goals.
func goals(t targets.Spec) [][]events.Goal {
	var all [][]events.Goal
	some := false
	for _, step := range t.Steps() {
		rules, err := events.Parse(step.Stream)
		if err != nil {
			return nil // the spec of a run is valid
		}
		all, some = append(all, rules.Goals()), some || len(rules.Goals()) > 0
	}
	if !some {
		return nil
	}
	return all
}

// awaitStart waits until the run's schedule has begun, and notes when that was.
func awaitStart(ctx context.Context, r *run.Run, started *atomic.Int64) {
	for ctx.Err() == nil {
		if us, err := r.StartedAt(ctx); err == nil && us > 0 {
			started.Store(us)
			return
		}
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
