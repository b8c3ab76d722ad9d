package pacer

import (
	"math"

	"github.com/loadctl/loadctl/pacer/poisson"
)

// arrivals are the random places of the law's slots.
func (l *Law) arrivals() poisson.Process {
	end := math.Inf(1)
	if l.Dur > 0 {
		end = l.integral(l.Dur)
	}
	return poisson.Process{Seed: l.Seed, K: l.K, C: l.C, End: end}
}

// integral returns that of the first e µs in micro-slots, with the arithmetic of lua/schedule.lua:
//
//	e·R0 + (R1−R0)·e²/(2·Dur), each per Den seconds
func (l *Law) integral(e int64) float64 {
	mean := float64(l.R0)
	if l.R0 != l.R1 {
		mean += float64(l.R1-l.R0) * (float64(e) / float64(l.Dur)) / 2
	}
	return math.Floor(float64(e)*mean/float64(l.Den) + 0.5)
}

// arrived is Before with a Seed. The integral is rounded, so the last steps go by Due.
func (l *Law) arrived(t int64) int64 {
	e := t - l.T0
	if l.Dur > 0 {
		e = min(e, l.Dur)
	}
	if e <= 0 {
		return 0
	}
	k := l.arrivals().Before(l.integral(e))
	for k < l.K && l.Due(k) < t*1000 {
		k++
	}
	for k > 0 && l.Due(k-1) >= t*1000 {
		k--
	}
	return k
}
