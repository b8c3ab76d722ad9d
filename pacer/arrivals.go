package pacer

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/pacer/poisson"
)

// EvenArrivals is the name of slots that are evenly spaced.
const EvenArrivals = "even"

// ParseArrivals reads how slots lie: "even" or "", "poisson", or "poisson:SEED". It returns the seed of Poisson
// arrivals, 0 for even ones. Without a SEED it is 1, so that a run can be repeated.
func ParseArrivals(s string) (seed int64, err error) {
	name, number, given := strings.Cut(s, ":")
	switch {
	case s == "" || s == EvenArrivals:
		return 0, nil
	case name != "poisson":
		return 0, fmt.Errorf("--arrivals %.40q: write one of even, poisson, poisson:SEED", s)
	case !given:
		return 1, nil
	}
	if seed, err = strconv.ParseInt(number, 10, 64); err != nil || seed < 1 || seed > poisson.MaxSeed {
		return 0, fmt.Errorf("--arrivals %.40q: the seed is a whole number from 1 to %d, such as poisson:42", s, int64(poisson.MaxSeed))
	}
	return seed, nil
}

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
