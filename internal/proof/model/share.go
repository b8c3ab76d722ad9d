package model

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

// level returns the places of the member's target per weight.
func (m *Member) level() float64 { return float64(m.target.Len()) / float64(m.Weight) }

// staying returns the members that share the circle.
func (r *Run) staying() (out []*Member) {
	for _, m := range r.present() {
		if !m.leaving {
			out = append(out, m)
		}
	}
	return out
}

// share returns the share of a weight in a sum of weights, in places.
func share(weight, sum int64) int64 {
	return int64(math.Floor(float64(circle.Units*weight) / float64(sum)))
}

func weights(ms []*Member) (w int64) {
	for _, m := range ms {
		w += m.Weight
	}
	return w
}

// addTarget adds unassigned ranges to a member's target.
func (r *Run) addTarget(m *Member, units lease.Ranges) {
	r.unassigned = r.unassigned.Minus(units)
	m.target = m.target.Union(units)
}

// unassign gives others what a member was to hold and does not. So a member that leaves keeps its target until it
// releases a range. Then the range is free, and who gets it calls once.
func (r *Run) unassign(m *Member) {
	units := m.target.Minus(m.held)
	r.unassigned = r.unassigned.Union(units)
	m.target = m.target.Minus(units)
	r.assign()
}

// gives returns the ranges that a member holds and is to release.
func (m *Member) gives() lease.Ranges {
	if m.leaving {
		return m.held
	}
	return m.held.Minus(m.target)
}

// few returns how many members share an amount: 16 times as many as it has mean shares, and at least 16.
func few(amount int64, n int) int {
	return int(min(int64(n), max(16, 16*amount*int64(n)/circle.Units)))
}

// welcome gives a newcomer its share. The most loaded members go down to one level.
func (r *Run) welcome(m *Member) {
	r.assign()
	all := r.staying()
	need := share(m.Weight, weights(all)) - m.target.Len()
	donors := slices.DeleteFunc(all, func(x *Member) bool { return x == m })
	slices.SortFunc(donors, func(a, b *Member) int {
		return cmp.Or(cmp.Compare(b.level(), a.level()), strings.Compare(b.Name, a.Name))
	})
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

// move moves places from one member's target to another's: whole small ranges first, then a part of the next one.
func (r *Run) move(from, to *Member, amount int64) (moved int64) {
	loose := slices.Clone(from.target)
	slices.SortFunc(loose, func(a, b lease.Range) int {
		return cmp.Or(cmp.Compare(a.Hi-a.Lo, b.Hi-b.Lo), cmp.Compare(a.Lo, b.Lo))
	})
	var units lease.Ranges
	for _, s := range loose {
		if moved >= amount {
			break
		}
		s.Hi = min(s.Hi, s.Lo+amount-moved)
		units = units.Plus(lease.Ranges{s})
		moved += s.Hi - s.Lo
	}
	from.target = from.target.Minus(units)
	to.target = to.target.Union(units)
	if moved > 0 {
		r.woken[from.Name], r.woken[to.Name] = true, true
	}
	return moved
}

// someUnassigned returns, in a large fleet, as many unassigned ranges as a member has on average. The others come with the next
// calls.
func (r *Run) someUnassigned(n int) (some lease.Ranges) {
	most := int64(circle.Units)
	if n > atOnce {
		most = circle.Units / int64(n)
	}
	for _, s := range r.unassigned[:min(len(r.unassigned), atOnce)] {
		if most <= 0 {
			break
		}
		s.Hi = min(s.Hi, s.Lo+most)
		most -= s.Hi - s.Lo
		some = append(some, s)
	}
	return some
}

// assign gives unassigned ranges to the least loaded members, up to one level, those next to their own ranges first. When the run is
// over nobody needs them, and thousands may leave.
func (r *Run) assign() {
	all := r.staying()
	if r.laws == nil || r.grace > 0 || len(all) == 0 || len(r.unassigned) == 0 {
		return
	}
	if l := r.laws.Newest(); l.Phase >= lease.Stopped && l.T0 <= r.now {
		return
	}
	some := r.someUnassigned(len(all))
	total := some.Len()
	slices.SortFunc(all, func(a, b *Member) int {
		return cmp.Or(cmp.Compare(a.level(), b.level()), strings.Compare(a.Name, b.Name))
	})
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
		some = r.giveUnassigned(m, some, int64(level*float64(m.Weight))-m.target.Len(), true)
	}
	for _, m := range all {
		some = r.giveUnassigned(m, some, int64(level*float64(m.Weight))-m.target.Len(), false)
	}
	r.giveUnassigned(all[0], some, some.Len(), false)
}

// giveUnassigned gives a member an amount of some unassigned ranges, and returns the others. beside: only those next to its own
// ranges.
func (r *Run) giveUnassigned(m *Member, some lease.Ranges, amount int64, beside bool) lease.Ranges {
	var got lease.Ranges
	for _, s := range some {
		if amount <= 0 {
			break
		}
		if beside && !slices.ContainsFunc(m.target, func(x lease.Range) bool { return x.Hi == s.Lo }) {
			continue
		}
		s.Hi = min(s.Hi, s.Lo+amount)
		got = append(got, s)
		amount -= s.Hi - s.Lo
	}
	if len(got) > 0 {
		r.addTarget(m, got)
		r.woken[m.Name] = true
	}
	return some.Minus(got)
}

// rebalance moves places from the most loaded to the least loaded member, if one is more than 8 % off the mean.
func (r *Run) rebalance() {
	if r.grace > 0 {
		return
	}
	for range 8 {
		all := r.staying()
		if len(all) < 2 {
			return
		}
		mean := float64(circle.Units) / float64(weights(all))
		byLevel := func(a, b *Member) int {
			return cmp.Or(cmp.Compare(a.level(), b.level()), strings.Compare(a.Name, b.Name))
		}
		least, most := slices.MinFunc(all, byLevel), slices.MaxFunc(all, byLevel)
		if least.level() > 0.92*mean && most.level() < 1.08*mean {
			return
		}
		amount := min((most.level()-mean)*float64(most.Weight), (mean-least.level())*float64(least.Weight))
		if r.move(most, least, max(1, int64(amount))) == 0 {
			return
		}
	}
}
