package arrivals

import "time"

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
