package budgetsim

import (
	"slices"

	"github.com/loadctl/loadctl/internal/fleet/reserve"
)

// worker is a process that sends its part of a run's rate.
type worker struct {
	*run
	WorkerPlan
	name    string
	begun   bool
	began   int64
	dead    bool
	laws    []law
	until   int64 // of its lease, µs of the run's clock as it knows it
	skew    int64 // of the run's clock, as it knows it
	right   reserve.Right
	budgets []reserve.Budget
}

func (w *worker) reaches() bool { return w.begun && !w.dead && w.reachable() && !within(w.Now, w.Cut) }

func (w *worker) begin() {
	if w.begun {
		return
	}
	w.begun, w.began = true, w.Now
	if w.Dies > 0 {
		w.After(w.Dies-w.Now, func() { w.dead = true; w.trace(w.name, "dies") })
	}
	w.renew()
	w.After(w.rng.Int64N(reserve.Every), w.judge)
}

func (w *worker) learn(laws []law) {
	if w.begun && !w.dead && (len(w.laws) == 0 || laws[len(laws)-1].id > w.laws[len(w.laws)-1].id) {
		w.laws = laws
	}
}

// reply is what a renewal brings.
type reply struct {
	until   int64
	skew    int64
	laws    []law
	right   reserve.Right
	budgets []reserve.Budget
}

// renew leases again, once a period.
func (w *worker) renew() {
	if w.dead {
		return
	}
	laws, right, budgets := slices.Clone(w.laws), w.right, w.budgets
	known := int64(0)
	if len(laws) > 0 {
		known = laws[len(laws)-1].id
	}
	w.ask(w.reaches, func() any {
		if w.state == nil && len(laws) > 0 {
			w.restore(laws, right, budgets)
		}
		return w.lease(w.name, known, laws, right, budgets)
	}, func(x any, ok bool) {
		if r, _ := x.(reply); ok && r.laws != nil && !w.dead {
			w.learn(r.laws)
			w.until = max(w.until+r.skew-w.skew, r.until)
			w.skew, w.right, w.budgets = r.skew, r.right, r.budgets
		}
		w.After(period, w.renew)
	})
}

// lease is the script of a renewal.
func (r *run) lease(name string, known int64, laws []law, right reserve.Right, budgets []reserve.Budget) reply {
	s := r.enter()
	if s == nil {
		return reply{}
	}
	if len(laws) > 0 && known > s.newest().id { // this server has forgotten them
		s.laws = slices.Clone(laws)
	}
	if right.Version == s.right.Version {
		s.right.Rate, s.right.End = min(s.right.Rate, right.Rate), max(s.right.End, right.End)
	}
	if right.Version > s.right.Version { // likewise; it is to be verified
		until := s.right.Until
		s.right = right
		s.right.Until = min(until, right.Until)
		if r.without.Verify {
			s.right.Until = right.Until
		}
	}
	if !r.without.Carry {
		s.budgets = reserve.Merge(s.budgets, budgets)
	}
	until := s.last + hold
	if !r.without.LeaseEnds {
		until = min(until, s.right.Until)
	}
	if s.newest().rate > s.right.Rate && !r.without.Law && !r.without.LeaseEnds {
		until = 0
	}
	if s.right.Until == reserve.Endless && r.Now < max(r.rowEnds, r.unbound) {
		r.unbound = r.Now + hold
	}
	old := s.leases[name]
	s.leases[name] = leased{max(old.until, s.last+hold), max(known, old.known)}
	return reply{until, r.skew, slices.Clone(s.laws), s.right, s.budgets}
}

// sending returns what the worker may send now.
func (w *worker) sending() int64 {
	now := zero + w.Now + w.skew
	if !w.begun || w.dead || w.until <= now {
		return 0
	}
	rate := int64(0)
	for _, l := range w.laws {
		if l.from <= now {
			rate = l.rate
		}
	}
	return rate / int64(len(w.workers))
}

// judge renews the row of the run, if this worker is the judge.
func (w *worker) judge() {
	if w.dead {
		return
	}
	again := func() { w.After(reserve.Every/3, w.judge) }
	w.ask(w.reaches, func() any {
		if w.lock != w.name && w.locked > w.Now {
			return nil
		}
		w.lock, w.locked = w.name, w.Now+reserve.Every*3/2
		r, ok := w.reading()
		if !ok {
			return nil
		}
		return r
	}, func(x any, ok bool) {
		r, mine := x.(reserve.Reading)
		if !ok || !mine {
			again()
			return
		}
		w.After(w.step(), func() { w.keep(r, r.Renew(), func() { w.After(reserve.Every-reserve.Every/3, again) }) })
	})
}

// keep asks the ledger, stores its answer at the run, and comes down if it has to.
func (w *worker) keep(r reserve.Reading, a reserve.Ask, then func()) {
	w.askLedger(w.CutLedger, a, func(g reserve.Grant, ok bool) {
		right, has := w.granted(r, g)
		if !ok || !has || w.dead {
			then()
			return
		}
		w.After(w.step(), func() {
			w.ask(w.reaches, func() any {
				stored := w.store(r, right, g.Budgets)
				if g.Cap > 0 && g.Cap < r.Need || g.Frozen() && r.Need > 0 {
					limit := g.Cap
					if g.Frozen() {
						limit = 0
					}
					if s := w.enter(); s != nil && s.newest().rate > limit {
						w.order(limit)
					}
				}
				return stored
			}, func(any, bool) {
				if w.dead || !r.Surplus(g.Cap) || g.Frozen() {
					then()
					return
				}
				w.After(w.step(), func() { w.giveBack(r, right.Version, then) })
			})
		})
	})
}

// giveBack lowers the right, and then the row.
func (w *worker) giveBack(r reserve.Reading, version int64, then func()) {
	w.ask(w.reaches, func() any {
		right, ok := w.shrink(r.Identity, version)
		if !ok {
			return nil
		}
		return right
	}, func(x any, ok bool) {
		right, did := x.(reserve.Right)
		if !ok || !did || w.dead {
			then()
			return
		}
		w.After(w.step(), func() {
			w.askLedger(w.CutLedger, reserve.Ask{Host: r.Host, Run: r.Run, Want: right.Rate, Right: right, Budgets: r.Budgets}, func(reserve.Grant, bool) { then() })
		})
	})
}
