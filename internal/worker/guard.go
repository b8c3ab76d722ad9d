package worker

import (
	"context"

	"github.com/loadctl/loadctl/pacer"
)

// guard ends a worker before it takes part in more than it was told to: what is leased of a law that is too fast never reaches the
// shards. It is used by the goroutine that leases, and after that has ended by the one that ran it.
type guard struct {
	most    pacer.Rate // of the whole cluster; zero = there is no limit
	end     context.CancelCauseFunc
	look    func() (func(rate float64) float64, error) // Worker.Surge; nil = nothing passes but the rate
	surge   func(rate float64) float64                 // as it was last found; nil = not yet
	version int64                                      // of the run then
	tripped bool
	refused []pacer.Range
}

// refuses tells whether a range must not be fired. From the first one on that is too fast none is: the worker is about to leave.
func (g *guard) refuses(r pacer.Range) bool {
	asked, surge := peak(r), 0.0
	if g.surge != nil {
		surge = g.surge(asked)
	}
	if Exceeds(asked, surge, g.most) && !g.tripped {
		g.tripped = true
		g.end(TooFast(asked, surge, g.most))
	}
	if g.tripped {
		g.refused = append(g.refused, r)
	}
	return g.tripped
}

// heard looks at the limiter again where the run has changed, before the range that came with the reply is handed over. Where Redis does not
// tell, the next reply is as good.
func (g *guard) heard(r pacer.Reply) {
	if g.most.Num == 0 || g.look == nil || g.surge != nil && r.Version == g.version {
		return
	}
	if surge, err := g.look(); err == nil {
		g.surge, g.version = surge, r.Version
	}
}

// permits are those of them that may be fired: a part of a rate that is too fast already is not.
func (g *guard) permits(ps []pacer.Permit) []pacer.Permit {
	for _, p := range ps {
		if g.tripped || g.most.Num > 0 && p.Law.Rate(p.From) > g.most.Float() {
			return nil
		}
	}
	return ps
}

// account gives what was refused to shards that have exited: they only count it, as what comes too late for them.
func (g *guard) account(shards []*shard) {
	for _, r := range g.refused {
		for _, s := range shards {
			s.lease(r)
		}
	}
}

// peak is the highest rate of the law over a range, requests per second. A law goes one way, so it is at one of the ends.
func peak(r pacer.Range) float64 {
	first, end := r.First&^(r.Law.F-1), (r.First+r.N+r.Law.F-1)&^(r.Law.F-1) // frames are not in the order of time
	at := func(slot int64) float64 { return r.Law.Rate(r.Law.Due(slot) / 1000) }
	return max(at(first), at(min(end, r.Law.K)-1))
}

// withdraw is the end of a worker that leaves because of err: it sends what it holds, all of which is slow enough.
func (e *engine) withdraw(ctx context.Context, err error) error {
	e.tell(draining)
	e.haltAfter(max(e.Horizon, pacer.DefaultHorizon) + e.MaxLag)
	e.leave(ctx, StateLeft)
	return err
}
