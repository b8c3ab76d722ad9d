package pacer

import (
	"fmt"
	"math"
	"time"
)

// sineSegments is the number of straight lines in one period. They are within 1 − cos(π/64) = 0.12 % of the amplitude
// of the curve, and their mean over a period is exact.
const sineSegments = 64

// Sine returns mean + amplitude·sin(2πt/period), without an end. The amplitude may not exceed the mean.
func Sine(mean, amplitude Rate, period time.Duration) (Profile, error) {
	m, a := mean.Float(), amplitude.Float()
	if a > m {
		return Profile{}, fmt.Errorf("amplitude %v is above the mean %v, so the rate would fall below zero; make it smaller", amplitude, mean)
	}
	if period < sineSegments*time.Millisecond {
		return Profile{}, fmt.Errorf("period %v is too short; give at least %v", period, sineSegments*time.Millisecond)
	}
	// Count in thousandths of the mean's unit where they fit, so that the mean is exact.
	den := max(1, mean.Den)
	scale := max(1, min(1000, maxDen/den))
	vertex := func(i int) Rate {
		// Both halves come from the same numbers, so that rounding cannot shift the mean.
		offset := int64(math.Round(a * float64(den*scale) * math.Sin(math.Pi*float64(i%(sineSegments/2))/(sineSegments/2))))
		if i%sineSegments >= sineSegments/2 {
			offset = -offset
		}
		return Rate{Num: mean.Num*scale + offset, Den: den * scale}
	}
	p := Profile{Loop: true}
	var done time.Duration
	for i := range sineSegments {
		n := time.Duration(i + 1)
		end := period/sineSegments*n + period%sineSegments*n/sineSegments // period·n may overflow
		p.Segments = append(p.Segments, Segment{From: vertex(i), To: vertex(i + 1), Length: end - done})
		done = end
	}
	return p, nil
}

func parseSine(s settings) (Profile, error) {
	mean, err := s.rate("mean")
	if err != nil {
		return Profile{}, err
	}
	amplitude, err := s.rate("amplitude")
	if err != nil {
		return Profile{}, err
	}
	period, err := s.duration("period")
	if err != nil {
		return Profile{}, err
	}
	return Sine(mean, amplitude, period)
}
