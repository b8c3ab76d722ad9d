package spec

import (
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// Plan is the schedule of a spec, as the scripts take it.
type Plan struct {
	Pieces []pacer.Piece
	Loop   bool
	Span   time.Duration // 0 = without an end
	Left   int64         // requests; −1 = no limit
	Min    int64         // workers to wait for
	Seed   int64         // of Poisson arrivals; 0 = slots are evenly spaced
}

// Plan returns the schedule. An error is one of Validate.
func (s Spec) Plan() (Plan, error) {
	p, err := s.Curve()
	if err != nil {
		return Plan{}, err
	}
	pieces, err := p.Pieces()
	if err != nil {
		return Plan{}, err
	}
	b := Plan{Pieces: pieces, Loop: p.Loop, Span: p.Length(), Left: -1, Min: s.MinWorkers, Seed: p.Seed}
	if p.Loop {
		b.Span = s.Duration
	} else if s.Duration > 0 && (b.Span == 0 || s.Duration < b.Span) {
		b.Span = s.Duration
	}
	if s.Requests > 0 {
		b.Left = s.Requests
	}
	return b, nil
}

// PeakOf returns the highest rate of pieces.
func PeakOf(pieces []pacer.Piece) (most float64) {
	for _, p := range pieces {
		most = max(most, float64(p.R0)/float64(p.Den), float64(p.R1)/float64(p.Den))
	}
	return most
}
