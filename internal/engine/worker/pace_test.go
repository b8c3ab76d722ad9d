package worker

import (
	"math/rand/v2"
	"testing"
)

const ms = int64(1_000_000)

// Each step is a slot: when it is due, when the shard looks at it, and when it may leave. Times are ms.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps [][3]int64
	}{
		{"on time", [][3]int64{{10, 10, 10}, {20, 20, 20}, {30, 30, 30}}},
		{"a late timer holds nothing back", [][3]int64{{10, 12, 10}, {11, 12, 11}, {12, 12, 12}}},
		{"after a stall at twice the pace", [][3]int64{{0, 0, 0}, {10, 60, 10}, {20, 65, 65}, {30, 70, 70}, {40, 75, 75}, {100, 105, 105}, {110, 110, 110}}},
		{"plans do not add up the timer's lateness", [][3]int64{{0, 0, 0}, {10, 60, 10}, {20, 66, 65}, {30, 71, 70}, {40, 76, 75}}},
		{"a stall within a stall", [][3]int64{{0, 0, 0}, {10, 60, 10}, {20, 95, 65}, {30, 100, 100}, {40, 105, 105}}},
		{"a range that came late", [][3]int64{{100, 100, 100}, {40, 101, 100}, {50, 105, 105}, {60, 110, 110}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p pace
			for i, s := range c.steps {
				if at := p.at(s[0] * ms); at != s[2]*ms {
					t.Fatalf("slot %d, due at %d ms, may leave at %v ms, want %d", i, s[0], float64(at)/1e6, s[2])
				}
				p.leave(s[1]*ms, s[0]*ms)
			}
		})
	}
}

// TestPaceNeverAddsLateness: a slot is never sent early, and is never held back for longer than its shard has seen
// slots late.
func TestPaceNeverAddsLateness(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var p pace
		var due, now, worst int64
		for range 500 {
			due += r.Int64N(3 * ms)
			at := p.at(due)
			if at < due {
				t.Fatalf("seed %d: leaves %d ns before it is due", seed, due-at)
			}
			if at > due+worst {
				t.Fatalf("seed %d: held back to %d ns after it is due, the worst stall was %d", seed, at-due, worst)
			}
			now = max(now, at)
			if r.IntN(50) == 0 {
				now += r.Int64N(80 * ms)
			}
			worst = max(worst, now-due)
			p.leave(now, due)
		}
	}
}
