package arrivals_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/server/arrivals"
)

// grid returns n arrivals, one each step.
func grid(n int, step time.Duration) []int64 {
	times := make([]int64, n)
	for i := range times {
		times[i] = 1e18 + int64(i)*int64(step)
	}
	return times
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestSpread(t *testing.T) {
	if got := arrivals.Spread(grid(1001, time.Millisecond), 10*time.Millisecond); got != 0 {
		t.Errorf("a grid spreads by %v", got)
	}
	// Windows of 10 ms with 1 and 3 in turn: mean 2, deviation 1.
	var uneven []int64
	for w := range int64(10) {
		for i := range w%2*2 + 1 {
			uneven = append(uneven, w*10_000_000+i)
		}
	}
	uneven = append(uneven, 100_000_000) // begins a window that is not whole
	if got := arrivals.Spread(uneven, 10*time.Millisecond); !near(got, 0.5) {
		t.Errorf("1, 3, 1, 3… spread by %v, not 0.5", got)
	}
	if got := arrivals.Spread(nil, time.Second); !math.IsNaN(got) {
		t.Errorf("nothing spreads by %v", got)
	}
}

func TestGaps(t *testing.T) {
	if got := arrivals.Gaps([]int64{0, 30, 40, 60}); !slices.Equal(got, []int64{10, 20, 30}) {
		t.Errorf("gaps are %v", got)
	}
	if got := arrivals.GapVariation(grid(100, time.Millisecond)); got != 0 {
		t.Errorf("gaps of a grid vary by %v", got)
	}
	if got := arrivals.GapVariation([]int64{0, 10, 40, 50, 80}); !near(got, 0.5) { // 10, 30, 10, 30
		t.Errorf("10, 30, 10, 30 vary by %v, not 0.5", got)
	}
	if got := arrivals.GapVariation([]int64{5}); !math.IsNaN(got) {
		t.Errorf("no gaps vary by %v", got)
	}
}

func TestLateness(t *testing.T) {
	times := grid(5, time.Millisecond)
	times[0] += 100_000 // the first one is late; the schedule is that of the others
	times[3] += 50_000
	if got := arrivals.Lateness(times, 1000); !slices.Equal(got, []int64{0, 0, 0, 50_000, 100_000}) {
		t.Errorf("late by %v", got)
	}
	slow := arrivals.Lateness(grid(1001, 2*time.Millisecond), 1000) // half the rate for 2 s: 1 s behind in the end
	if slow[1000] != int64(time.Second) {
		t.Errorf("who sends half is %v late after 1000 requests", time.Duration(slow[1000]))
	}
	if got := arrivals.Lateness(nil, 1000); len(got) != 0 {
		t.Errorf("nothing is late by %v", got)
	}
}
