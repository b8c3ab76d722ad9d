package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/evenness"
)

const ms = int64(time.Millisecond)

// grid returns n arrivals, step apart.
func grid(from int64, n int, step int64) []int64 {
	times := make([]int64, n)
	for i := range times {
		times[i] = from + int64(i)*step
	}
	return times
}

// TestExcess: the definition, by hand and over all windows.
func TestExcess(t *testing.T) {
	for name, c := range map[string]struct {
		times []int64
		want  float64
	}{
		"none":               {nil, 0},
		"one":                {[]int64{5}, 1},
		"grid of the rate":   {grid(1e15, 100, 2*ms), 1},
		"half the rate":      {grid(0, 100, 4*ms), 1},
		"seven at once":      {slices.Concat(grid(0, 50, 2*ms), grid(100*ms, 7, 0), grid(102*ms, 50, 2*ms)), 7},
		"a burst after rest": {slices.Concat(grid(0, 1, 0), grid(900*ms, 30, 0)), 30},
	} {
		if got := excess(c.times, 500); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		times := make([]int64, 1+rng.IntN(60))
		for i := range times {
			times[i] = 1e15 + rng.Int64N(200*ms)
		}
		slices.Sort(times)
		want := 0.0
		for i, from := range times {
			for j, to := range times[i:] {
				want = max(want, float64(j+1)-500*float64(to-from)/1e9)
			}
		}
		if got := excess(times, 500); math.Abs(got-want) > 1e-6 {
			t.Fatalf("%v: %v, want %v", times, got, want)
		}
	}
}

// TestAtBorder: arrivals far from the border of a window do not count.
func TestAtBorder(t *testing.T) {
	second := int64(time.Second)
	for name, c := range map[string]struct {
		times []int64
		want  int
	}{
		"none":             {nil, 0},
		"at the beginning": {grid(0, 9, 0), 0},
		"in between":       {append(grid(0, 1, 0), grid(500*ms, 9, 0)...), 0},
		"before":           {append(grid(7, 1, 0), grid(second-20*ms, 9, 0)...), 9},
		"after":            {append(grid(7, 1, 0), grid(3*second+20*ms, 9, 0)...), 9},
		"both, apart":      {slices.Concat(grid(0, 1, 0), grid(second-20*ms, 9, 0), grid(second+1, 8, 0)), 9},
		"both, together":   {slices.Concat(grid(0, 1, 0), grid(second-2*ms, 9, 0), grid(second+1, 8, 0)), 17},
	} {
		if got := atBorder(c.times, time.Second); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestLook: the figures of a measurement, their text and their plot.
func TestLook(t *testing.T) {
	m := Measurement{QPS: 500, Duration: time.Second, Window: 100 * time.Millisecond}
	even := Seen{Limiter: "leaky-bucket", Use: Run, Calls: 7, Allowed: 1.5}
	even.look(grid(1e18, 500, 2*ms), m)
	if even.Rate != 500 || even.Most10ms != 6 || even.Most100ms != 51 || even.AtBorder != 6 || even.GapVariation > 1e-9 || !even.Within {
		t.Errorf("%+v", even)
	}
	burst := Seen{Limiter: "gcra", Flags: "--burst", Use: AtOnce, Allowed: 49.9}
	burst.look(slices.Concat(grid(0, 1, 0), grid(300*ms, 50, 0)), m)
	if burst.Rate != 51 || burst.Most10ms != 50 || burst.AtBorder != 50 || burst.Within || burst.GapVariation != evenness.GapVariation(burst.times) {
		t.Errorf("%+v", burst)
	}
	one := Seen{Use: Rush, Allowed: 1}
	if one.look(grid(3, 1, 0), m); one.GapVariation != 0 || !one.Within {
		t.Errorf("%+v", one)
	}
	if got := burst.per10ms(); len(got) != 31 || got[0] != 1 || got[30] != 50 {
		t.Errorf("per 10 ms %v", got)
	}

	short := Seen{Limiter: "gcra", Use: Run, Allowed: 2}
	if short.look(grid(0, 490, 2*ms+ms/10), m); short.Missed != 10 || even.Missed != 0 || one.Missed != 0 {
		t.Errorf("%d, %d and %d missed", short.Missed, even.Missed, one.Missed)
	}

	var text strings.Builder
	if err := WriteSeen(&text, []Seen{even, burst, one, short}); err != nil {
		t.Fatal(err)
	}
	const want = `LIMITER       USE                 RATE   MOST IN 10ms  100ms  AT A BORDER  GAPS  CALLS/s  X     AT MOST  
leaky-bucket  run                 500.0  6             51     6            0.00  7        1.0   1.5      
gcra --burst  run --spread=false  51.0   50            50     50           7.00  0        50.0  49.9     BEYOND ITS BOUND
              rush                1.0    1             1      1            0.00  0        1.0   1.0      
gcra          run                 490.0  5             48     5            0.00  0        1.0   2.0      10 not sent: too late, or not granted
`
	if !strings.HasPrefix(text.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	picture := Plot([]Seen{even, burst}, m.Window)
	for _, want := range []string{">leaky-bucket, run<", ">gcra --burst, run --spread=false<", ">up to 50<", ">100ms<", ">300ms<"} {
		if !strings.Contains(picture, want) {
			t.Errorf("%s is missing in\n%s", want, picture)
		}
	}
}
