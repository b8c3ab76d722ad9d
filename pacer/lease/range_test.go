package lease

import (
	"math/rand/v2"
	"testing"
)

// bits is a small circle with one bit for each place. Segments are compared with it.
type bits uint64

func (s Ranges) bits() (b bits) {
	for _, x := range s {
		for i := x.Lo; i < x.Hi; i++ {
			b |= 1 << i
		}
	}
	return b
}

// drawRanges returns random ranges of places 0 … 63, each with its own first slot.
func drawRanges(rng *rand.Rand) (s Ranges) {
	for at := int64(0); at < 64; {
		lo := at + rng.Int64N(12)
		hi := lo + 1 + rng.Int64N(9)
		if hi > 64 {
			break
		}
		s = append(s, Range{Lo: lo, Hi: hi, From: Pos{Law: lo}})
		at = hi
	}
	return s
}

// TestRangesAreSets: the operations behave as on sets, and parts keep their first slot.
func TestRangesAreSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		a, b := drawRanges(rng), drawRanges(rng)
		in, out := a.Split(b)
		rest := b.Minus(a)
		for _, c := range []struct {
			what string
			got  Ranges
			want bits
		}{
			{"and", a.And(b), a.bits() & b.bits()}, {"minus", a.Minus(b), a.bits() &^ b.bits()}, {"in", in, a.bits() & b.bits()}, {"out", out, a.bits() &^ b.bits()},
			{"plus", a.Plus(rest), a.bits() | b.bits()}, {"union", a.Union(b), a.bits() | b.bits()}, {"bare", a.Bare(), a.bits()},
		} {
			if c.got.bits() != c.want || c.got.Overlap() {
				t.Fatalf("%s of %v and %v is %v", c.what, a, b, c.got)
			}
		}
		for _, x := range in.Plus(out) {
			if !(Ranges{x}).within(a) {
				t.Fatalf("%v is a part of none of %v", x, a)
			}
		}
		if n := in.Len() + out.Len(); n != a.Len() {
			t.Fatalf("%d units of %d", n, a.Len())
		}
	}
}

// within reports whether each segment is part of one in a, with the same first slot.
func (s Ranges) within(a Ranges) bool {
	for _, x := range s {
		ok := false
		for _, y := range a {
			ok = ok || y.Lo <= x.Lo && x.Hi <= y.Hi && x.From == y.From
		}
		if !ok {
			return false
		}
	}
	return true
}
