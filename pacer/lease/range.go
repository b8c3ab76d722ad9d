package lease

import (
	"slices"

	"github.com/loadctl/loadctl/pacer/circle"
)

// A Range is the places [Lo, Hi) of the circle, from a slot on.
type Range struct {
	Lo, Hi int64
	From   Pos
	Since  Pos // for the server's audit: since which slot it is where it is
}

// Ranges are disjoint and in order. A value is never changed.
type Ranges []Range

// Whole returns the whole circle.
func Whole() Ranges { return Ranges{{Lo: 0, Hi: circle.Units}} }

func circleRange(lo, hi int64) circle.Range { return circle.Range{Lo: lo, N: hi - lo} }

// Len returns the number of places.
func (s Ranges) Len() (n int64) {
	for _, x := range s {
		n += x.Hi - x.Lo
	}
	return n
}

// Split returns the parts of s that are in cover, and those that are not. A part keeps From and Since.
func (s Ranges) Split(cover Ranges) (in, out Ranges) {
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

func (x Range) part(lo, hi int64) Range { x.Lo, x.Hi = lo, hi; return x }

// And returns the parts of s that are in cover.
func (s Ranges) And(cover Ranges) Ranges { in, _ := s.Split(cover); return in }

// Minus returns the parts of s that are not in cover.
func (s Ranges) Minus(cover Ranges) Ranges { _, out := s.Split(cover); return out }

// Plus returns both. They must not have a place in common.
func (s Ranges) Plus(more Ranges) Ranges {
	if len(more) == 0 {
		return s
	}
	out := append(slices.Clone(s), more...)
	slices.SortFunc(out, func(a, b Range) int { return int(a.Lo - b.Lo) })
	return out
}

// Each returns s with each range changed.
func (s Ranges) Each(change func(*Range)) Ranges {
	out := slices.Clone(s)
	for i := range out {
		change(&out[i])
	}
	return out
}

// Bare returns the places of s alone, with neighbours joined. Targets are in this form.
func (s Ranges) Bare() (out Ranges) {
	for _, x := range s {
		if n := len(out); n > 0 && out[n-1].Hi == x.Lo {
			out[n-1].Hi = x.Hi
		} else {
			out = append(out, Range{Lo: x.Lo, Hi: x.Hi})
		}
	}
	return out
}

// Union returns the places of both, which may overlap.
func (s Ranges) Union(more Ranges) Ranges { return s.Bare().Plus(more.Bare().Minus(s)).Bare() }

// Overlap reports whether a place is in s twice. No list may have one.
func (s Ranges) Overlap() bool {
	for i := 1; i < len(s); i++ {
		if s[i].Lo < s[i-1].Hi {
			return true
		}
	}
	return false
}
