package chaos

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"testing"
	"time"
)

// windows returns the window lengths for which the bound is checked.
func windows() [4]time.Duration {
	return [...]time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second}
}

// A schedule is the rate that was asked for, in steps.
type schedule []step

// A step is a rate per second from an instant on, in ns since 1970.
type step struct {
	from int64
	rate float64
}

// integral returns how many requests were asked for in [from, to], ns. Before the first step its rate is in force.
func (s schedule) integral(from, to int64) float64 {
	var sum float64
	for i, x := range s {
		begin, end := x.from, int64(math.MaxInt64)
		if i == 0 {
			begin = math.MinInt64
		}
		if i+1 < len(s) {
			end = s[i+1].from
		}
		if begin, end = max(begin, from), min(end, to); end > begin {
			sum += x.rate * float64(end-begin) / 1e9
		}
	}
	return sum
}

// most is the highest rate.
func (s schedule) most() float64 {
	var most float64
	for _, x := range s {
		most = max(most, x.rate)
	}
	return most
}

// An excess is how many requests more than asked for arrived in some window: count − (∫R + 1).
type excess struct {
	n    float64 // largest excess of a window, however late requests were
	over float64 // largest excess over the allowed number, n − R·lateness − …; at most 0 if the bound is kept
	at   int64   // when the window of over begins
}

// exceed checks the windows that begin or end with an arrival. late is what the measured lateness allows in a window,
// in requests.
func exceed(times []int64, w time.Duration, integral func(from, to int64) float64, allowed func(from, to int64) float64) excess {
	worst := excess{n: math.Inf(-1), over: math.Inf(-1)}
	look := func(count int, from, to int64) {
		n := float64(count) - integral(from, to) - 1
		worst.n = max(worst.n, n)
		if n <= worst.over {
			return // whatever the allowance
		}
		if over := n - allowed(from, to); over > worst.over {
			worst.over, worst.at = over, from
		}
	}
	last := 0
	for first, at := range times { // windows that begin with an arrival
		for last < len(times) && times[last]-at <= int64(w) {
			last++
		}
		look(last-first, at, at+int64(w))
	}
	first := 0
	for last, at := range times { // windows that end with one
		for at-times[first] > int64(w) {
			first++
		}
		look(last-first+1, at-int64(w), at)
	}
	return worst
}

// A second is the share of what was asked for that arrived in some second.
type second struct {
	share float64
	at    int64 // when it begins, ns
}

// slide calls with each second between from and to in which the rate asked for is constant, 10 ms apart.
func slide(times []int64, from, to int64, integral func(from, to int64) float64) []second {
	var all []second
	for at := from; at+int64(time.Second) <= to; at += int64(10 * time.Millisecond) {
		half := integral(at, at+int64(time.Second)/2)
		if asked := integral(at, at+int64(time.Second)); asked > 4 && math.Abs(asked-2*half) <= 2 {
			all = append(all, second{share: float64(between(times, at, at+int64(time.Second))) / asked, at: at})
		}
	}
	return all
}

// poorest returns the second with the smallest share; 1 if there is none.
func poorest(seconds []second) second {
	worst := second{share: 1}
	for _, s := range seconds {
		if s.share < worst.share {
			worst = s
		}
	}
	return worst
}

// between counts the arrivals in [from, to).
func between(times []int64, from, to int64) int {
	a, _ := slices.BinarySearch(times, from)
	b, _ := slices.BinarySearch(times, to)
	return b - a
}

// A span of time, and how late something was in it.
type span struct{ from, to, late int64 } // ns

// An interval is what one worker reported about a second or so.
type interval struct {
	span
	dropped int64 // requests it could not send in time
}

// latest returns the largest lateness in the intervals that touch [from, to]; they are sorted by their ends.
func latest(spans []interval, from, to int64) int64 {
	var most int64
	for i := sort.Search(len(spans), func(i int) bool { return spans[i].to >= from }); i < len(spans); i++ {
		if spans[i].from <= to {
			most = max(most, spans[i].late)
		}
	}
	return most
}

// TestExcess: a perfect grid has no excess in any window, and each additional request shows.
func TestExcess(t *testing.T) {
	const rate = 1000
	grid := schedule{{0, rate}}
	none := func(int64, int64) float64 { return 0 }
	times := make([]int64, 12*rate)
	for i := range times {
		times[i] = int64(i) * int64(time.Second) / rate
	}
	check := func(name string, want float64) {
		t.Helper()
		for _, w := range windows() {
			if got := exceed(times, w, grid.integral, none); math.Abs(got.n-want) > 1e-6 || got.over != got.n {
				t.Errorf("%s, in %v: %+v, want %v", name, w, got, want)
			}
		}
	}
	check("a grid", 0)
	times = append(times, times[5000]+1, times[5000]+2)
	slices.Sort(times)
	check("two more", 2)
	got := exceed(times, time.Second, grid.integral, func(from, _ int64) float64 {
		if from > times[4000] && from < times[5000] {
			return 5
		}
		return 2
	})
	if got.over != 0 || got.n != 2 {
		t.Errorf("with two allowed: %+v", got)
	}
	seconds := slide(times[:6000], 0, int64(8*time.Second), grid.integral)
	if worst := poorest(seconds); worst.share != 0 || worst.at < 5.99e9 || poorest(seconds[:499]).share < 1 {
		t.Errorf("%+v", worst)
	}
}

// TestIntegral: steps add up.
func TestIntegral(t *testing.T) {
	s := schedule{{100, 10}, {2e9, 0}, {3e9, 1000}}
	for _, c := range []struct {
		from, to int64
		want     float64
	}{{-1e9, 1e9, 20}, {0, 2e9, 20}, {1e9, 3e9, 10}, {1.5e9, 3.5e9, 505}, {2e9, 3e9, 0}, {4e9, 5e9, 1000}, {5e9, 5e9, 0}} {
		if got := s.integral(c.from, c.to); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d to %d: %v, want %v", c.from, c.to, got, c.want)
		}
	}
	if s.most() != 1000 {
		t.Error(s.most())
	}
}

// TestLatest: a stall counts in all intervals that it touches.
func TestLatest(t *testing.T) {
	spans := []interval{{span: span{10, 20, 3}}, {span: span{18, 30, 5}}, {span: span{40, 50, 9}}}
	for _, c := range []struct{ from, to, want int64 }{{0, 9, 0}, {0, 10, 3}, {20, 20, 5}, {31, 39, 0}, {31, 40, 9}, {0, 99, 9}} {
		if got := latest(spans, c.from, c.to); got != c.want {
			t.Errorf("%d to %d: %d, want %d", c.from, c.to, got, c.want)
		}
	}
}

func milliseconds(ns int64) string { return fmt.Sprintf("%.1f", float64(ns)/1e6) }
