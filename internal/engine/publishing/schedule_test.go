package publishing

import (
	"fmt"
	"testing"
	"time"
)

// TestRotaSpreadsSnapshots: at most 2,000 snapshots come in a second, and those of one worker are a period apart. In a
// small fleet they come soon after the second.
func TestScheduleSpreadsSnapshots(t *testing.T) {
	for _, c := range []struct {
		workers      int
		period, last time.Duration
	}{
		{1, time.Second, time.Millisecond},
		{10, time.Second, 5 * time.Millisecond},
		{1000, time.Second, 500 * time.Millisecond},
		{3000, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{10_000, 5 * time.Second, 5 * time.Second},
	} {
		const slot = 100 * time.Millisecond
		load := map[time.Duration]int{}
		for i := range c.workers {
			var r Schedule
			r.Named(fmt.Sprintf("w%d/0123456789abcdef", i))
			r.Members.Store(int64(c.workers))
			first := r.After(0)
			if first > c.last {
				t.Errorf("of %d, worker %d has its turn at %v", c.workers, i, first)
			}
			for at := first; at < time.Minute; {
				load[at/slot]++
				next := r.After(at + 1)
				if next != at+c.period {
					t.Fatalf("of %d, worker %d comes at %v, then at %v", c.workers, i, at, next)
				}
				at = next
			}
		}
		for at, n := range load {
			if n > 250 { // 200 on the average
				t.Errorf("of %d workers %d come in the 100 ms from %v", c.workers, n, at*slot)
			}
		}
	}
}
