package pacer

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/pacer/poisson"
)

// Endless is the K of a law whose end is not known.
const Endless int64 = 1 << 52

// remainderUnit is the number of parts of a slot in which the remainder C counts.
const remainderUnit = 1_000_000

// Law is one stretch of the schedule: the instants at which its slots are due.
//
// With I(t) the integral of the rate since T0, slot k is due where I(t) = k + c, with c = C/10⁶:
//
//	constant rate R:      T(k) = T0 + (k+c)/R
//	linear ramp r0 + a·t: T(k) = T0 + 2(k+c) / (r0 + sqrt(r0² + 2a(k+c)))
//
// The second form solves the quadratic equation without cancellation when a is small. The law is GCRA (ITU-T I.371)
// with its theoretical arrival time as an integer slot number, so nothing drifts.
//
// With a Seed the slots are due as if they arrived independently: where I(t) is the k-th place of a poisson.Process.
type Law struct {
	ID  int64 // later laws have larger ids
	T0  int64 // where the rate begins, µs of the Redis clock
	C   int64 // remainder: the part of a slot that is left before slot 0, in millionths, 0 … 999,999
	R0  int64 // rate at T0, requests per Den seconds
	R1  int64 // rate at T0+Dur, requests per Den seconds; R0 = R1 is a constant rate
	Den int64 // seconds, ≥ 1
	Dur int64 // length, µs; 0 = no end
	K   int64 // number of slots, or Endless
	// Seed of Poisson arrivals, 1 … poisson.MaxSeed; 0 = slots are evenly spaced.
	Seed int64
}

// errFields says that the arithmetic is not defined for some numbers.
var errFields = errors.New("fields out of range")

// Check returns an error if the arithmetic of the law is not defined.
func (l Law) Check() error {
	switch {
	case !lawful(l.R0, l.R1, l.Den, l.Dur), l.T0 < 0 || l.T0 > Endless, l.C < 0 || l.C >= remainderUnit,
		l.K < 0 || l.K > Endless, l.Dur == 0 && l.R0 == 0 && l.K > 0, l.Seed < 0 || l.Seed > poisson.MaxSeed:
		return errFields
	}
	return nil
}

// lawful reports whether the arithmetic is defined for the fields that a Law and a Piece have in common.
func lawful(r0, r1, den, dur int64) bool {
	switch {
	case r0 < 0, r1 < 0, den < 1 || den > maxDen*remainderUnit, dur < 0 || dur > Endless,
		r0 != r1 && dur == 0, r0 == r1 && den > maxDen:
		return false
	}
	return true
}

// parseInts splits s into exactly n integers.
func parseInts(s, sep string, n int) ([]int64, error) {
	parts := strings.Split(s, sep)
	if len(parts) != n {
		return nil, fmt.Errorf("%d fields instead of %d", len(parts), n)
	}
	v := make([]int64, n)
	for i, p := range parts {
		x, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("field %d: %w", i+1, err)
		}
		v[i] = x
	}
	return v, nil
}

// Due returns when slot k is due, in ns of the Redis clock. Constant rates are computed in integers (128-bit
// product), so slot 10¹² is as exact as slot 0. k must be in [0, K).
func (l Law) Due(k int64) int64 {
	c := l.C
	if l.Seed != 0 {
		at := l.arrivals().Place(k)
		k, c = at.Slot, at.Part
	}
	return l.T0*1000 + l.after(k, c)
}

// after returns when the integral is k + c/10⁶, ns after T0.
func (l *Law) after(k, c int64) int64 {
	if l.R0 == l.R1 {
		// (k + c/10⁶)·Den·10⁹ / R
		hi, lo := bits.Mul64(uint64(k), uint64(l.Den)*1_000_000_000)
		lo, carry := bits.Add64(lo, uint64(c)*uint64(l.Den)*1000, 0)
		hi += carry
		if hi >= uint64(l.R0) {
			return math.MaxInt64 / 2 // beyond any clock
		}
		q, _ := bits.Div64(hi, lo, uint64(l.R0))
		return int64(min(q, math.MaxInt64/2))
	}
	r0, r1 := float64(l.R0)/float64(l.Den), float64(l.R1)/float64(l.Den)
	a := float64(l.R1-l.R0) / float64(l.Den) / (float64(l.Dur) / 1e6)
	x := float64(k) + float64(c)/remainderUnit
	if x == 0 {
		return 0 // also where r0 is 0 and the formula is 0/0
	}
	square := r0*r0 + 2*a*x // the square of the rate at the slot
	if a < 0 {
		square = r1*r1 - 2*a*l.rest(k, c) // the same from the end, as the line above cancels near it
	}
	return int64(min(2*x/(r0+math.Sqrt(square))*1e9, math.MaxInt64/2))
}

// rest returns what is left of a ramp's integral behind k + c/10⁶, in slots; 0 beyond its end. The difference is taken
// in 128-bit integers:
//
//	((R0+R1)·Dur − 2·Den·(10⁶·k + c)) / (2·Den·10⁶)
func (l *Law) rest(k, c int64) float64 {
	unit := 2 * uint64(l.Den) * remainderUnit
	hi, lo := bits.Mul64(uint64(l.R0)+uint64(l.R1), uint64(l.Dur))
	passedHi, passedLo := bits.Mul64(uint64(k), unit)
	passedLo, carry := bits.Add64(passedLo, 2*uint64(l.Den)*uint64(c), 0)
	lo, borrow := bits.Sub64(lo, passedLo, 0)
	hi, borrow = bits.Sub64(hi, passedHi+carry, borrow)
	if borrow > 0 {
		return 0
	}
	return (float64(hi)*(1<<64) + float64(lo)) / float64(unit)
}

// Before returns how many slots are due before t (µs of the Redis clock). It agrees with Due.
func (l Law) Before(t int64) int64 {
	if l.Seed != 0 {
		return l.arrived(t)
	}
	return l.Asks(t)
}

// Asks returns the integral of the rate from T0 to t (µs of the Redis clock), in whole slots, at most K. It is exact
// for constant rates and for ramps. Evenly spaced slots are due before t exactly if Asks counts them.
func (l Law) Asks(t int64) int64 {
	e := t - l.T0
	if l.Dur > 0 {
		e = min(e, l.Dur)
	}
	if e <= 0 {
		return 0
	}
	// I − c in slots = (e·(2·R0·Dur + (R1−R0)·e)/(2·Dur·Den) − C) / 10⁶, rounded up
	num, den := big.NewInt(l.R0), big.NewInt(l.Den)
	if l.R0 != l.R1 {
		num.Mul(num, big.NewInt(2*l.Dur))
		num.Add(num, new(big.Int).Mul(big.NewInt(l.R1-l.R0), big.NewInt(e)))
		den.Mul(den, big.NewInt(2*l.Dur))
	}
	num.Mul(num, big.NewInt(e))
	num.Sub(num, new(big.Int).Mul(big.NewInt(l.C), den))
	den.Mul(den, big.NewInt(remainderUnit))
	num.Add(num, den).Sub(num, big.NewInt(1)) // round up
	num.Div(num, den)
	if !num.IsInt64() {
		return l.K
	}
	return min(max(num.Int64(), 0), l.K)
}

// Rate returns the rate in force at t (µs of the Redis clock), in requests per second.
func (l Law) Rate(t int64) float64 {
	r := float64(l.R0)
	if l.R0 != l.R1 {
		f := float64(t-l.T0) / float64(l.Dur)
		r += float64(l.R1-l.R0) * min(max(f, 0), 1)
	}
	return r / float64(l.Den)
}
