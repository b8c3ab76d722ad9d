package lease

import (
	"math"
	"slices"
)

// walk calls f for each law of the era in force, the newest first, with when it is over, µs, until f returns false. A law is over when the next one
// begins, or at its planned end.
func (l *Laws) walk(f func(g *Law, until int64) bool) {
	next := int64(math.MaxInt64)
	for i := range slices.Backward(l.All()) {
		g := &l.all[i]
		if !l.live[i] || g.Era != l.era {
			continue
		}
		if !f(g, min(next, g.over())) {
			return
		}
		next = g.T0
	}
}

// over is when the law is over by itself, µs; math.MaxInt64 = it goes on until the next one.
func (g *Law) over() int64 {
	switch {
	case g.Phase != Running:
		return math.MaxInt64
	case g.Stop > 0:
		return min(g.Stop, g.End)
	default:
		return g.End
	}
}

// Running is the stretch of time, µs, in which the run goes on at t, or goes on next: from ≤ t < until. Where it does not go on any more, as far as is
// known, until is not after t.
func (l *Laws) Running(t int64) (from, until int64) {
	end := int64(math.MaxInt64)
	l.walk(func(g *Law, over int64) bool {
		if end <= t {
			return false
		}
		end = g.T0
		switch {
		case g.Phase != Running:
		case over == from:
			from = g.T0
		default:
			from, until = g.T0, over
		}
		return true
	})
	return from, until
}

// Spent is for how much of the time from ≤ t < to, µs, the run went on, and for how much it was paused. What was before the laws that are known counts as
// the first of them does.
func (l *Laws) Spent(from, to int64) (running, paused int64) {
	l.walk(func(g *Law, until int64) bool {
		begin := g.T0
		if begin > from && g.Prev > 0 && !l.Has(g.Prev) {
			begin = from
		}
		span := max(0, min(until, to)-max(begin, from))
		switch g.Phase {
		case Running:
			running += span
		case Paused:
			paused += span
		case Stopped, Ended:
		}
		return begin > from
	})
	return running, paused
}

// Over tells whether the run was over by its plan at t, µs, or was stopped. A pause puts that off.
func (l *Laws) Over(t int64) (over bool) {
	l.walk(func(g *Law, until int64) bool {
		over = g.Phase >= Stopped || g.Phase == Running && until <= t
		return g.T0 > t
	})
	return over
}

// Peak is the highest rate that is asked for at t, µs, or later, as far as is known: of the whole run, requests per second.
func (l *Laws) Peak(t int64) (most float64) {
	l.walk(func(g *Law, until int64) bool {
		if until <= t {
			return false
		}
		if g.Dur > 0 {
			until = min(until, g.T0+g.Dur)
		}
		most = max(most, g.Rate(max(t, g.T0)), g.Rate(until))
		return true
	})
	return most
}
