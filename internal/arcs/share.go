package arcs

import (
	"cmp"
	"slices"

	"github.com/loadctl/loadctl/pacer/circle"
)

// A level is how many units a weight of 1 has.
func (m *Member) level() float64 { return float64(m.target.Len()) / float64(m.Weight) }

// staying are the members that share the circle.
func (r *Run) staying() (out []*Member) {
	for _, m := range r.present() {
		if !m.leaving {
			out = append(out, m)
		}
	}
	return out
}

func weights(ms []*Member) (w int64) {
	for _, m := range ms {
		w += m.Weight
	}
	return w
}

// orphans are the units that are nobody's target.
func (r *Run) orphans() Segs {
	var all Segs
	for _, m := range r.present() {
		all = all.plus(m.target)
	}
	return whole().minus(all)
}

// few is how many members share an amount: as many as it has shares, and sixteen times that.
func few(amount int64, n int) int {
	return int(min(int64(n), max(16, 16*amount*int64(n)/circle.Units)))
}

// welcome gives a newcomer its share: the richest go down to one level.
func (r *Run) welcome(m *Member) {
	if r.quiet == 0 {
		r.assign(r.orphans())
	}
	all := r.staying()
	need := circle.Units*m.Weight/weights(all) - m.target.Len()
	donors := slices.DeleteFunc(all, func(x *Member) bool { return x == m })
	slices.SortStableFunc(donors, func(a, b *Member) int { return cmp.Compare(b.level(), a.level()) })
	donors = donors[:few(need, len(donors))]
	level, n := 0.0, 0
	for sum, w := int64(0), int64(0); n < len(donors); n++ {
		if n > 0 && level >= donors[n].level() {
			break
		}
		sum, w = sum+donors[n].target.Len(), w+donors[n].Weight
		level = max(0, float64(sum-need)/float64(w))
	}
	for _, x := range donors[:n] {
		amount := min(need, x.target.Len()-int64(level*float64(x.Weight)))
		need -= r.move(x, m, amount)
	}
}

// move makes units of one member's target another's: whole small pieces first, then a part of the next one.
func (r *Run) move(from, to *Member, amount int64) (moved int64) {
	var fixed Segs // on its way: a name that was said is kept to
	for _, s := range r.free {
		if s.To != "" && !r.Without.Names {
			fixed = fixed.plus(Segs{s})
		}
	}
	loose := from.target.minus(fixed)
	slices.SortFunc(loose, func(a, b Seg) int {
		return cmp.Or(cmp.Compare(a.Hi-a.Lo, b.Hi-b.Lo), cmp.Compare(a.Lo, b.Lo))
	})
	var units Segs
	for _, s := range loose {
		if moved >= amount {
			break
		}
		s.Hi = min(s.Hi, s.Lo+amount-moved)
		units = units.plus(Segs{s})
		moved += s.Hi - s.Lo
	}
	from.target = from.target.minus(units)
	to.target = union(to.target, units)
	if moved > 0 {
		r.woken[from.Name], r.woken[to.Name] = true, true
	}
	return moved
}

// assign gives units that are nobody's target to the poorest, which come to one level; what lies beside their own first.
func (r *Run) assign(units Segs) {
	all := r.staying()
	total := units.Len()
	if len(all) == 0 || total == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b *Member) int { return cmp.Compare(a.level(), b.level()) })
	all = all[:few(total, len(all))]
	level, n := 0.0, 0
	for sum, w := total, int64(0); n < len(all); n++ {
		if n > 0 && level <= all[n].level() {
			break
		}
		sum, w = sum+all[n].target.Len(), w+all[n].Weight
		level = float64(sum) / float64(w)
	}
	all = all[:n]
	for _, m := range all {
		units = r.raise(m, units, int64(level*float64(m.Weight))-m.target.Len(), true)
	}
	for _, m := range all {
		units = r.raise(m, units, int64(level*float64(m.Weight))-m.target.Len(), false)
	}
	r.raise(all[0], units, units.Len(), false)
}

// raise gives a member an amount of units, and returns the rest.
func (r *Run) raise(m *Member, units Segs, amount int64, beside bool) Segs {
	var got Segs
	for _, s := range units {
		if amount <= 0 {
			break
		}
		if beside && !slices.ContainsFunc(m.target, func(x Seg) bool { return x.Hi == s.Lo }) {
			continue
		}
		s.Hi = min(s.Hi, s.Lo+amount)
		got = got.plus(Segs{s})
		amount -= s.Hi - s.Lo
	}
	m.target = union(m.target, got)
	if len(got) > 0 {
		r.woken[m.Name] = true
	}
	return units.minus(got)
}

// level moves units from the richest to the poorest, where one is more than 8 % off.
func (r *Run) level() {
	if r.quiet > 0 {
		return
	}
	r.assign(r.orphans())
	for range 8 {
		all := r.staying()
		if len(all) < 2 {
			return
		}
		mean := float64(circle.Units) / float64(weights(all))
		byLevel := func(a, b *Member) int { return cmp.Compare(a.level(), b.level()) }
		poor, rich := slices.MinFunc(all, byLevel), slices.MaxFunc(all, byLevel)
		if poor.level() > 0.92*mean && rich.level() < 1.08*mean {
			return
		}
		amount := min((rich.level()-mean)*float64(rich.Weight), (mean-poor.level())*float64(poor.Weight))
		if rich == poor || r.move(rich, poor, max(1, int64(amount))) == 0 {
			return
		}
	}
}

// dust gives the smallest pieces of members that have many to the neighbour.
func (r *Run) dust() {
	for _, m := range r.staying() {
		if len(m.target) <= 24 {
			continue
		}
		least := slices.MinFunc(m.target, func(a, b Seg) int { return cmp.Compare(a.Hi-a.Lo, b.Hi-b.Lo) })
		for _, x := range r.staying() {
			if x != m && slices.ContainsFunc(x.target, func(s Seg) bool { return s.Hi == least.Lo || s.Lo == least.Hi }) {
				r.move(m, x, least.Hi-least.Lo)
				break
			}
		}
	}
}
