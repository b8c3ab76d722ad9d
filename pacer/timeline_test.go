package pacer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// walked returns what a timeline should return, found by walking through all laws.
func walked(laws []Law, cuts []int64, from, to int64) (at int, before, between int64) {
	at = -1
	over := false
	for i, l := range slices.Backward(laws) {
		cut := cuts[i]
		if over {
			before += cut
		} else {
			before += min(cut, l.Before(from))
		}
		if l.T0 <= from && at < 0 {
			at = i
		}
		over = over || l.T0 <= from
		if l.T0 < to {
			between += min(cut, l.Before(to)) - min(cut, l.Before(from))
		}
	}
	return at, before, between
}

// randomLaws returns laws in a row, as in a run: constant or ramps, some cut, some after a pause, some after the
// clock was set back.
func randomLaws(rng *rand.Rand, n int) (laws []Law, cuts []int64) {
	t := int64(1_700_000_000_000_000)
	for i := range n {
		l := Law{ID: int64(i + 1), T0: t, C: rng.Int64N(1_000_000), R0: rng.Int64N(5000), Den: 1 + rng.Int64N(3)}
		l.R1 = l.R0
		length := 1 + rng.Int64N(3_000_000)
		if rng.IntN(3) > 0 {
			l.Dur = length + rng.Int64N(1_000_000)
			l.R1 = rng.Int64N(5000)
		}
		l.K = Endless
		if l.Dur == 0 && l.R0 == 0 {
			l.K = 0
		}
		cut := l.Before(t + length)
		if i == n-1 && l.Dur == 0 {
			cut = l.K
		}
		laws, cuts = append(laws, l), append(cuts, cut)
		switch t += length; rng.IntN(8) {
		case 0:
			t += rng.Int64N(5_000_000)
		case 1:
			t -= rng.Int64N(5_000_000)
		}
	}
	return laws, cuts
}

func TestTimelineMatchesLinearScan(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		laws, cuts := randomLaws(rng, rng.IntN(30))
		line := NewTimeline(laws, cuts)
		for range 50 {
			from := int64(1_700_000_000_000_000) + rng.Int64N(60_000_000) - 5_000_000
			if len(laws) > 0 && rng.IntN(3) == 0 {
				from = laws[rng.IntN(len(laws))].T0 // the very edge
			}
			to := from + rng.Int64N(10_000_000)
			at, before, between := walked(laws, cuts, from, to)
			if a, b, c := line.At(from), line.Before(from), line.Between(from, to); a != at || b != before || c != between {
				t.Fatalf("seed %d, [%d, %d): law %d, %d before, %d between; walking finds %d, %d, %d", seed, from, to, a, b, c, at, before, between)
			}
		}
	}
}

// TestTimelineOfADay guards the speed: the queries of a report on a sine of 24 h once took a minute, as each of them
// walked through all laws. A thousand of them have to be faster than a few walks. What interrupts them may make them slow,
// but not each time.
func TestTimelineOfADay(t *testing.T) {
	const n, length, start = 92_000, 940_000, 1_700_000_000_000_000
	var laws []Law
	var cuts []int64
	for i := range int64(n) {
		l := Law{ID: i + 1, T0: start + i*length, R0: 1000 + i%100, R1: 1001 + i%100, Den: 1, Dur: length, K: Endless}
		laws, cuts = append(laws, l), append(cuts, l.Before(l.T0+length))
	}
	began := time.Now()
	for range 100 {
		walked(laws, cuts, start+length/2, start+length)
	}
	walks := time.Since(began)
	var sum, all int64
	fastest := time.Duration(math.MaxInt64)
	for range 10 {
		began := time.Now()
		line := NewTimeline(laws, cuts)
		sum = 0
		for at := int64(start); at < start+n*length; at += 85_000_000 {
			sum += line.Between(at, at+85_000_000)
		}
		fastest, all = min(fastest, time.Since(began)), line.Before(start+n*length)
	}
	if fastest > walks {
		t.Errorf("it took %v; to walk 100 times takes %v", fastest, walks)
	}
	if sum != all || all == 0 {
		t.Errorf("%d in all points, %d in all", sum, all)
	}
}
