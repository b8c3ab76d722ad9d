package lease

import (
	"cmp"
	"slices"
	"sort"

	"github.com/loadctl/loadctl/pacer"
)

// Laws are the known laws of a run, in the order of their numbers. Of one clock epoch the newest law is in force, and so are
// those that it follows from. All others are void: a server planned them and then learnt of other laws, or it forgot
// them. A value is never changed. nil has no laws.
type Laws struct {
	all        []Law
	clockEpoch int64
	cuts       []int64 // how many slots of each law are asked for
	live       []bool  // whether each law is in force
}

// With returns l and more laws. Laws that l has are not replaced. Of two new laws with one number the first counts.
func (l *Laws) With(more ...Law) *Laws {
	all := slices.Concat(l.All(), more)
	slices.SortStableFunc(all, func(a, b Law) int { return cmp.Compare(a.ID, b.ID) })
	all = slices.CompactFunc(all, func(a, b Law) bool { return a.ID == b.ID })
	if len(all) == len(l.All()) {
		return l
	}
	era := all[len(all)-1].ClockEpoch
	if l != nil {
		era = l.clockEpoch
	}
	return chain(all, era)
}

// In returns l with another clock epoch in force.
func (l *Laws) In(era int64) *Laws {
	if l == nil || l.clockEpoch == era {
		return l
	}
	return chain(l.all, era)
}

// chain finds the laws in force, from the newest of the clock epoch back, and how many slots of each its successor asks for.
func chain(all []Law, era int64) *Laws {
	l := &Laws{all: all, clockEpoch: era, cuts: make([]int64, len(all)), live: make([]bool, len(all))}
	i := len(all) - 1
	for i >= 0 && all[i].ClockEpoch != era {
		i--
	}
	for cut := pacer.Endless; i >= 0; {
		l.live[i], l.cuts[i] = true, min(cut, all[i].K)
		cut = all[i].Cut
		before, known := l.Index(all[i].Prev)
		if i = before; !known {
			break
		}
	}
	return l
}

// Trim returns l without laws that were over before a time of its clock epoch, µs, and without later clock epochs that are not in
// force.
func (l *Laws) Trim(before int64) *Laws {
	first, end := 0, 0
	for i := range l.All() {
		if l.live[i] {
			if end = i + 1; l.all[i].ClockEpoch == l.clockEpoch && l.all[i].T0 <= before {
				first = i
			}
		}
	}
	if first == 0 && end == len(l.All()) {
		return l
	}
	return chain(slices.Clone(l.all[first:end]), l.clockEpoch)
}

// Live reports whether a law is known and in force in its time.
func (l *Laws) Live(id int64) bool {
	i, ok := l.Index(id)
	return ok && l.live[i]
}

// Since returns the laws with higher numbers.
func (l *Laws) Since(id int64) []Law {
	i, _ := l.Index(id + 1)
	return l.All()[i:]
}

// Index returns the place of a law in All, or where it would be, and whether it is there.
func (l *Laws) Index(id int64) (int, bool) {
	all := l.All()
	i := sort.Search(len(all), func(i int) bool { return all[i].ID >= id })
	return i, i < len(all) && all[i].ID == id
}

// Has reports whether a law is known.
func (l *Laws) Has(id int64) bool { _, ok := l.Index(id); return ok }

// Newest returns the newest law of the clock epoch in force; nil if there is none.
func (l *Laws) Newest() *Law {
	for i := range slices.Backward(l.All()) {
		if l.live[i] {
			return &l.all[i]
		}
	}
	return nil
}

// All returns the laws, in order. The caller must not change them.
func (l *Laws) All() []Law {
	if l == nil {
		return nil
	}
	return l.all
}

// Cut returns how many slots of the i-th law of All are asked for.
func (l *Laws) Cut(i int) int64 { return l.cuts[i] }

// Recalled reports whether a slot is known not to be asked for.
func (l *Laws) Recalled(p Pos) bool {
	for i := range slices.Backward(l.All()) { // there are few, and it is one of the last
		if l.all[i].ID == p.Law {
			return p.K >= l.cuts[i]
		}
	}
	return false
}

// At returns the index in All of the law in force at a time of the clock epoch, µs. Before the first law it is that of the
// first; −1 if there is none.
func (l *Laws) At(t int64) int {
	first := -1
	for i := range slices.Backward(l.All()) {
		if !l.live[i] || l.all[i].ClockEpoch != l.clockEpoch {
			continue
		}
		if first = i; l.all[i].T0 <= t {
			return i
		}
	}
	return first
}

// Pos returns the first slot due at or after a time of the clock epoch, µs.
func (l *Laws) Pos(t int64) Pos {
	i := l.At(t)
	if i < 0 {
		return Pos{}
	}
	return Pos{l.all[i].ID, min(l.all[i].Before(t), l.cuts[i])}
}

// Ordinal returns how many slots are asked for before a position. Ordinals run on from law to law:
//
//	base of a law = base of the one before + its cut
func (l *Laws) Ordinal(p Pos) int64 {
	for i, _ := l.Index(p.Law); i < len(l.All()); i++ {
		switch g := &l.all[i]; {
		case !l.live[i]:
		case g.ID == p.Law:
			return g.Base + min(p.K, l.cuts[i])
		default:
			return g.Base
		}
	}
	if n := l.Newest(); n != nil {
		return n.Base + n.K
	}
	return 0
}
