package lease

import (
	"cmp"
	"slices"
	"sort"

	"github.com/loadctl/loadctl/pacer"
)

// Laws are the generations of a run as far as somebody knows them, in the order of their numbers. Of one era the newest is in force, and the
// ones that it follows from are. All others are void: what a server had planned that was told something else, or was told and has forgotten. A
// value is never changed; nil has no laws.
type Laws struct {
	all  []Law
	era  int64
	cuts []int64 // the number of slots of each that are asked for
	live []bool
}

// With is l and more laws. What l has already is left as it is, and so is the first of two with one number.
func (l *Laws) With(more ...Law) *Laws {
	all := slices.Concat(l.All(), more)
	slices.SortStableFunc(all, func(a, b Law) int { return cmp.Compare(a.ID, b.ID) })
	all = slices.CompactFunc(all, func(a, b Law) bool { return a.ID == b.ID })
	if len(all) == len(l.All()) {
		return l
	}
	era := all[len(all)-1].Era
	if l != nil {
		era = l.era
	}
	return chain(all, era)
}

// In is l where another era is in force.
func (l *Laws) In(era int64) *Laws {
	if l == nil || l.era == era {
		return l
	}
	return chain(l.all, era)
}

// chain finds out which laws are in force: from the newest of the era back, each with the number of slots that its successor names.
func chain(all []Law, era int64) *Laws {
	l := &Laws{all: all, era: era, cuts: make([]int64, len(all)), live: make([]bool, len(all))}
	i := len(all) - 1
	for i >= 0 && all[i].Era != era {
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

// Trim is l without what was over before a time of its era, µs, and without later eras that are not in force.
func (l *Laws) Trim(before int64) *Laws {
	first, end := 0, 0
	for i := range l.All() {
		if l.live[i] {
			if end = i + 1; l.all[i].Era == l.era && l.all[i].T0 <= before {
				first = i
			}
		}
	}
	if first == 0 && end == len(l.All()) {
		return l
	}
	return chain(slices.Clone(l.all[first:end]), l.era)
}

// Live tells whether a law is known and in force in its time.
func (l *Laws) Live(id int64) bool {
	i, ok := l.Index(id)
	return ok && l.live[i]
}

// Since are the laws with higher numbers.
func (l *Laws) Since(id int64) []Law {
	i, _ := l.Index(id + 1)
	return l.All()[i:]
}

// Index is where a law is or would be in All, and whether it is there.
func (l *Laws) Index(id int64) (int, bool) {
	all := l.All()
	i := sort.Search(len(all), func(i int) bool { return all[i].ID >= id })
	return i, i < len(all) && all[i].ID == id
}

// Has tells whether a law is known.
func (l *Laws) Has(id int64) bool { _, ok := l.Index(id); return ok }

// Newest is the newest law of the era in force; nil if there is none.
func (l *Laws) Newest() *Law {
	for i := range slices.Backward(l.All()) {
		if l.live[i] {
			return &l.all[i]
		}
	}
	return nil
}

// All are the laws, in order. They are not to be changed.
func (l *Laws) All() []Law {
	if l == nil {
		return nil
	}
	return l.all
}

// Cut is how many slots of the i-th of All are asked for.
func (l *Laws) Cut(i int) int64 { return l.cuts[i] }

// Recalled tells whether a slot is known not to be asked for.
func (l *Laws) Recalled(p Pos) bool {
	for i := range slices.Backward(l.All()) { // there are a few, and it is one of the last
		if l.all[i].ID == p.G {
			return p.K >= l.cuts[i]
		}
	}
	return false
}

// At is the place in All of the law in force at a time of the era, µs; before the first that of the first; −1 if there is none.
func (l *Laws) At(t int64) int {
	first := -1
	for i := range slices.Backward(l.All()) {
		if !l.live[i] || l.all[i].Era != l.era {
			continue
		}
		if first = i; l.all[i].T0 <= t {
			return i
		}
	}
	return first
}

// Pos is the first slot due at or after a time of the era, µs.
func (l *Laws) Pos(t int64) Pos {
	i := l.At(t)
	if i < 0 {
		return Pos{}
	}
	return Pos{l.all[i].ID, min(l.all[i].Before(t), l.cuts[i])}
}

// Ordinal is how many slots are asked for before a position. Those of one law after the other have ordinals in a row:
//
//	base of a law = base of the one before + its cut
func (l *Laws) Ordinal(p Pos) int64 {
	for i, _ := l.Index(p.G); i < len(l.All()); i++ {
		switch g := &l.all[i]; {
		case !l.live[i]:
		case g.ID == p.G:
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
