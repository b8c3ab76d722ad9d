package evenness_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/evenness"
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
	if got := evenness.Spread(grid(1001, time.Millisecond), 10*time.Millisecond); got != 0 {
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
	if got := evenness.Spread(uneven, 10*time.Millisecond); !near(got, 0.5) {
		t.Errorf("1, 3, 1, 3… spread by %v, not 0.5", got)
	}
	if got := evenness.Spread(nil, time.Second); !math.IsNaN(got) {
		t.Errorf("nothing spreads by %v", got)
	}
}

func TestGaps(t *testing.T) {
	if got := evenness.Gaps([]int64{0, 30, 40, 60}); !slices.Equal(got, []int64{10, 20, 30}) {
		t.Errorf("gaps are %v", got)
	}
	if got := evenness.GapVariation(grid(100, time.Millisecond)); got != 0 {
		t.Errorf("gaps of a grid vary by %v", got)
	}
	if got := evenness.GapVariation([]int64{0, 10, 40, 50, 80}); !near(got, 0.5) { // 10, 30, 10, 30
		t.Errorf("10, 30, 10, 30 vary by %v, not 0.5", got)
	}
	if got := evenness.GapVariation([]int64{5}); !math.IsNaN(got) {
		t.Errorf("no gaps vary by %v", got)
	}
}

func TestLateness(t *testing.T) {
	times := grid(5, time.Millisecond)
	times[0] += 100_000 // the first one is late; the schedule is that of the others
	times[3] += 50_000
	if got := evenness.Lateness(times, 1000); !slices.Equal(got, []int64{0, 0, 0, 50_000, 100_000}) {
		t.Errorf("late by %v", got)
	}
	slow := evenness.Lateness(grid(1001, 2*time.Millisecond), 1000) // half the rate for 2 s: 1 s behind in the end
	if slow[1000] != int64(time.Second) {
		t.Errorf("who sends half is %v late after 1000 requests", time.Duration(slow[1000]))
	}
	if got := evenness.Lateness(nil, 1000); len(got) != 0 {
		t.Errorf("nothing is late by %v", got)
	}
}

// Against the definition: look at every pair of arrivals.
func TestMaxInWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		times := make([]int64, r.IntN(40))
		for i := range times {
			times[i] = r.Int64N(60)
		}
		slices.Sort(times)
		w := r.Int64N(70)
		want := 0
		for i := range times {
			for j := i; j < len(times); j++ {
				if times[j]-times[i] <= w {
					want = max(want, j-i+1)
				}
			}
		}
		if got := evenness.MaxInWindow(times, time.Duration(w)); got != want {
			t.Fatalf("%v in %d: got %d, want %d", times, w, got, want)
		}
	}
	if got := evenness.MaxInWindow([]int64{1, 1, 2}, 0); got != 2 {
		t.Errorf("a window of no length: %d", got)
	}
	if got := evenness.MaxInWindow([]int64{1}, -1); got != 0 {
		t.Errorf("a negative window: %d", got)
	}
}
