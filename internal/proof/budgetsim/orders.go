package budgetsim

import "github.com/loadctl/loadctl/internal/fleet/reserve"

// An Order is what a person does: create or set-rate a run; set, cut, freeze or thaw the budget. The command may be killed
// after some of its steps.
type Order struct {
	at   int64
	kind string
	run  int
	rate int64
	dies int // after so many steps; 0 = it does not
}

// issue carries out an order.
func (w *world) issue(o Order) {
	steps := 0
	next := func(do func()) { // the next step, if the command still lives
		if steps++; o.dies > 0 && steps > o.dies {
			return
		}
		w.After(w.step(), do)
	}
	reach := w.ledger.reachable
	switch o.kind {
	case "create":
		w.create(w.runs[o.run], next)
	case "set-rate":
		w.setRate(w.runs[o.run], o.rate, next, 3)
	case "set", "cut":
		w.ask(reach, func() any {
			version, ok := w.ledger.state.Set(w.ledger.clock(), host, o.rate, o.kind == "cut")
			w.trace("ledger", "budget %d: %v", o.rate, ok)
			if ok {
				w.budgetIs(o.rate)
			}
			return version
		}, w.insisting(false, func() int64 {
			version, _ := w.ledger.state.Set(w.ledger.clock(), host, o.rate, true)
			return version
		}))
	case "freeze", "thaw":
		w.ask(reach, func() any {
			w.trace("ledger", "%s", o.kind)
			w.frozenIs(o.kind == "freeze")
			return w.ledger.state.Freeze(w.ledger.clock(), host, o.kind == "freeze")
		}, w.insisting(true, func() int64 { return w.ledger.state.Freeze(w.ledger.clock(), host, o.kind == "freeze") }))
	}
}

// insisting returns what takes the version of a change, and repeats the change if the ledger has forgotten it before all runs
// know it. freeze: it is a freeze, or its end.
func (w *world) insisting(freeze bool, again func() int64) func(any, bool) {
	return func(x any, ok bool) {
		if version, _ := x.(int64); ok && version > 0 {
			w.insist(version, freeze, again)
		}
	}
}

func (w *world) insist(version int64, freeze bool, again func() int64) {
	w.After(second, func() {
		w.ask(w.ledger.reachable, func() any {
			status := w.ledger.state.Known(w.ledger.clock(), host, version, freeze)
			if status == "FORGOTTEN" {
				version = again()
				w.trace("ledger", "the change is made again")
			}
			return status
		}, func(x any, ok bool) {
			if status, _ := x.(string); !ok || status != "DONE" && status != "CHANGED" {
				w.insist(version, freeze, again)
			}
		})
	})
}

// create asks for a row first, and makes the run then.
func (w *world) create(r *run, next func(func())) {
	at, identity := int64(0), ""
	next(func() {
		w.ask(r.reachable, func() any { at, identity = r.clock(), r.identity(); return true }, func(_ any, ok bool) {
			if !ok {
				return
			}
			reading := reserve.Reading{Host: host, Run: r.name, At: at, Identity: identity}
			next(func() {
				w.askLedger(nil, reading.Raise(r.Rate), func(g reserve.Grant, ok bool) {
					right, has := w.granted(reading, g)
					if !ok || !has || g.Status != "OK" {
						if r.Again > 0 {
							r.Again--
							if g.Status == "FULL" && g.Left > 0 {
								r.Rate = g.Left
							}
							w.After(3*second, func() { w.create(r, next) })
						}
						return
					}
					r.admitted = w.Now
					next(func() {
						w.ask(r.reachable, func() any { return r.create(reading, right, g.Budgets) }, func(any, bool) {})
					})
				})
			})
		})
	})
}

// setRate raises the right first, and the law then. A lower rate needs the law alone: the judge gives the room back.
func (w *world) setRate(r *run, rate int64, next func(func()), tries int) {
	next(func() {
		w.ask(r.reachable, func() any {
			x, ok := r.reading()
			if !ok {
				return nil
			}
			return x
		}, func(x any, ok bool) {
			reading, has := x.(reserve.Reading)
			if !ok || !has {
				return
			}
			order := func() {
				next(func() {
					w.ask(r.reachable, func() any { return r.order(rate) }, func(x any, ok bool) {
						if status, _ := x.(string); ok && status == "RETRY" && tries > 0 {
							w.setRate(r, rate, next, tries-1)
							return
						}
						if w.without.Lowers && rate < reading.Right.Rate {
							reading.Right.Rate = rate
							w.askLedger(nil, reserve.Ask{Host: host, Run: r.name, Want: rate, Right: reading.Right, Budgets: reading.Budgets}, func(reserve.Grant, bool) {})
						}
					})
				})
			}
			if rate <= reading.Right.Rate && reading.Right.Until > reading.At {
				order()
				return
			}
			next(func() {
				w.askLedger(nil, reading.Raise(rate), func(g reserve.Grant, ok bool) {
					right, has := w.granted(reading, g)
					if ok && g.Status == "FULL" && g.Left > reading.Need && tries > 0 {
						w.setRate(r, g.Left, next, tries-1)
						return
					}
					if !ok || !has || g.Status != "OK" {
						return
					}
					next(func() {
						w.ask(r.reachable, func() any { return r.store(reading, right, g.Budgets) }, func(x any, ok bool) {
							if stored, _ := x.(bool); ok && stored || w.without.Law {
								order()
							}
						})
					})
				})
			})
		})
	})
}
