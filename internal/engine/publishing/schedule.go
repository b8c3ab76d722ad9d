// Package publishing says when the workers of a run publish what they measured: spread over time, so that Redis is never
// flooded, and each at its own instants.
//
//	var s publishing.Schedule
//	s.Named("w1/0123456789abcdef")
//	s.Members.Store(600) // as in the last reply
//	next := s.After(time.Since(start))
package publishing

import (
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// A Schedule says when a worker publishes: once every period of the run's clock, at its own instant. N workers share the
// time by a hash of their names:
//
//	t = k · max(1 s, N/2,000 s) + hash · N/2,000 s,  0 ≤ hash < 1
//
// So Redis gets at most 2,000 snapshots a second, and those of a small fleet come soon after each second.
type Schedule struct {
	Members  atomic.Int64 // of the run, as in the last reply
	hash     float64
	failures int           // attempts in a row
	Pause    time.Duration // after the last failure, in addition to the period
}

// Named sets who publishes.
func (s *Schedule) Named(process string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(process)) // it never fails
	x := h.Sum64()
	x ^= x >> 32 // fnv gives similar names similar hashes
	x *= 0x9e3779b97f4a7c15
	s.hash = float64(x>>11) / (1 << 53)
}

// Share returns this worker's part of the time in which all publish.
func (s *Schedule) Share() time.Duration {
	return time.Duration(s.hash * float64(Spread(s.Members.Load())))
}

// After returns the first instant of this worker at or after another one, both since the start of the run.
func (s *Schedule) After(since time.Duration) time.Duration {
	period, share := Period(s.Members.Load()), s.Share()
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

// Tried notes how an attempt ended. After a failure the next attempt is delayed by a random time. Its bound doubles
// with each failure, so that workers do not all come again at once. The times grow with the fleet, so a small fleet
// loses nothing.
func (s *Schedule) Tried(err error) {
	if err == nil {
		s.failures, s.Pause = 0, 0
		return
	}
	n := s.Members.Load()
	s.failures = min(s.failures+1, doublings)
	longest := min(Spread(n)<<s.failures, longestPause*Period(n))
	s.Pause = time.Duration(rand.Float64() * float64(longest))
}
