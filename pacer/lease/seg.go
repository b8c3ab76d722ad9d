package lease

import (
	"slices"

	"github.com/loadctl/loadctl/pacer/circle"
)

// A Seg is the piece [Lo, Hi) of the circle, from a slot on.
type Seg struct {
	Lo, Hi int64
	From   Pos
	Since  Pos // for the server's audit: since which slot it is where it is
}

// Segs are disjoint and in order. A value is never changed.
type Segs []Seg

// Whole returns the whole circle.
func Whole() Segs { return Segs{{Lo: 0, Hi: circle.Units}} }

func arc(lo, hi int64) circle.Arc { return circle.Arc{Lo: lo, N: hi - lo} }

// Len returns the number of places.
func (s Segs) Len() (n int64) {
	for _, x := range s {
		n += x.Hi - x.Lo
	}
	return n
}

// Split returns the parts of s that are in cover, and those that are not. A part keeps From and Since.
func (s Segs) Split(cover Segs) (in, out Segs) {
	i := 0
	for _, x := range s {
		for i < len(cover) && cover[i].Hi <= x.Lo {
			i++
		}
		at := x.Lo
		for j := i; j < len(cover) && cover[j].Lo < x.Hi; j++ {
			lo, hi := max(x.Lo, cover[j].Lo), min(x.Hi, cover[j].Hi)
			if at < lo {
				out = append(out, x.part(at, lo))
			}
			in = append(in, x.part(lo, hi))
			at = hi
		}
		if at < x.Hi {
			out = append(out, x.part(at, x.Hi))
		}
	}
	return in, out
}

func (x Seg) part(lo, hi int64) Seg { x.Lo, x.Hi = lo, hi; return x }

// And returns the parts of s that are in cover.
func (s Segs) And(cover Segs) Segs { in, _ := s.Split(cover); return in }

// Minus returns the parts of s that are not in cover.
func (s Segs) Minus(cover Segs) Segs { _, out := s.Split(cover); return out }

// Plus returns both. They must not have a place in common.
func (s Segs) Plus(more Segs) Segs {
	if len(more) == 0 {
		return s
	}
	out := append(slices.Clone(s), more...)
	slices.SortFunc(out, func(a, b Seg) int { return int(a.Lo - b.Lo) })
	return out
}

// Each returns s with each piece changed.
func (s Segs) Each(change func(*Seg)) Segs {
	out := slices.Clone(s)
	for i := range out {
		change(&out[i])
	}
	return out
}

// Bare returns the places of s alone, with neighbours joined. Targets are in this form.
func (s Segs) Bare() (out Segs) {
	for _, x := range s {
		if n := len(out); n > 0 && out[n-1].Hi == x.Lo {
			out[n-1].Hi = x.Hi
		} else {
			out = append(out, Seg{Lo: x.Lo, Hi: x.Hi})
		}
	}
	return out
}

// Union returns the places of both, which may overlap.
func (s Segs) Union(more Segs) Segs { return s.Bare().Plus(more.Bare().Minus(s)).Bare() }

// Overlap reports whether a place is in s twice. No list may have one.
func (s Segs) Overlap() bool {
	for i := 1; i < len(s); i++ {
		if s[i].Lo < s[i-1].Hi {
			return true
		}
	}
	return false
}
