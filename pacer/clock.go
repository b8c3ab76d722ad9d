package pacer

import (
	"math"
	"sync/atomic"
	"time"
)

// Bounds of the clock mapping (docs/ARCHITECTURE.md): a sample counts for ten seconds, and the offset moves at most
// 500 ppm.
const (
	clockWindow = int64(10 * time.Second)
	slewPPM     = 500
	driftPPM    = 100 // how far two crystals run apart at most
)

// Clock maps the Redis clock, which is the only clock of the schedule, to the local monotonic one. Each reply of
// Redis gives a sample
//
//	offset = redis − (sent + received)/2, wrong by at most rtt/2 and 100 ppm of its age
//
// The sample with the smallest round trip of the last 10 s counts (Cristian's algorithm). One goroutine calls Sample.
// All other methods may be called by any.
type Clock struct {
	start   time.Time
	offset  atomic.Int64 // ns to add to a local time
	err     atomic.Int64 // ns
	samples []clockSample
	at      int64 // local time of the last Sample
	began   int64 // local time of the first Sample
}

// settling is how long the offset moves without a bound. The very first sample is often of a call that had to
// connect, and next to nothing is sent by it yet.
const settling = int64(time.Second)

type clockSample struct {
	at, offset, rtt int64
}

// NewClock begins a local clock. Until the first Sample it takes the local wall clock for the Redis clock.
func NewClock() *Clock { return &Clock{start: time.Now()} }

// Now returns the local monotonic clock, ns. It agreed with the wall clock when the Clock was made.
func (c *Clock) Now() int64 { return c.start.UnixNano() + int64(time.Since(c.start)) }

// Sample takes a reading: the local times (ns) at which the call was sent and the reply received, and the Redis time
// (µs) in the reply. It returns true if the reading contradicts those before it: one of the clocks was stepped. The
// mapping then begins again.
func (c *Clock) Sample(sent, received, redis int64) (stepped bool) {
	s := clockSample{at: received, rtt: received - sent, offset: redis*1000 - (sent+received)/2}
	elapsed := received - c.at
	c.at = received
	if len(c.samples) == 0 {
		c.began = received
		c.samples = append(c.samples, s)
		c.offset.Store(s.offset)
		c.err.Store(s.rtt / 2)
		return false
	}
	// TIME counts whole µs and crystals drift: allow 1 µs, and the slew since the sample before.
	tolerance := c.err.Load() + s.rtt/2 + 1000 + elapsed*slewPPM/1_000_000
	if d := s.offset - c.offset.Load(); d > tolerance || d < -tolerance {
		c.samples = append(c.samples[:0], s)
		c.offset.Store(s.offset)
		c.err.Store(s.rtt / 2)
		return true
	}
	c.keep(s)
	best := c.samples[0]
	limit := elapsed * slewPPM / 1_000_000
	if received-c.began < settling {
		limit = math.MaxInt64
	}
	move := min(max(best.offset-c.offset.Load(), -limit), limit)
	c.offset.Add(move)
	rest := best.offset - c.offset.Load()
	aged := (received - best.at) * driftPPM / 1_000_000 // 1 ms at the end of the window
	c.err.Store(best.rtt/2 + aged + max(rest, -rest))
	return false
}

// keep adds s to a queue with growing round trips (a sliding-window minimum). Its head is the best of the window. A
// sample that a later, quicker one beats can never become the head.
func (c *Clock) keep(s clockSample) {
	n := len(c.samples)
	for n > 0 && c.samples[n-1].rtt >= s.rtt {
		n--
	}
	c.samples = append(c.samples[:n], s)
	old := 0
	for c.samples[old].at < s.at-clockWindow {
		old++
	}
	c.samples = append(c.samples[:0], c.samples[old:]...)
}

// Local returns the local time (ns) of a time of the Redis clock (ns).
func (c *Clock) Local(redis int64) int64 { return redis - c.offset.Load() }

// Redis returns the time of the Redis clock (ns) of a local time (ns).
func (c *Clock) Redis(local int64) int64 { return local + c.offset.Load() }

// Err returns e, how far the mapping was off at most at the last Sample.
func (c *Clock) Err() time.Duration { return time.Duration(c.err.Load()) }
