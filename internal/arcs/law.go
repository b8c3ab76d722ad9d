package arcs

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/loadctl/loadctl/pacer"
)

// Phase is what a law asks for.
type Phase int

// The phases of a run that has begun.
const (
	Running Phase = iota
	Paused
	Over // stopped, or its planned end
)

// Pos is a slot of a generation. Positions are ordered by generation, then by slot.
type Pos struct{ G, K int64 }

// Less tells whether p is before x.
func (p Pos) Less(x Pos) bool { return p.G < x.G || p.G == x.G && p.K < x.K }

func later(a, b Pos) Pos {
	if a.Less(b) {
		return b
	}
	return a
}

// A Law is a generation with all that follows from it, so that whoever has it can go on with the schedule alone.
type Law struct {
	pacer.Law
	Base  int64 // ordinal of slot 0
	Phase Phase
	Rest  []pacer.Piece // of the plan behind it; of a pause: from where it is to go on
	End   int64         // planned end of the run, µs; of a pause: how much of the plan is left; Endless = none
	Stop  int64         // when the run's number of requests is reached in it, µs; 0 = it is not

	// An era is a stretch of the Redis clock without a step back. It has the number of its first law.
	Era, EraBefore int64
	Was            int64 // T0 in the era before, of its first law
}

// Laws are the generations of a run as far as somebody knows them, in the order of their numbers. A value is never changed.
type Laws struct {
	all  []Law
	cuts []int64 // the number of slots of each that are asked for
}

// with is l and more laws. What l has already is left as it is.
func (l *Laws) with(more ...Law) *Laws {
	out := &Laws{}
	if l != nil {
		out.all = slices.Clone(l.all)
	}
	for _, x := range more {
		if !l.has(x.ID) {
			out.all = append(out.all, x)
		}
	}
	if l != nil && len(out.all) == len(l.all) {
		return l
	}
	slices.SortFunc(out.all, func(a, b Law) int { return cmp.Compare(a.ID, b.ID) })
	out.cuts = make([]int64, len(out.all))
	for i := range out.all {
		out.cuts[i] = out.all[i].K
		for _, x := range out.all[i+1:] {
			out.cuts[i] = min(out.cuts[i], out.all[i].cutBy(x))
		}
	}
	return out
}

// cutBy is how many slots of l are before a later law.
func (l *Law) cutBy(x Law) int64 {
	switch l.Era {
	case x.Era:
		return l.Before(x.T0)
	case x.EraBefore:
		return l.Before(x.Was)
	}
	return l.K
}

// merge is what a and b know together.
func merge(a, b *Laws) *Laws {
	if b == nil || a == b {
		return a
	}
	return a.with(b.all...)
}

// since are the laws in l that old has not.
func (l *Laws) since(old *Laws) (out []Law) {
	if l == nil || l == old {
		return nil
	}
	for _, x := range l.all {
		if !old.has(x.ID) {
			out = append(out, x)
		}
	}
	return out
}

func (l *Laws) index(id int64) (int, bool) {
	if l == nil {
		return 0, false
	}
	i := sort.Search(len(l.all), func(i int) bool { return l.all[i].ID >= id })
	return i, i < len(l.all) && l.all[i].ID == id
}

func (l *Laws) has(id int64) bool { _, ok := l.index(id); return ok }

func (l *Laws) newest() *Law {
	if l == nil || len(l.all) == 0 {
		return nil
	}
	return &l.all[len(l.all)-1]
}

// All are the laws, in order.
func (l *Laws) All() []Law {
	if l == nil {
		return nil
	}
	return l.all
}

// Cut is how many slots of the i-th of All are asked for.
func (l *Laws) Cut(i int) int64 { return l.cuts[i] }

// at is the law in force at a time of an era, the first if it has not begun; −1 if there is none.
func (l *Laws) at(t, era int64) int {
	first := -1
	for i := len(l.All()) - 1; i >= 0; i-- {
		if l.all[i].Era != era {
			continue
		}
		if first = i; l.all[i].T0 <= t {
			return i
		}
	}
	return first
}

// Pos is the first slot due at or after a time of an era.
func (l *Laws) Pos(t, era int64) Pos {
	i := l.at(t, era)
	if i < 0 {
		return Pos{}
	}
	return Pos{l.all[i].ID, min(l.all[i].Before(t), l.cuts[i])}
}

// due is when a position is due, µs rounded up; 0 where the law is not known.
func (l *Laws) due(p Pos) int64 {
	i, ok := l.index(p.G)
	switch {
	case !ok:
		return 0
	case p.K >= l.all[i].K:
		return l.all[i].T0
	}
	return l.all[i].Due(p.K)/1000 + 1
}

// count is how many slots of the units [lo, hi) are asked for from one position to another.
func (l *Laws) count(lo, hi int64, from, to Pos) (n int64) {
	for i := range l.All() {
		g := &l.all[i]
		a, b := int64(0), l.cuts[i]
		if g.ID < from.G || g.ID > to.G {
			continue
		}
		if g.ID == from.G {
			a = from.K
		}
		if g.ID == to.G {
			b = min(b, to.K)
		}
		if b > a {
			n += arc(lo, hi).Count(g.Base+a, g.Base+b)
		}
	}
	return n
}

// asked is how many slots were asked for before a position.
func (l *Laws) asked(to Pos) (n int64) {
	for i := range l.All() {
		switch g := &l.all[i]; {
		case g.ID < to.G:
			n += l.cuts[i]
		case g.ID == to.G:
			n += min(l.cuts[i], to.K)
		}
	}
	return n
}

const unit = 1_000_000 // parts of a slot

// phase is how much of the next slot's distance is left of l at a time at which cut of its slots are past, in parts of a slot.
func (l *Law) phase(cut, t int64) int64 {
	e := max(0, t-l.T0)
	if l.Dur > 0 {
		e = min(e, l.Dur)
	}
	mean := float64(l.R0)
	if l.R0 != l.R1 {
		mean += float64(l.R1-l.R0) * float64(e) / float64(l.Dur) / 2
	}
	c := float64(cut)*unit + float64(l.C) - math.Floor(float64(e)*mean/float64(l.Den)+0.5)
	return int64(max(0, min(unit-1, c)))
}

// remainder is the piece that is left of l at a time.
func (l *Law) remainder(t int64) pacer.Piece {
	p := pacer.Piece{R0: l.R0, R1: l.R1, Den: l.Den, Dur: l.Dur, F: l.F}
	if l.Dur > 0 {
		p = p.Part(max(0, min(l.Dur-1, t-l.T0)), 0)
	}
	return p
}
