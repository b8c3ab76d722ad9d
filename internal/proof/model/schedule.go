package model

import (
	"math"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/pacer/poisson"
)

const unit = 1_000_000 // micro-slots in a slot; µs in a second

// A law has the scripts' arithmetic: the same floating-point operations as in lua/schedule.lua, so numbers are equal
// to the last digit.
type law struct{ lease.Law }

func (l *law) area(e int64) float64 {
	if l.Dur > 0 {
		e = min(e, l.Dur)
	}
	mean := float64(l.R0)
	if l.R0 != l.R1 {
		mean = float64(l.R0) + float64(l.R1-l.R0)*(float64(e)/float64(l.Dur))/2
	}
	return math.Floor(float64(e)*mean/float64(l.Den) + 0.5)
}

// before returns how many slots are due before t, µs.
func (l *law) before(t int64) int64 {
	if l.Seed == 0 || t <= l.T0 {
		return l.asks(t)
	}
	all := math.Inf(1)
	if l.Dur > 0 {
		all = l.area(l.Dur)
	}
	return poisson.Process{Seed: l.Seed, K: l.K, C: l.C, End: all}.Before(l.area(t - l.T0))
}

// asks returns the integral of the rate up to t, µs, in whole slots.
func (l *law) asks(t int64) int64 {
	if t <= l.T0 {
		return 0
	}
	return int64(max(0, min(float64(l.K), math.Ceil((l.area(t-l.T0)-float64(l.C))/unit))))
}

// when returns the time of slot k, µs.
func (l *law) when(k int64) int64 {
	x := (float64(k)*unit + float64(l.C)) * float64(l.Den)
	if l.K == 0 || x == 0 {
		return l.T0
	}
	if l.R0 == l.R1 {
		return l.T0 + int64(math.Floor(x/float64(l.R0)))
	}
	r0 := float64(l.R0)
	a := float64(l.R1-l.R0) / float64(l.Dur)
	return l.T0 + int64(math.Floor(2*x/(r0+math.Sqrt(max(0, r0*r0+2*a*x)))))
}

// remainder returns the part of a slot that is left at t before the next one, in micro-slots, when cut slots are past.
func (l *law) remainder(cut, t int64) int64 {
	return int64(max(0, min(unit-1, float64(cut)*unit+float64(l.C)-l.area(max(0, t-l.T0)))))
}

// rest returns the part of the piece that is left at t.
func (l *law) rest(t int64) pacer.Piece {
	p := pacer.Piece{R0: l.R0, R1: l.R1, Den: l.Den, Dur: l.Dur}
	if l.Dur > 0 {
		p = p.Part(max(0, min(l.Dur, t-l.T0)), 0)
	}
	return p
}

// pos returns the first slot due at or after a time of the clock epoch, µs, also if the law of that time is over for long.
func (r *Run) pos(t int64) lease.Pos {
	laws := r.ever
	if r.Without.Past {
		laws = r.laws
	}
	i := laws.At(t)
	if i < 0 {
		return lease.Pos{}
	}
	l := law{laws.All()[i]}
	return lease.Pos{Law: l.ID, K: min(l.before(t), laws.Cut(i))}
}
