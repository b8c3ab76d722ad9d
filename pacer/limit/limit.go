package limit

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of a limit, as in lua/limiter.lua.
const (
	maxCount  = 1_000_000_000
	maxWindow = 366 * 24 * time.Hour
)

// Limit is Count permits in each Window. Burst is how many may come at once, for the limiters that have one (leaky bucket, token bucket,
// GCRA); 0 is Count.
type Limit struct {
	Count  int64         // 1 to 10⁹
	Window time.Duration // whole µs, 1 µs to 366 days
	Burst  int64         // 0 to 10⁹
}

// PerWindow is a limit of count permits in each window.
func PerWindow(count int64, window time.Duration) Limit { return Limit{Count: count, Window: window} }

// check says what is wrong with a limit of a limiter that has a burst, or has none.
func (l Limit) check(bursts bool) error {
	switch {
	case l.Count < 1 || l.Count > maxCount:
		return fmt.Errorf("limit of %d permits: give 1 to %d", l.Count, maxCount)
	case l.Window < time.Microsecond || l.Window > maxWindow || l.Window%time.Microsecond != 0:
		return fmt.Errorf("window of %v: give whole microseconds, up to 366 days", l.Window)
	case l.Burst < 0 || l.Burst > maxCount:
		return fmt.Errorf("burst of %d permits: give 1 to %d", l.Burst, maxCount)
	case l.Burst > 0 && !bursts:
		return errors.New("this limiter has no burst: leave it out, or take token-bucket, leaky-bucket or gcra")
	}
	return nil
}

// args are count, window and burst as the scripts take them.
func (l Limit) args() []any {
	burst := l.Burst
	if burst == 0 {
		burst = l.Count
	}
	return []any{l.Count, l.Window.Microseconds(), burst}
}
