package pacer

import (
	"math/big"
	"time"
)

// Period returns how long one turn of the profile takes: its segments, one after the other. 0 means that it never ends.
func (p Profile) Period() time.Duration {
	return Profile{Segments: p.Segments}.Length()
}

// Before returns how many slots are due before t, counted from the profile's start. Slot k is due where the integral of
// the rate reaches k, so these are all k below the integral, which is computed exactly.
func (p Profile) Before(t time.Duration) int64 {
	t = max(0, t)
	area := new(big.Rat)
	if period := p.Period(); p.Loop && period > 0 {
		area.Mul(p.exactArea(period), new(big.Rat).SetInt64(int64(t/period)))
		t %= period
	}
	area.Add(area, p.exactArea(t))
	up := new(big.Int).Add(area.Num(), new(big.Int).Sub(area.Denom(), big.NewInt(1)))
	return up.Div(up, area.Denom()).Int64()
}

// exactArea returns the area of one turn up to t: of each segment e·(r0 + (r1 − r0)·e/(2·length)), e being how much of
// it is before t.
func (p Profile) exactArea(t time.Duration) *big.Rat {
	sum := new(big.Rat)
	for _, s := range p.Segments {
		e := t
		if s.Length >= 0 {
			e = min(s.Length, t)
		}
		if e <= 0 {
			continue
		}
		rate := s.From.rat()
		if s.From != s.To {
			slope := new(big.Rat).Sub(s.To.rat(), rate)
			rate.Add(rate, slope.Mul(slope, big.NewRat(int64(e), 2*int64(s.Length))))
		}
		sum.Add(sum, rate.Mul(rate, big.NewRat(int64(e), int64(time.Second))))
		t -= e
	}
	return sum
}

// Peak returns the highest rate from a time up to another one, in requests per second. Both count from the profile's
// start, 0 ≤ from < to.
func (p Profile) Peak(from, to time.Duration) float64 {
	period := p.Period()
	switch {
	case !p.Loop || period == 0:
		return p.peak(from, to)
	case to-from >= period:
		return p.peak(0, period)
	}
	to -= from / period * period
	from %= period
	return max(p.peak(from, min(to, period)), p.peak(0, to-period))
}

// peak returns Peak of one turn; 0 if there is no time between from and to.
func (p Profile) peak(from, to time.Duration) (most float64) {
	var start time.Duration
	for _, s := range p.Segments {
		end := start + s.Length
		if s.Length < 0 {
			end = max(start, to)
		}
		if a, b := max(from, start), min(to, end); a < b {
			at := func(t time.Duration) float64 {
				if s.From == s.To {
					return s.From.Float()
				}
				return s.From.Float() + (s.To.Float()-s.From.Float())*float64(t-start)/float64(s.Length)
			}
			most = max(most, at(a), at(b))
		}
		start = end
	}
	return most
}
