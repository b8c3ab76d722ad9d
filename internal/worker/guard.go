package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/loadctl/loadctl/pacer"
)

// ErrTooFast ends a worker of a fleet that is asked for more than its MaxRate.
var ErrTooFast = errors.New("more than --max-qps")

// TooFast is the error that a fleet is asked for more than a worker takes part in: an ErrTooFast. asked is in requests per second.
func TooFast(asked float64, most pacer.Rate) error {
	shown := strconv.FormatFloat(math.Round(asked*1000)/1000, 'f', -1, 64)
	return fmt.Errorf("the cluster is asked for %s/s, %w %s of this worker", shown, ErrTooFast, most)
}

// guard ends a worker before it takes part in more than it was told to: what is leased of a law that is too fast never reaches the
// shards. It is used by the goroutine that leases, and after that has ended by the one that ran it.
type guard struct {
	most    pacer.Rate // of the whole cluster; zero = there is no limit
	end     context.CancelCauseFunc
	tripped bool
	refused []pacer.Range
}

// refuses tells whether a range must not be fired. From the first one on that is too fast none is: the worker is about to leave.
func (g *guard) refuses(r pacer.Range) bool {
	if asked := peak(r); g.most.Num > 0 && asked > g.most.Float() && !g.tripped {
		g.tripped = true
		g.end(TooFast(asked, g.most))
	}
	if g.tripped {
		g.refused = append(g.refused, r)
	}
	return g.tripped
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
