package arrivals

import "time"

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

// PerSecond counts the arrivals of each second from t0, in ns since 1970: element i is [t0 + i s, t0 + (i+1) s). It
// leaves out arrivals before t0. The last element is the second of the last arrival.
func PerSecond(arrivals []int64, t0 int64) []int {
	var counts []int
	for _, at := range arrivals {
		if at < t0 {
			continue
		}
		second := int((at - t0) / int64(time.Second))
		for len(counts) <= second {
			counts = append(counts, 0)
		}
		counts[second]++
	}
	return counts
}
