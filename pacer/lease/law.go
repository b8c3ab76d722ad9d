package lease

import (
	"cmp"

	"github.com/loadctl/loadctl/pacer"
)

// Phase is what a law asks for.
type Phase int64

// The phases of a run that has begun.
const (
	Running Phase = iota
	Paused
	Stopped
	Ended // as planned
)

// Pos is the position of a slot: its law G and its number K in it. Positions are ordered by law, then by slot.
type Pos struct{ Law, K int64 }

// Less reports whether p is before x.
func (p Pos) Less(x Pos) bool { return p.Law < x.Law || p.Law == x.Law && p.K < x.K }

// Later returns the later one of two positions.
func Later(a, b Pos) Pos {
	if a.Less(b) {
		return b
	}
	return a
}

// A Plan is the pieces of a profile. Each piece becomes one law. A Loop begins again at its end. ID is the number of
// the first law of the plan; the plan of the run's description has 0. A value is never changed.
type Plan struct {
	ID     int64
	Pieces []pacer.Piece
	Loop   bool
	Factor int64 // all rates are multiplied by this many millionths, 1 … Unscaled; 0 = people gave the plan as it is
	Top    int64 // of a scaled plan: the highest factor that a scale may make of it, as a cut of a budget left it
	Of     int64 // of a scaled plan: the ID of the plan that people gave
}

// Unscaled is the factor of a plan whose rates are as they were given, in millionths.
const Unscaled = 1_000_000

// Share returns the factor of the plan, in millionths, up to Unscaled.
func (p *Plan) Share() int64 { return cmp.Or(p.Factor, Unscaled) }

// Most returns the highest factor that a scale may make of the plan.
func (p *Plan) Most() int64 { return cmp.Or(p.Top, Unscaled) }

// Given returns the ID of the plan that people gave.
func (p *Plan) Given() int64 {
	if p.Factor == 0 {
		return p.ID
	}
	return p.Of
}

// At returns the i-th piece, scaled.
func (p *Plan) At(i int) pacer.Piece {
	if p.Share() == Unscaled {
		return p.Pieces[i]
	}
	return p.Pieces[i].Scaled(float64(p.Factor) / Unscaled)
}

// Peak returns the highest rate of the plan, requests per 1,000,000 s.
func (p *Plan) Peak() (most int64) {
	for i := range p.Pieces {
		most = max(most, p.At(i).Peak())
	}
	return most
}

// A Law is a stretch of the schedule, with all that follows from it. A worker or server that has it can make the next
// laws alone. Its number is its place among all laws.
type Law struct {
	pacer.Law
	Base       int64 // ordinal of slot 0
	Phase      Phase
	Prev, Cut  int64       // the law before, and how many of its slots were asked for
	Plan       *Plan       // what follows this law: the pieces of Plan from Piece on
	Piece      int         // 0 … len(Plan.Pieces)
	Left       pacer.Piece // of a pause: the rest of the piece that it interrupted, which comes first; Den = 0: nothing
	End        int64       // planned end of the run, µs; of a pause: how much of the plan is left; pacer.Endless = none
	Stop       int64       // when the run's number of requests is reached in it, µs; 0 = it is not
	ClockEpoch int64       // number of the clock epoch's first law; a clock epoch is a stretch of the Redis clock without a step back
}
