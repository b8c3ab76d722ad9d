package budgetsim

import (
	"fmt"

	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/proof/model"
)

// A fault is what happens to a server: replica, another one takes over that has missed what came in the last moments; empty, all is
// deleted.
type fault struct {
	at     int64
	kind   string
	misses int64 // µs
	skew   int64 // of the new server's clock against the old one, µs
}

// ledgerServer is the Redis that has the ledger.
type ledgerServer struct {
	*world
	state *model.Ledger
	skew  int64
	n     int
}

func newLedgerServer(w *world) *ledgerServer {
	s := &ledgerServer{world: w, skew: w.LedgerSkew}
	s.state = model.NewLedger("ledger 0", s.clock())
	s.state.Without = w.without
	return s
}

func (s *ledgerServer) clock() int64    { return zero + s.Now + s.skew }
func (s *ledgerServer) reachable() bool { return !within(s.Now, s.LedgerDown) }

// fault carries out a fault that begins now: the replica has what was there, and takes over later.
func (s *ledgerServer) fault(f fault) {
	switch f.kind {
	case "empty":
		s.n++
		s.state = s.state.Empty(fmt.Sprint("ledger ", s.n), s.clock())
		s.emptied = append(s.emptied, s.Now)
		if !s.carried() {
			s.budgetIs(reserve.Endless) // it is lost, and so is a freeze
			s.frozenIs(false)
		}
		s.trace("ledger", "is emptied")
	case "replica":
		replica := s.state.Clone()
		s.After(f.misses, func() {
			s.n++
			s.state, s.skew = replica, s.skew+f.skew
			s.state.Identity = fmt.Sprint("ledger ", s.n)
			s.trace("ledger", "replica takes over")
		})
	}
}

// carried reports whether a run has a copy of the budget.
func (w *world) carried() bool {
	for _, r := range w.runs {
		for _, x := range r.workers {
			if x.begun && !x.dead && reserve.Version(x.budgets) > 0 {
				return true
			}
		}
	}
	return false
}

// askLedger makes a call from a run's side. cut are the times at which the caller does not reach the ledger.
func (w *world) askLedger(cut []span, a reserve.Ask, reply func(reserve.Grant, bool)) {
	reachable := func() bool { return w.ledger.reachable() && !within(w.Now, cut) }
	w.ask(reachable, func() any {
		if a.Want > a.Right.Rate && w.rng.Float64() < w.Forgetful {
			w.ledger.fault(fault{kind: "replica", misses: 50*ms + w.rng.Int64N(900*ms), skew: w.rng.Int64N(second) - second/2})
		}
		g := w.ledger.state.Ask(w.ledger.clock(), a)
		w.trace("ledger", "%+v: %+v", a, g)
		for _, r := range w.runs {
			if r.name == a.Run && g.Version > 0 {
				r.rowEnds = w.Now + reserve.TTL
			}
		}
		return g
	}, func(x any, ok bool) {
		g, _ := x.(reserve.Grant)
		reply(g, ok)
	})
}

// granted returns the right that follows from an answer of the ledger.
func (w *world) granted(r reserve.Reading, g reserve.Grant) (reserve.Right, bool) {
	down := g.Frozen() && r.Need > 0 || g.Cap > 0 && r.Need > g.Cap
	if down && w.without.Prolong || !down && w.without.Capped {
		r.Need, g.Cap = 0, 0
	}
	return r.Granted(g)
}
