package sim

import (
	"math"
	"slices"
	"sort"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
)

// A schedule is what was asked for: the rate in force over true time.
type schedule struct {
	pieces []piece
	gens   map[int64]generation
}

// piece is a stretch of true time under one law.
type piece struct {
	from, to int64   // ns
	r0, r1   float64 // slots per ns, at from and at to
	sum      float64 // slots before from
}

// generation is what the servers knew of one in the end.
type generation struct {
	cut  int64 // the first slot that was recalled
	ends int64 // true ns: of one that was forgotten, when the next server's began
	skew int64 // of the clock it was made by
}

// newSchedule joins the servers' laws. Where a server began a new generation because it, or its clock, is another one than before,
// its predecessor's law is in force until then.
func newSchedule(epoch int64, epochs []epoch) *schedule {
	s := &schedule{gens: map[int64]generation{}}
	from, renewal := int64(0), int64(0)
	for i, e := range epochs {
		to, next := e.to, renewal
		if i+1 < len(epochs) {
			after := epochs[i+1]
			if g := renewed(e.laws, after.laws); g != nil {
				to, next = max(after.from, g.T0*1000-epoch-after.skew), g.ID
			}
		}
		for _, g := range e.laws {
			s.learn(g, e.skew)
			if at := func(us int64) int64 { return us*1000 - epoch - e.skew }; g.ID >= renewal && g.Ends > g.T0 {
				s.add(g, max(from, at(g.T0)), min(at(min(g.Ends, pacer.Endless)), to), epoch+e.skew)
			}
		}
		if i+1 < len(epochs) {
			s.forget(e.laws, epochs[i+1].laws, to)
		}
		from, renewal = to, next
	}
	s.sum()
	return s
}

func (s *schedule) learn(g *model.Generation, skew int64) {
	if old, known := s.gens[g.ID]; known {
		skew = old.skew
	}
	s.gens[g.ID] = generation{cut: g.Cut, ends: math.MaxInt64, skew: skew}
}

// forget ends at a time the generations that the next server knows nothing of.
func (s *schedule) forget(laws, next []*model.Generation, at int64) {
	for _, g := range laws {
		if !slices.ContainsFunc(next, func(x *model.Generation) bool { return x.ID == g.ID }) {
			known := s.gens[g.ID]
			known.ends = at
			s.gens[g.ID] = known
		}
	}
}

// renewed is the first generation in laws that is not in before.
func renewed(before, laws []*model.Generation) *model.Generation {
	for _, g := range laws {
		if !slices.ContainsFunc(before, func(x *model.Generation) bool { return x.ID == g.ID }) {
			return g
		}
	}
	return nil
}

// add is a law's part in [from, to), zero being the Redis time of the beginning.
func (s *schedule) add(g *model.Generation, from, to, zero int64) {
	if to <= from || g.K == 0 {
		return
	}
	rate := func(at int64) float64 { return g.Rate((at+zero)/1000) / 1e9 }
	s.pieces = append(s.pieces, piece{from: from, to: to, r0: rate(from), r1: rate(to)})
}

func (s *schedule) sum() {
	slices.SortStableFunc(s.pieces, func(a, b piece) int { return int(a.from - b.from) })
	sum := 0.0
	for i := range s.pieces {
		s.pieces[i].sum = sum
		sum += s.pieces[i].area(s.pieces[i].to)
	}
}

func (p piece) rate(at int64) float64 {
	if p.to == p.from || p.r0 == p.r1 {
		return p.r0
	}
	return p.r0 + (p.r1-p.r0)*float64(at-p.from)/float64(p.to-p.from)
}

// area is how many slots there are from p.from to at.
func (p piece) area(at int64) float64 {
	at = max(p.from, min(p.to, at))
	return (p.r0 + p.rate(at)) / 2 * float64(at-p.from)
}

// before is how many slots were asked for before a time: the integral of the rate.
func (s *schedule) before(at int64) float64 {
	i := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].from > at }) - 1
	if i < 0 {
		return 0
	}
	return s.pieces[i].sum + s.pieces[i].area(at)
}

// between is the integral over [from, to).
func (s *schedule) between(from, to int64) float64 { return s.before(to) - s.before(from) }

// most is the highest rate, slots per ns.
func (s *schedule) most() (r float64) {
	for _, p := range s.pieces {
		r = max(r, p.r0, p.r1)
	}
	return r
}

// overrun tells whether a slot was not asked for any more.
func (s *schedule) overrun(x send, due int64) bool {
	g, known := s.gens[x.gen]
	return known && (x.slot >= g.cut || due >= g.ends)
}

// raised is the schedule with at least the given rate in force where that is higher: steps of rate, slots per ns, by time.
func (s *schedule) raised(steps map[int64]float64) *schedule {
	times := make([]int64, 0, len(steps))
	for at := range steps {
		times = append(times, at)
	}
	slices.Sort(times)
	out := &schedule{gens: s.gens}
	level := 0.0
	for i, at := range times {
		level += steps[at]
		to := int64(math.MaxInt64)
		if i+1 < len(times) {
			to = times[i+1]
		}
		out.pieces = append(out.pieces, s.over(at, to, level)...)
	}
	out.sum()
	return out
}

// over is the schedule in [from, to), and at least level.
func (s *schedule) over(from, to int64, level float64) (out []piece) {
	at := from
	for _, p := range s.pieces {
		a, b := max(p.from, from), min(p.to, to)
		if a >= b {
			continue
		}
		if a > at && level > 0 {
			out = append(out, piece{from: at, to: a, r0: level, r1: level})
		}
		out = append(out, piece{from: a, to: b, r0: max(level, p.rate(a)), r1: max(level, p.rate(b))})
		at = b
	}
	if at < to && level > 0 {
		out = append(out, piece{from: at, to: to, r0: level, r1: level})
	}
	return out
}
