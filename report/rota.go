package report

import "time"

// snapshotRate is how many snapshots a second the workers of a run publish at
// most, all together. Redis takes one in some 0.1 ms.
const snapshotRate = 2000

// SnapshotSpread is the time over which so many workers spread their snapshots
// of a second, so that they come at 2,000 a second and not all at once.
func SnapshotSpread(workers int64) time.Duration {
	return time.Duration(max(0, workers)) * (time.Second / snapshotRate)
}

// SnapshotPeriod is how often each of so many workers publishes: once a second,
// or every N/2,000 s where that is longer.
func SnapshotPeriod(workers int64) time.Duration {
	return max(time.Second, SnapshotSpread(workers))
}
