package worker

import "github.com/loadctl/loadctl/pacer/lease"

// opens is when a closed loop sends that leases arcs, at t or next: while the run goes on, and up to its promise. A closed loop has no slots, so it does
// not matter which arcs it holds.
func opens(t int64, v *lease.View) window {
	from, until := v.Laws.Running(t)
	return window{from, min(until, v.P)}
}

// take adds up for how long the loop stood still, until v came at the time now, µs of the Redis clock: it sends no longer than the View before promised.
func (g *gate) take(now int64, v *lease.View) {
	if old := g.view; old != nil {
		silent, _ := v.Laws.Spent(max(g.told, old.P), now)
		_, paused := v.Laws.Spent(g.told, now)
		g.silent.Add(silent)
		g.paused.Add(paused)
	}
	if g.view == nil || g.view.Era != v.Era {
		g.told = now
	}
	g.view, g.told = v, max(g.told, now)
}
