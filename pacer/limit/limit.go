package limit

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of a limit, as in lua/limiter.lua and lua/bucket.lua.
const (
	maxCount  = 1_000_000_000
	maxWindow = 366 * 24 * time.Hour
	maxDrops  = 1 << 52 // of a full bucket
)

// Limit is Count permits in each Window. Burst is how many may come at once, for the limiters that have one (leaky
// bucket, token bucket, GCRA); 0 is Count. These count in fractions of a permit, at most 2⁵² of them: µs of Window /
// gcd(Count, µs of Window) · Burst.
type Limit struct {
	Count  int64         // 1 to 10⁹
	Window time.Duration // whole µs, 1 µs to 366 days
	Burst  int64         // 0 to 10⁹
}

// PerWindow returns a limit of count permits in each window.
func PerWindow(count int64, window time.Duration) Limit { return Limit{Count: count, Window: window} }

// check returns what is wrong with a limit. bursts says whether the limiter has a burst.
func (l Limit) check(bursts bool) error {
	switch {
	case l.Count < 1 || l.Count > maxCount:
		return fmt.Errorf("limit of %d permits: give 1 to %d", l.Count, maxCount)
	case l.Window < time.Microsecond || l.Window > maxWindow || l.Window%time.Microsecond != 0:
		return fmt.Errorf("window of %v: give whole microseconds, up to 366 days", l.Window)
	case l.Burst < 0 || l.Burst > maxCount:
		return fmt.Errorf("burst of %d permits: give 1 to %d", l.Burst, maxCount)
	case l.Burst > 0 && !bursts:
		return errors.New("this limiter has no burst: leave it out, or use token-bucket, leaky-bucket or gcra")
	case bursts && l.burst() > l.maxBurst():
		return fmt.Errorf("burst of %d permits of %d per %v: give a burst of at most %d, or a count that divides the microseconds of the window",
			l.burst(), l.Count, l.Window, l.maxBurst())
	}
	return nil
}

func (l Limit) burst() int64 {
	if l.Burst == 0 {
		return l.Count
	}
	return l.Burst
}

// maxBurst returns the largest burst with an exact number of drops (lua/bucket.lua).
func (l Limit) maxBurst() int64 {
	divisor, rest := l.Window.Microseconds(), l.Count
	for rest > 0 {
		divisor, rest = rest, divisor%rest
	}
	return maxDrops / (l.Window.Microseconds() / divisor)
}
