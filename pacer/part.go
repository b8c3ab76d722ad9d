package pacer

import "math"

// Part returns the piece from its µs a to its µs b (0: to its end), 0 ≤ a ≤ b. It gives exactly what the scripts'
// function of this name gives.
func (p Piece) Part(a, b int64) Piece {
	if b == 0 {
		b = p.Dur
	}
	out := Piece{R0: p.R0, R1: p.R1, Den: p.Den, Dur: max(1, b-a)} // a length of 0 would be endless
	if p.R0 == p.R1 {
		return out
	}
	// The rate inside a ramp is rarely a whole number: count in millionths where they fit.
	s := float64(remainderUnit)
	if float64(max(p.R0, p.R1))*remainderUnit > float64(Endless) || p.Den >= remainderUnit {
		s = 1
	}
	at := func(e int64) float64 {
		return math.Floor(s*(float64(p.R0)+float64(p.R1-p.R0)*(float64(e)/float64(p.Dur))) + 0.5)
	}
	r0, r1 := at(a), at(b)
	if r0 == r1 && float64(p.Den)*s > remainderUnit { // a constant law keeps a small denominator
		out.R0 = int64(math.Floor(r0/s + 0.5))
		out.R1 = out.R0
		return out
	}
	out.R0, out.R1, out.Den = int64(r0), int64(r1), p.Den*int64(s)
	return out
}
