package lease

import (
	"math"
	"slices"
)

// walk calls f for each law of the clock epoch in force, the newest first, until f returns false. until is when the law is
// over, µs: when the next one begins, or at its planned end.
func (l *Laws) walk(f func(g *Law, until int64) bool) {
	next := int64(math.MaxInt64)
	for i := range slices.Backward(l.All()) {
		g := &l.all[i]
		if !l.live[i] || g.ClockEpoch != l.clockEpoch {
			continue
		}
		if !f(g, min(next, g.over())) {
			return
		}
		next = g.T0
	}
}

// over is the planned end of the law, µs; math.MaxInt64 = it goes on until the next one.
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

// Running returns the time, µs, in which the run is active: from ≤ t < until. If it is not active at t, this is the
// next such time that is known. If there is none, until is not after t.
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

// Spent returns for how long the run was active in from ≤ t < to, µs, and for how long it was paused. Time before the
// known laws counts as that of the first of them.
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

// Over reports whether the run was over by its plan or stopped at t, µs. A pause puts the end off.
func (l *Laws) Over(t int64) (over bool) {
	l.walk(func(g *Law, until int64) bool {
		over = g.Phase >= Stopped || g.Phase == Running && until <= t
		return g.T0 > t
	})
	return over
}

// Peak returns the highest rate of the whole run at t, µs, or later, as far as it is known, in requests per second.
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
