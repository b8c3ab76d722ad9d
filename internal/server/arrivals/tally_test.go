package arrivals

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/evenness"
)

// lengths are those of loadctl target.
var lengths = []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second}

// randomArrivals returns sorted times: some equal, some close together, some far apart, and some days apart.
func randomArrivals(r *rand.Rand) []int64 {
	scales := []time.Duration{1, 100 * time.Microsecond, 10 * time.Millisecond, 2 * time.Second, 12 * time.Second, 40 * time.Hour}
	times := make([]int64, r.IntN(300))
	at, scale := r.Int64N(1e18), int64(1)
	for i := range times {
		if r.IntN(10) == 0 {
			pick := r.IntN(len(scales))
			if pick == len(scales)-1 && r.IntN(4) > 0 {
				pick = 0 // days are rare
			}
			scale = int64(scales[pick])
		}
		at += r.Int64N(scale)
		if scale == int64(40*time.Hour) {
			scale = 1 // days do not come in rows
		}
		times[i] = at
	}
	return times
}

// In pieces, a Tally agrees with the definitions applied to all arrivals at once.
func TestTallyIsTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 150 {
		all := randomArrivals(r)
		tally := NewTally(lengths...)
		for rest := all; len(rest) > 0; {
			n := r.IntN(len(rest) + 1)
			tally.Add(rest[:n])
			rest = rest[n:]
		}
		if tally.Total() != int64(len(all)) {
			t.Fatalf("%d of %d arrivals", tally.Total(), len(all))
		}
		for _, w := range tally.Windows() {
			if want := evenness.MaxInWindow(all, w.Length); w.Most != want {
				t.Fatalf("in %v: got %d, want %d", w.Length, w.Most, want)
			}
		}
		if len(all) == 0 {
			continue
		}
		if tally.First() != all[0] || tally.Last() != all[len(all)-1] {
			t.Fatalf("from %d to %d", tally.First(), tally.Last())
		}
		want := PerSecond(all, all[0])
		skip := max(0, len(want)-KeptSeconds)
		from, counts := tally.PerSecond()
		if from != all[0]+int64(skip)*int64(time.Second) || len(counts) != len(want)-skip {
			t.Fatalf("seconds from %d, %d of them; want %d of %d", from, len(counts), len(want)-skip, len(want))
		}
		for i, n := range counts {
			if n != int64(want[skip+i]) {
				t.Fatalf("second %d: got %d, want %d", i, n, want[skip+i])
			}
		}
	}
}

// The memory does not grow with the number of arrivals.
func TestTallyIsBounded(t *testing.T) {
	tally := NewTally(time.Millisecond, 10*time.Second)
	const perSecond, seconds = 10, 3 * KeptSeconds
	piece := make([]int64, perSecond)
	for second := range int64(seconds) {
		for i := range piece {
			piece[i] = second*int64(time.Second) + int64(i)*int64(time.Second)/perSecond
		}
		tally.Add(piece)
	}
	if kept := cap(tally.recent); kept > 10*10*perSecond {
		t.Errorf("room for %d arrivals where %d are needed", kept, 10*perSecond+1)
	}
	if kept := cap(tally.seconds); kept > 4*KeptSeconds {
		t.Errorf("room for %d seconds", kept)
	}
	from, counts := tally.PerSecond()
	if from != int64(seconds-KeptSeconds)*int64(time.Second) || len(counts) != KeptSeconds || slices.Max(counts) != perSecond || slices.Min(counts) != perSecond {
		t.Errorf("%d seconds from %d with %d to %d each", len(counts), from, slices.Min(counts), slices.Max(counts))
	}
	if w := tally.Windows(); w[0].Most != 1 || w[1].Most != 10*perSecond+1 {
		t.Errorf("windows %v", w)
	}
}

func TestMeanRate(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, c := range []struct {
		arrivals []int64
		want     float64
	}{
		{nil, 0}, {[]int64{7 * ms}, 0}, {[]int64{7 * ms, 7 * ms}, 0},
		{[]int64{7 * ms, 17 * ms}, 100}, {[]int64{0, 10 * ms, 20 * ms, 30 * ms, 40 * ms}, 100}, {[]int64{0, 1000 * ms, 4000 * ms}, 0.5},
	} {
		tally := NewTally()
		tally.Add(c.arrivals)
		if got := tally.MeanRate(); got != c.want {
			t.Errorf("%v: %v, want %v", c.arrivals, got, c.want)
		}
	}
}

// Unusual windows agree with evenness.MaxInWindow, and the empty Tally has nothing.
func TestTallyOfOddWindows(t *testing.T) {
	odd := []time.Duration{0, -1, 1}
	tally := NewTally(odd...)
	if from, counts := tally.PerSecond(); from != 0 || len(counts) != 0 || tally.Total() != 0 {
		t.Errorf("of nothing: %v from %d", counts, from)
	}
	all := []int64{1, 1, 2, 5}
	tally.Add(all[:3])
	tally.Add(all[3:])
	for i, w := range tally.Windows() {
		if want := evenness.MaxInWindow(all, odd[i]); w.Most != want {
			t.Errorf("in %d ns: got %d, want %d", odd[i], w.Most, want)
		}
	}
}
