package worker

import (
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// A publishSchedule says when a worker publishes: once every period of the run's clock, at its own instant. N workers share the
// time by a hash of their names:
//
//	t = k · max(1 s, N/2,000 s) + hash · N/2,000 s,  0 ≤ hash < 1
//
// So Redis gets at most 2,000 snapshots a second, and those of a small fleet come soon after each second.
type publishSchedule struct {
	members  atomic.Int64 // of the run, as in the last reply
	hash     float64
	failures int           // attempts in a row
	pause    time.Duration // after the last failure, in addition to the period
}

func (r *publishSchedule) named(process string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(process)) // it never fails
	x := h.Sum64()
	x ^= x >> 32 // fnv gives similar names similar hashes
	x *= 0x9e3779b97f4a7c15
	r.hash = float64(x>>11) / (1 << 53)
}

// share returns this worker's part of the time in which all publish.
func (r *publishSchedule) share() time.Duration {
	return time.Duration(r.hash * float64(record.SnapshotSpread(r.members.Load())))
}

// after returns the first instant of this worker at or after another one, both since the start of the run.
func (r *publishSchedule) after(since time.Duration) time.Duration {
	period, share := record.SnapshotPeriod(r.members.Load()), r.share()
	rounds := (since - share + period - 1) / period
	if since < share {
		rounds = 0
	}
	return rounds*period + share
}

// doublings, and longestPause in periods, bound how long a worker waits for its next attempt.
const (
	doublings    = 3
	longestPause = 4
)

// tried notes how an attempt ended. After a failure the next attempt is delayed by a random time. Its bound doubles
// with each failure, so that workers do not all come again at once. The times grow with the fleet, so a small fleet
// loses nothing.
func (r *publishSchedule) tried(err error) {
	if err == nil {
		r.failures, r.pause = 0, 0
		return
	}
	n := r.members.Load()
	r.failures = min(r.failures+1, doublings)
	longest := min(record.SnapshotSpread(n)<<r.failures, longestPause*record.SnapshotPeriod(n))
	r.pause = time.Duration(rand.Float64() * float64(longest))
}
