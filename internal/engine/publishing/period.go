package publishing

import "time"

// snapshotRate is the most snapshots a second that all workers of a run publish together. Redis takes about 0.1 ms for
// one.
const snapshotRate = 2000

// Spread returns the time over which this many workers spread their snapshots, so that at most 2,000 a second
// arrive.
func Spread(workers int64) time.Duration {
	return time.Duration(max(0, workers)) * (time.Second / snapshotRate)
}

// Period returns how often each of this many workers publishes: once a second, or every N/2,000 s if that is
// longer.
func Period(workers int64) time.Duration {
	return max(time.Second, Spread(workers))
}
