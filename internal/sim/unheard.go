package sim

import (
	"time"
)

// early is by how much a permit was fired at most before the server had it begin, because the reply that said so had not arrived.
// Promised is
//
//	0.2·H + 2e
//
// by which the promise moves in one call; 0.4·H + two round trips + 10 ms + 2e where that was the reply of a hand-over.
func (w *world) early(times []moment, r *Result) {
	e := w.plan.Net.worst() / 1000
	for _, x := range times {
		if x.early > 0 {
			r.Early++
			r.EarlyBy = max(r.EarlyBy, time.Duration(x.early)*time.Microsecond)
			r.EarlyOver = max(r.EarlyOver, time.Duration(x.early-x.leeway-e)*time.Microsecond)
		}
	}
}

// overruns is how many slots were fired at most after a change that had ended their generation, above
//
//	R_old · (min(H, time until all had learned of it) + 2e) + 1
func (w *world) overruns(s *schedule, times []moment, r *Result) {
	orders := w.server.orders
	counts := make([]int, len(orders))
	for _, x := range times {
		if !x.over {
			continue
		}
		r.Overrun++
		for i := len(orders) - 1; i >= 0; i-- {
			if orders[i].t0 <= x.at {
				counts[i]++
				break
			}
		}
	}
	for i, o := range orders {
		rate := o.old / 1e9
		for _, before := range orders[:i] { // not learned of either
			if before.t0 > o.t0-w.server.reach*1000 {
				rate = max(rate, before.old/1e9)
			}
		}
		r.OverrunOver = max(r.OverrunOver, float64(counts[i])-1-rate*float64(min(w.server.reach*1000, w.learned(o)-o.t0)+w.plan.Net.worst()))
	}
}

// unheard tells whether a member had at a time not learned of a change that was in force: then leased slots have taken the place of a
// permit that ends.
func (w *world) unheard(member int32, at int64) bool {
	for _, o := range w.server.orders {
		if o.t0 <= at && w.members[member].learned(o) > at {
			return true
		}
	}
	return false
}

// learned is when the last member heard of an order, true ns.
func (w *world) learned(o order) (last int64) {
	last = o.t0
	for _, m := range w.members {
		if len(m.sends) > 0 {
			last = max(last, m.learned(o))
		}
	}
	return last
}
