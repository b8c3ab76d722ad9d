package demo

import (
	"slices"
	"testing"
	"time"
)

// TestCount is a run of 100 per second and, from 2 s on, 300, that ends after 3.5 s. Each request arrives 1 ms after it
// was due.
func TestCount(t *testing.T) {
	start := time.UnixMicro(1_700_000_000_000_000)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	asked := func(until time.Time) int64 {
		d := min(until.Sub(start), 3500*time.Millisecond)
		return int64(100*d/time.Second + 200*max(0, d-2*time.Second)/time.Second)
	}
	var times []int64
	for due := time.Duration(0); due < 3500*time.Millisecond; {
		times = append(times, at(due+time.Millisecond).UnixNano())
		if due < 2*time.Second {
			due += 10 * time.Millisecond
		} else {
			due += time.Second / 300
		}
	}
	times[0] = at(-time.Microsecond).UnixNano() // the worker's clock is ahead
	times = append(times, at(4*time.Second+1).UnixNano())
	seconds := count(asked, start, 3500*time.Millisecond, times, []moment{
		{at: at(-time.Second), mark: "before"},
		{at: at(0), mark: "begin", step: true},
		{at: at(1500 * time.Millisecond), step: true, shakes: true},
		{at: at(1600 * time.Millisecond), mark: "by itself"},
		{at: at(2 * time.Second), mark: "set-rate", step: true},
		{at: at(2100 * time.Millisecond), mark: "join"},
		{at: at(time.Minute), mark: "after"},
	})
	want := []second{
		{asked: 100, arrived: 100, whole: true, moved: true, marks: []string{"begin"}},
		{asked: 100, arrived: 100, whole: true, moved: true, shaken: true, marks: []string{"by itself"}},
		{asked: 300, arrived: 300, whole: true, moved: true, shaken: true, marks: []string{"set-rate", "join"}},
		{asked: 150, arrived: 151, shaken: true},
		{asked: 0, arrived: 1, shaken: true},
	}
	if !slices.EqualFunc(seconds, want, same) {
		t.Errorf("%+v, want %+v", seconds, want)
	}
}

func same(a, b second) bool {
	marks := slices.Equal(a.marks, b.marks)
	return marks && a.asked == b.asked && a.arrived == b.arrived && a.whole == b.whole && a.moved == b.moved && a.shaken == b.shaken
}

func TestCountWithoutArrivals(t *testing.T) {
	seconds := count(func(time.Time) int64 { return 7 }, time.Now(), 1500*time.Millisecond, nil, nil)
	if want := []second{{asked: 7, whole: true}, {}}; !slices.EqualFunc(seconds, want, same) {
		t.Errorf("%+v, want %+v", seconds, want)
	}
}

func TestSteady(t *testing.T) {
	for _, c := range []struct {
		second second
		steady bool
	}{
		{second{whole: true}, true},
		{second{whole: true, marks: []string{"w1 missed"}}, true}, // what the machine does by itself is no excuse
		{second{}, false},
		{second{whole: true, moved: true}, false},
		{second{whole: true, shaken: true}, false},
	} {
		if got := c.second.steady(); got != c.steady {
			t.Errorf("%+v: steady %v", c.second, got)
		}
	}
}

func TestNear(t *testing.T) {
	for _, c := range []struct {
		asked, arrived int64
		near           bool
		deviation      float64
	}{
		{1000, 1000, true, 0},
		{1000, 990, true, -1},
		{1000, 989, false, -1.1},
		{1000, 1010, true, 1},
		{1000, 1011, false, 1.1},
		{5, 6, true, 20}, // one request
		{5, 4, true, -20},
		{5, 3, false, -40},
		{0, 0, true, 0},
		{0, 1, true, 0},
		{0, 2, false, 0},
	} {
		s := second{asked: c.asked, arrived: c.arrived}
		if s.near() != c.near || s.deviation() < c.deviation-1e-9 || s.deviation() > c.deviation+1e-9 {
			t.Errorf("%d asked, %d arrived: near %v, deviation %v", c.asked, c.arrived, s.near(), s.deviation())
		}
	}
}

func TestWorse(t *testing.T) {
	ascending := []second{{asked: 100, arrived: 100}, {asked: 1000, arrived: 1009}, {asked: 5, arrived: 4}, {asked: 100, arrived: 98}, {asked: 100, arrived: 103}}
	for i, a := range ascending {
		for j, b := range ascending {
			if a.worse(b) != (i > j) {
				t.Errorf("%+v worse than %+v: %v", a, b, a.worse(b))
			}
		}
	}
}
