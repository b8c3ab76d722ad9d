// Package poisson places the slots of a schedule at random, as independent users arrive.
//
// On the grid, slot k of a law is due where the integral of the rate is k + c. Here it is due where the integral is
// the k-th place of a Process:
//
//	p := poisson.Process{Seed: 1, K: 1000, End: 1000 * poisson.Unit}
//	at := p.Place(0) // the whole slots and micro-slots before the first arrival
//	n := p.Before(at.Float()) // 0: so many places lie before it
//
// The places come in blocks of 65,536 slots, and of as much of the integral. A law that ends has a last block with
// the rest. Within a block the places are independent and uniform, in order: what remains of a Poisson process if
// one knows the count of the block (Cox and Lewis, The Statistical Analysis of Series of Events, 1966). So counts
// are exact: those of blocks, of laws, and of runs.
//
// Guarantees: each place is a function of the seed and of its number, so all processes agree without talking. A
// place costs one walk down a tree: each node divides its slots among two halves of its length,
//
//	left ~ Binomial(n, ½)
//
// which for n ≤ 64 is the number of ones among n random bits. Above, a normal value with the same mean and variance
// stands for it. All arithmetic is that of doubles and of 32-bit words, as in lua/arrivals.lua, and gives the same
// numbers there.
package poisson

import (
	"math"
	"math/bits"
)

// Unit is the number of micro-slots in a slot.
const Unit = 1_000_000

// MaxSeed is the highest seed; the lowest is 1.
const MaxSeed = 1<<31 - 2

// block is the number of slots in a block.
const block = 1 << 16

// Next returns the seed of the law after one with this seed, or 0 for 0:
//
//	16807·seed mod (2³¹ − 1)     (Park and Miller, Random Number Generators, 1988)
func Next(seed int64) int64 { return seed % (1<<31 - 1) * 16807 % (1<<31 - 1) }

// A Process is the places of the slots of one law. A value is never changed.
type Process struct {
	Seed int64   // 1 … MaxSeed
	K    int64   // number of slots
	C    int64   // the law's remainder, micro-slots: without an End, the last slot is due before K + C
	End  float64 // the integral of the whole law, micro-slots; +Inf if it has no end
}

// A Place is a value of the integral: Slot + Part/Unit.
type Place struct{ Slot, Part int64 }

// Float returns the place in micro-slots.
func (p Place) Float() float64 { return float64(p.Slot)*Unit + float64(p.Part) }

// Place returns the place of slot k, in [0, K). Places ascend, and are before End.
func (p Process) Place(k int64) Place {
	first := k / block * block
	n, length := p.block(first)
	at, rank, h := 0.0, k-first, p.root(first/block)
	for n > 1 && length >= 2 {
		left, half := h.split(n), math.Floor(length/2)
		if rank < left {
			n, length, h = left, half, h.word(toLeft)
		} else {
			rank, n, at, length, h = rank-left, n-left, at+half, length-half, h.word(toRight)
		}
	}
	micro := int64(at + h.inside(length))
	return Place{first + micro/Unit, micro % Unit}
}

// Before returns how many places are below an integral of so many micro-slots.
func (p Process) Before(integral float64) int64 {
	first := int64(min(math.Floor(integral/(block*Unit)), float64(p.K/block))) * block
	n, length := p.block(first)
	x, before, h := integral-float64(first)*Unit, first, p.root(first/block)
	if x >= length {
		return first + n
	}
	for n > 1 && length >= 2 {
		left, half := h.split(n), math.Floor(length/2)
		if x <= half {
			n, length, h = left, half, h.word(toLeft)
		} else {
			x, before, n, length, h = x-half, before+left, n-left, length-half, h.word(toRight)
		}
	}
	if n > 0 && h.inside(length) < x {
		before += n
	}
	return before
}

// block returns how many slots the block from slot `first` on has, and its length in micro-slots.
func (p Process) block(first int64) (n int64, length float64) {
	n = min(block, p.K-first)
	length = block * Unit
	if first+n >= p.K { // End may be rounded up
		length = min(length, float64(n*Unit+p.C), p.End-1-float64(first)*Unit)
	}
	return n, max(math.Floor(length), 1)
}

// word is a random value, of a node or for one of its uses.
type word uint32

// The uses of a node's value.
const (
	bits1 = iota + 1
	bits2
	jitter
	toLeft
	toRight
	place
)

// root returns the value of a block's root.
func (p Process) root(number int64) word {
	low, high := word(number), word(number>>32)
	return mix(mix(mix(word(p.Seed))+low) + high)
}

// word returns the value for one of its uses.
func (h word) word(use word) word { return mix(h + use*0x9E3779B9) }

// mix scatters the bits of a word. Doubles have no exclusive or, so it adds. The factors have 21 bits, so that the
// products are exact.
func mix(h word) word {
	h = (h + h>>16) * 0x1F3D5B
	h = (h + h>>15) * 0x1B56C5
	h = (h + h>>13) * 0x16A95D
	return h + h>>16
}

// split returns how many of a node's n slots are in its left half.
func (h word) split(n int64) int64 {
	one := uint32(h.word(bits1))
	switch {
	case n <= 32:
		return int64(bits.OnesCount32(one >> (32 - n)))
	case n <= 64:
		return int64(bits.OnesCount32(one) + bits.OnesCount32(uint32(h.word(bits2))>>(64-n)))
	}
	// The ones among 64 bits, made even by a uniform value: the mean is 32, and the variance 16 + 1/12.
	z := float64(bits.OnesCount32(one)+bits.OnesCount32(uint32(h.word(bits2)))) - 32.5 + float64(h.word(jitter))/(1<<32)
	left := float64(n)/2 + float64(math.Sqrt(float64(n))*(z/8.020806277010642)) // 2·√(16 + 1/12)
	return int64(min(max(math.Floor(left+0.5), 0), float64(n)))
}

// inside returns the place of the only slot of a node, from its beginning.
func (h word) inside(length float64) float64 {
	return math.Floor(float64(h.word(place)) / (1 << 32) * length)
}
