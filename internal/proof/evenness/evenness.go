// Package evenness measures how evenly a server was hit: how full the fullest window is, how far apart arrivals are, and how
// late they came. Arrivals are in ns and sorted, as arrivals.Server.Arrivals returns them.
//
//	worst := evenness.MaxInWindow(server.Arrivals(), 100*time.Millisecond)
package evenness

import (
	"math"
	"slices"
	"time"
)

// Spread measures how unevenly arrivals fall into consecutive windows of length w, beginning with the first arrival:
// the standard deviation of their counts divided by the mean count. It is near 0 for a perfect grid, and 1/√(rate·w)
// for Poisson arrivals. Arrivals are in ns and sorted. The last, partial window is left out. It is NaN if there is no
// whole window.
func Spread(arrivals []int64, w time.Duration) float64 {
	if len(arrivals) == 0 {
		return math.NaN()
	}
	first := arrivals[0]
	counts := make([]float64, (arrivals[len(arrivals)-1]-first)/int64(w))
	for _, at := range arrivals {
		if i := (at - first) / int64(w); i < int64(len(counts)) {
			counts[i]++
		}
	}
	return variation(counts)
}

// MaxInWindow returns the most arrivals in any window of length w. Arrivals are in ns and sorted, as Server.Arrivals
// returns them. Both ends of a window belong to it. This is the strictest reading of "any window": a perfect grid of
// rate R has R·w + 1, which is the 1 in the bound of the schedule. A negative w contains nothing.
func MaxInWindow(arrivals []int64, w time.Duration) int {
	most, first := 0, 0
	// The fullest window can be moved right until it begins with an arrival, and shortened until it ends with one: so
	// only pairs of arrivals count.
	for last, at := range arrivals {
		for first <= last && at-arrivals[first] > int64(w) {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}

// Gaps returns the times between consecutive arrivals, in ns, sorted by length.
func Gaps(arrivals []int64) []int64 {
	gaps := make([]int64, max(0, len(arrivals)-1))
	for i := range gaps {
		gaps[i] = arrivals[i+1] - arrivals[i]
	}
	slices.Sort(gaps)
	return gaps
}

// GapVariation returns the standard deviation of the gaps divided by the mean gap: 0 for a perfect grid, 1 for Poisson
// arrivals, more for bursts. It is NaN if there are no gaps.
func GapVariation(arrivals []int64) float64 {
	gaps := Gaps(arrivals)
	lengths := make([]float64, len(gaps))
	for i, g := range gaps {
		lengths[i] = float64(g)
	}
	return variation(lengths)
}

// Lateness returns how late each arrival is against the ideal schedule of a rate, in ns, sorted. Arrivals alone do not
// show when that schedule began, so the most punctual arrival counts as on time:
//
//	late(i) = a(i) − i/rate − min over j of (a(j) − j/rate)
//
// A generator that is too slow gets later and later.
func Lateness(arrivals []int64, rate float64) []int64 {
	late := make([]int64, len(arrivals))
	for i, at := range arrivals {
		late[i] = at - arrivals[0] - int64(math.Round(float64(i)*1e9/rate))
	}
	slices.Sort(late)
	for i := len(late) - 1; i >= 0; i-- {
		late[i] -= late[0]
	}
	return late
}

// variation returns the standard deviation divided by the mean.
func variation(of []float64) float64 {
	var sum, squares float64
	for _, x := range of {
		sum += x
	}
	mean := sum / float64(len(of))
	for _, x := range of {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares/float64(len(of))) / mean
}
