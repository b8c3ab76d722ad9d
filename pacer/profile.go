package pacer

import (
	"fmt"
	"strings"
	"time"
)

// Segment is a stretch of a profile: the rate goes linearly from From to To. A Length of 0 is a jump. A negative
// Length never ends; then From equals To.
type Segment struct {
	From, To Rate
	Length   time.Duration
}

// Profile is the target rate over time, as segments in order. A Loop begins again at its end.
type Profile struct {
	Segments []Segment
	Loop     bool
	// Seed of Poisson arrivals, 1 … poisson.MaxSeed; 0 = slots are evenly spaced. Rates and counts are the same.
	Seed int64
}

// Piece is a constant or linear stretch of a profile that has no starting time yet. Each becomes one law.
type Piece struct {
	R0, R1 int64 // rate at its beginning and end, requests per Den seconds
	Den    int64 // seconds
	Dur    int64 // µs; 0 = no end
}

// String returns the piece as the scripts read it: its four integers with colons between.
func (p Piece) String() string {
	return fmt.Sprintf("%d:%d:%d:%d", p.R0, p.R1, p.Den, p.Dur)
}

// ParsePiece reads what String writes. It refuses pieces whose arithmetic is not defined.
func ParsePiece(s string) (Piece, error) {
	v, err := parseInts(s, ":", 4)
	if err != nil {
		return Piece{}, fmt.Errorf("piece %q: %w", clip(s), err)
	}
	if !lawful(v[0], v[1], v[2], v[3]) {
		return Piece{}, fmt.Errorf("piece %q: fields out of range", clip(s))
	}
	return Piece{R0: v[0], R1: v[1], Den: v[2], Dur: v[3]}, nil
}

// Check returns an error if the arithmetic of the piece is not defined.
func (p Piece) Check() error {
	if !lawful(p.R0, p.R1, p.Den, p.Dur) {
		return errFields
	}
	return nil
}

// JoinPieces returns pieces as the scripts read them: with semicolons between.
func JoinPieces(ps []Piece) string {
	s := make([]string, len(ps))
	for i, p := range ps {
		s[i] = p.String()
	}
	return strings.Join(s, ";")
}

// Constant returns one rate for d; a d of 0 means until stopped.
func Constant(r Rate, d time.Duration) Profile {
	if d == 0 {
		d = -1
	}
	return Profile{Segments: []Segment{{From: r, To: r, Length: d}}}
}

// Length returns how long the profile takes; 0 means until stopped.
func (p Profile) Length() time.Duration {
	var sum time.Duration
	for _, s := range p.Segments {
		if s.Length < 0 {
			return 0
		}
		sum += s.Length
	}
	if p.Loop {
		return 0
	}
	return sum
}

// Integral returns the area under the profile from its start to t: the requests asked for by then.
func (p Profile) Integral(t time.Duration) float64 {
	single := Profile{Segments: p.Segments}
	period := single.Length()
	if !p.Loop || period == 0 { // also 0 for a loop that never comes to its end
		return single.area(t)
	}
	t = max(0, t)
	return float64(t/period)*single.area(period) + single.area(t%period)
}

// area returns Integral of a profile that is no loop.
func (p Profile) area(t time.Duration) (area float64) {
	for _, s := range p.Segments {
		d := min(s.Length, t)
		if s.Length < 0 {
			d = t
		}
		if d <= 0 {
			continue
		}
		r0, slope := s.From.Float(), 0.0
		if s.Length > 0 {
			slope = (s.To.Float() - r0) / s.Length.Seconds()
		}
		area += d.Seconds() * (r0 + slope*d.Seconds()/2)
		t -= d
	}
	return area
}

// maxPieces bounds the plan of a run: Redis reads it whole when a law begins.
const maxPieces = 10_000

// maxLength keeps times in ns far from overflow.
const (
	year      = 365 * 24 * time.Hour
	maxLength = 100 * year
)

// Pieces compiles the profile to the constant and linear pieces that the scripts know. Their lengths are whole µs
// that add up to the profile's length.
func (p Profile) Pieces() ([]Piece, error) {
	var out []Piece
	var ns, us int64 // the end of the segments so far: exact, and as the pieces have it
	for _, s := range p.Segments {
		if s.Length == 0 {
			continue
		}
		from, to, den, err := common(s.From, s.To)
		if err != nil {
			return nil, err
		}
		if s.Length < 0 {
			out = append(out, Piece{R0: from, R1: from, Den: den})
			break
		}
		if int64(s.Length) > int64(maxLength)-ns {
			return nil, fmt.Errorf("profile: longer than %d years; 0 means until stopped", maxLength/year)
		}
		ns += int64(s.Length)
		if length := ns/1000 - us; length > 0 {
			out = append(out, Piece{R0: from, R1: to, Den: den, Dur: length})
			us += length
		}
	}
	switch {
	case len(out) == 0:
		return nil, fmt.Errorf("profile: it has no length; give a stage or a duration above zero")
	case len(out) > maxPieces:
		return nil, fmt.Errorf("profile: %d pieces, at most %d; use fewer stages", len(out), maxPieces)
	}
	return out, nil
}

// common returns two rates with one denominator.
func common(a, b Rate) (from, to, den int64, err error) {
	a.Den, b.Den = max(1, a.Den), max(1, b.Den) // the zero Rate has 0
	for _, r := range []Rate{a, b} {
		if r.Num < 0 || r.Den > maxDen || (r.Num-1)/r.Den >= maxRate {
			return 0, 0, 0, fmt.Errorf("profile: a rate of %v; give one from 0 to %d per second", r, maxRate)
		}
	}
	x, y := a.Den, b.Den
	for y != 0 {
		x, y = y, x%y
	}
	den = a.Den / x * b.Den
	if den > maxDen {
		return 0, 0, 0, fmt.Errorf("profile: a ramp from %v to %v is too fine; use rates with fewer decimals", a, b)
	}
	return a.Num * (den / a.Den), b.Num * (den / b.Den), den, nil
}
