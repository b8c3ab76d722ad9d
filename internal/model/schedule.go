// Package model is the lease script's logic as plain Go over plain memory, with the time as an argument.
//
// It is what the script is checked against, call by call, in random tests; and it stands in for Redis
// where hundreds of workers are simulated in virtual time. It follows lua/*.lua line by line,
// in the same floating-point operations, so that their replies are equal to the digit.
package model

import (
	"math"
	"math/bits"

	"github.com/loadctl/loadctl/pacer"
)

const unit = 1_000_000 // micro-slots in a slot; µs in a second

// Generation is a law with its state.
type Generation struct {
	pacer.Law
	Next  int64 // the next number to grant
	Cut   int64 // its first recalled slot
	Ends  int64 // µs
	Piece int64 // index of the queue's piece behind it
	Low   int64 // the lowest rate while a permit given during it may last, slots per 10⁶ s
}

func (g *Generation) area(e int64) float64 {
	if g.Dur > 0 {
		e = min(e, g.Dur)
	}
	mean := float64(g.R0)
	if g.R0 != g.R1 {
		mean = float64(g.R0) + float64(g.R1-g.R0)*(float64(e)/float64(g.Dur))/2
	}
	return math.Floor(float64(e)*mean/float64(g.Den) + 0.5)
}

func (g *Generation) clamp(slots float64) int64 {
	return int64(max(0, min(float64(g.K), slots)))
}

func (g *Generation) before(t int64) int64 {
	if t <= g.T0 {
		return 0
	}
	return g.clamp(math.Ceil((g.area(t-g.T0) - float64(g.C)) / unit))
}

func (g *Generation) upto(t int64) int64 {
	if t < g.T0 {
		return 0
	}
	return g.clamp(math.Floor((g.area(t-g.T0)-float64(g.C))/unit) + 1)
}

func (g *Generation) when(slot int64) int64 {
	x := (float64(slot)*unit + float64(g.C)) * float64(g.Den)
	if g.K == 0 || x == 0 {
		return g.T0
	}
	if g.R0 == g.R1 {
		return g.T0 + int64(math.Floor(x/float64(g.R0)))
	}
	r0 := float64(g.R0)
	a := float64(g.R1-g.R0) / float64(g.Dur)
	return g.T0 + int64(math.Floor(2*x/(r0+math.Sqrt(max(0, r0*r0+2*a*x)))))
}

// rateAt is slots per µs.
func (g *Generation) rateAt(t int64) float64 {
	r := float64(g.R0)
	if g.R0 != g.R1 {
		r += float64(g.R1-g.R0) * max(0, min(1, float64(t-g.T0)/float64(g.Dur)))
	}
	return r / float64(g.Den) / unit
}

// over is how many of the numbers a … b−1 stand for slots at or beyond s.
func (g *Generation) over(a, b, s int64) int64 {
	if s >= g.K {
		return 0
	}
	base := s - s%g.F
	if g.F == 1 || base+g.F > g.K {
		return max(0, b-max(a, s))
	}
	top := base + g.F
	n := max(0, b-max(a, top))
	for x := max(a, base); x < min(b, top); x++ {
		if g.SlotOf(x) >= s {
			n++
		}
	}
	return n
}

func (g *Generation) limit() int64 {
	base := g.Cut - g.Cut%g.F
	if g.Cut >= g.K || base == g.Cut || base+g.F > g.K {
		return g.Cut
	}
	return base + g.F
}

// part is the piece p from its µs a to its µs b (0: to its end).
func part(p pacer.Piece, a, b int64) pacer.Piece { return p.Part(a, b) }

// ceilFrame and floorFrame align a number to frames of f, a power of two.
func ceilFrame(n, f int64) int64 { return (n + f - 1) &^ (f - 1) }
func floorFrame(n, f int64) int64 {
	return n >> bits.TrailingZeros64(uint64(f)) << bits.TrailingZeros64(uint64(f))
}
