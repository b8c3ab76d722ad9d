package spec

import (
	"math"
	"time"

	"github.com/loadctl/loadctl/pacer/lease"
)

// windowParts is the number of parts of a run's sliding window.
const windowParts = 10

// Surge returns how many requests the limiter may let pass in a second above a rate. It is the burst of a bucket. For
// a window of length w with c = rate·w:
//
//	n·c − rate              sliding-log and sliding-list, n = ⌈1s/w⌉
//	(n + 2/parts)·c − rate  sliding-window
//	(n + 1)·c − rate        fixed-window
//
// burst is the one in force; 0 = what the rate makes in half a second. Surge is +Inf if nothing bounds it.
func (s Spec) Surge(rate float64, burst int64) float64 {
	if !s.HasLimiter() || s.LimiterSettings().Queues {
		return 0
	}
	windows := math.Ceil(time.Second.Seconds() / s.window().Seconds())
	switch s.Limiter {
	case "fixed-window":
		windows++
	case "sliding-window":
		windows += 2.0 / windowParts
	}
	switch {
	case s.Debt: // one token is enough for any number
		return math.Inf(1)
	case !s.LimiterSettings().Bursts:
		return max(0, windows*rate*s.window().Seconds()-rate)
	case burst > 0:
		return float64(burst)
	default:
		return max(1, math.Floor(rate/2))
	}
}

// Terms returns how the run's limiter treats slots; false if the run has no limiter.
func (s Spec) Terms() (lease.Terms, bool) {
	if !s.HasLimiter() {
		return lease.Terms{}, false
	}
	return lease.Terms{Even: s.LimiterSettings().Queues, Together: s.Together, Strict: s.onRedisLoss() == LossStop}, true
}
