package lease

import "github.com/loadctl/loadctl/pacer"

// Phase is what a law asks for.
type Phase int64

// The phases of a run that has begun.
const (
	Running Phase = iota
	Paused
	Stopped
	Ended // as planned
)

// Pos is a slot of a generation. Positions are ordered by generation, then by slot.
type Pos struct{ G, K int64 }

// Less tells whether p is before x.
func (p Pos) Less(x Pos) bool { return p.G < x.G || p.G == x.G && p.K < x.K }

// Later is the later one of two positions.
func Later(a, b Pos) Pos {
	if a.Less(b) {
		return b
	}
	return a
}

// A Plan is the pieces of a profile, one generation each. A Loop begins again at its end. It has the number of the first law that was made of it,
// 0 for that of the run's description. A value is never changed.
type Plan struct {
	ID     int64
	Pieces []pacer.Piece
	Loop   bool
}

// A Law is a generation with all that follows from it, so that whoever has it can go on with the schedule alone. Its number tells its place
// among all laws.
type Law struct {
	pacer.Law
	Base      int64 // ordinal of slot 0
	Phase     Phase
	Prev, Cut int64       // the law before, and how many slots of that were asked for
	Plan      *Plan       // what comes behind it: the pieces of Plan from Piece on
	Piece     int         // 0 … len(Plan.Pieces)
	Left      pacer.Piece // before those, of a pause: the rest of the piece that it stopped; Den = 0: nothing
	End       int64       // planned end of the run, µs; of a pause: how much of the plan is left; pacer.Endless = none
	Stop      int64       // when the run's number of requests is reached in it, µs; 0 = it is not
	Era       int64       // a stretch of the Redis clock without a step back has the number of its first law
}
