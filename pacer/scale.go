package pacer

import "math"

// micro is the denominator of a scaled piece: its rates are in millionths of a request a second.
const micro = 1_000_000

// Scaled returns the piece with its rates multiplied by f, to the nearest millionth of a request a second, and at most the
// highest rate there is. laws.lua does the same, in the same order of operations.
func (p Piece) Scaled(f float64) Piece {
	rate := func(r int64) int64 {
		return min(maxRate*micro, int64(math.Floor(float64(r)*f*(micro/float64(p.Den))+0.5)))
	}
	return Piece{R0: rate(p.R0), R1: rate(p.R1), Den: micro, Dur: p.Dur}
}

// Peak returns the highest rate of the piece, in requests per 1,000,000 s, rounded up.
func (p Piece) Peak() int64 {
	return int64(math.Ceil(float64(max(p.R0, p.R1)) * (micro / float64(p.Den))))
}
