package pacer_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

const second = 1_000_000 // µs

// permitOf is one of phi slots per second, from … until s after the epoch of the test.
func permitOf(phi, phase, from, until int64) pacer.Permit {
	return pacer.Permit{
		Law:  pacer.Law{T0: second, C: phase, R0: phi * second, R1: phi * second, Den: second, K: pacer.Endless, F: 1},
		From: from, Until: until,
	}
}

// A permit's slots are those of its law that are due in [From, Until), whatever the number of shards.
func TestPermitRange(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := permitOf(1+r.Int64N(5000), r.Int64N(second), second+r.Int64N(3*second), 0)
		p.Until = p.From + r.Int64N(2*second)
		var due []int64
		parts := 1 + r.IntN(4)
		for part := range parts {
			for c := p.Range().Cursor(part, parts); c.Ok(); c.Next() {
				due = append(due, c.Due())
			}
		}
		slices.Sort(due)
		want := p.Law.Before(p.Until) - p.Law.Before(p.From)
		if int64(len(due)) != want {
			t.Fatalf("seed %d: %d slots, want %d", seed, len(due), want)
		}
		// a slot at the very border may be counted by whole µs
		if len(due) > 0 && (due[0] < p.From*1000-1000 || due[len(due)-1] >= p.Until*1000) {
			t.Fatalf("seed %d: from %d to %d, permitted from %d to %d µs", seed, due[0], due[len(due)-1], p.From, p.Until)
		}
	}
}

// The streams of members with equal permits and the phases that the script gives interleave: together they are almost as even as one.
func TestPermitsInterleave(t *testing.T) {
	const members, phi = 8, 100
	var due []int64
	for rank := int64(1); rank <= members; rank++ {
		phase := int64(float64(rank)*0.6180339887*second) % second
		for c := permitOf(phi, phase, second, 3*second).Range().Cursor(0, 1); c.Ok(); c.Next() {
			due = append(due, c.Due())
		}
	}
	slices.Sort(due)
	for _, w := range []int64{1e6, 1e7, 1e8} {
		most, first := 0, 0
		for i := range due {
			for due[i]-due[first] >= w {
				first++
			}
			most = max(most, i-first+1)
		}
		if bound := members*phi*int(w)/1e9 + 3; most > bound {
			t.Errorf("%d in %d ns, at most %d", most, w, bound)
		}
	}
}

func TestNoPermit(t *testing.T) {
	if r := (pacer.Permit{}).Range(); r.N != 0 {
		t.Errorf("the zero value has %d slots", r.N)
	}
	if p := permitOf(5, 0, 3*second, 2*second); p.Range().N != 0 {
		t.Error("one that ended before it begins has slots")
	}
}

// Of the first s slots floor(s·yield) are given up, whichever ranges they come in.
func TestYieldIsEven(t *testing.T) {
	law := pacer.Law{ID: 1, R0: 1000, R1: 1000, Den: 1, K: pacer.Endless, F: 16}
	for _, yield := range []int64{0, 1, 1000, 166_667, 500_000, 999_999, 1_000_000} {
		given := make([]bool, 4096)
		r := rand.New(rand.NewPCG(1, 2))
		for first := int64(0); first < 4096; {
			n := min(4096-first, 1+r.Int64N(200))
			for c := (pacer.Range{Law: law, First: first, N: n, Yield: yield}).Cursor(0, 1); c.Ok(); c.Next() {
				given[c.Slot()] = c.Yielded()
			}
			first += n
		}
		var sum int64
		for s, y := range given {
			if y {
				sum++
			}
			if want := (int64(s) + 1) * yield / 1_000_000; sum != want {
				t.Fatalf("yield %d: of %d slots %d are given up, want %d", yield, s+1, sum, want)
			}
		}
	}
}
