package arcs

import (
	"slices"

	"github.com/loadctl/loadctl/pacer/circle"
)

// Shard is the part of a worker that sends. It goes by a View, which it takes up when it gets to it.
type Shard struct {
	Index, Shards int64
	// Fire decides on a slot, due in ns: at its time, or if at is not 0, only then, µs.
	Fire func(law *Law, k, due, at int64)

	view View
	at   int64 // all due before is decided, µs of the era
	done []run // what was decided and is not long past: not what the view admits, which may have become less in between and more again
}

// At is before when all is decided.
func (s *Shard) At() int64 { return s.at }

// Version is that of the View in force here.
func (s *Shard) Version() int { return s.view.Version }

// run is a stretch of slots of one law that a View admits on the units [lo, hi).
type run struct {
	lo, hi int64
	law    int
	id     int64
	a, b   int64
	due    int64 // when its last slot is due, µs
}

// runs are all stretches that a View admits before a time.
func (v *View) runs(from, to int64) (out []run) {
	for i := range v.Laws.All() {
		g := &v.Laws.all[i]
		if g.Era != v.Era && !v.Without.Era || g.T0 >= to || g.K == 0 {
			continue
		}
		first, last := g.Before(from), min(v.Laws.cuts[i], g.Before(to))
		if first >= last {
			continue
		}
		add := func(s Seg, p int64, end *Pos) {
			a, b := first, last
			if g.ID < s.From.G || end != nil && g.ID > end.G {
				return
			}
			if g.ID == s.From.G {
				a = max(a, s.From.K)
			}
			if end != nil && g.ID == end.G {
				b = min(b, end.K)
			}
			if !v.Without.Due {
				b = min(b, g.Before(p))
			}
			if a < b {
				out = append(out, run{lo: s.Lo, hi: s.Hi, law: i, id: g.ID, a: a, b: b})
			}
		}
		for _, s := range v.Held {
			add(s, v.P, nil)
		}
		for _, e := range v.Ending {
			p := e.P
			if v.Without.ListP {
				p = v.P
			}
			add(e.Seg, p, &e.End)
		}
	}
	return out
}

// Advance decides in time all that is due before now.
func (s *Shard) Advance(now int64) { s.advance(now, 0) }

// Wake decides now all that is due before: the process was stopped.
func (s *Shard) Wake(now int64) { s.advance(now, now) }

func (s *Shard) advance(now, at int64) {
	if now <= s.at {
		return
	}
	for _, x := range s.view.runs(s.at, now) {
		s.walk(&s.view, x, at)
	}
	s.at = now
	s.done = slices.DeleteFunc(s.done, func(x run) bool { return x.due < now-20*catchUp })
}

// walk decides on the slots of a stretch.
func (s *Shard) walk(v *View, x run, at int64) {
	g := &v.Laws.all[x.law]
	x.due = g.Due(x.b-1) / 1000
	s.done = append(s.done, x)
	for w := arc(x.lo, x.hi).Walk(g.Base + x.a); w.Ordinal() < g.Base+x.b; w.Next() {
		if s.mine(v, x, w.Ordinal()) {
			k := w.Ordinal() - g.Base
			s.Fire(g, k, g.Due(k), at)
		}
	}
}

// mine tells whether an ordinal of a piece is of this shard.
func (s *Shard) mine(v *View, x run, q int64) bool {
	if v.Without.Fixed {
		return (circle.At(q)-x.lo)*s.Shards/(x.hi-x.lo) == s.Index
	}
	return circle.Shard(q, s.Shards) == s.Index
}

// Adopt goes by another View from a time on. What that admits before, and the one until now did not, is decided at once.
func (s *Shard) Adopt(v View, now int64) {
	if s.view.Version >= v.Version { // never back to an older one: it would decide again
		s.Advance(now)
		return
	}
	if v.Era != s.view.Era { // another clock
		s.view, s.at = View{Version: s.view.Version, Era: v.Era, Laws: v.Laws, Without: v.Without}, now
	}
	s.Advance(now)
	old := slices.Clone(s.done)
	if v.Without.Back {
		old = s.view.runs(0, s.at)
	}
	s.view = v
	for _, x := range v.runs(s.at-10*catchUp, s.at) {
		for _, rest := range undecided(x, old) {
			s.walk(&v, rest, max(now, s.at))
		}
	}
}

// undecided is what of a stretch is in none of those that were decided.
func undecided(x run, decided []run) []run {
	todo := []run{x}
	for _, d := range decided {
		if d.id != x.id {
			continue
		}
		var rest []run
		for _, t := range todo {
			lo, hi, a, b := max(t.lo, d.lo), min(t.hi, d.hi), max(t.a, d.a), min(t.b, d.b)
			if lo >= hi || a >= b {
				rest = append(rest, t)
				continue
			}
			left, right, before, after := t, t, t, t
			left.hi, right.lo = lo, hi
			before.lo, before.hi, before.b = lo, hi, a
			after.lo, after.hi, after.a = lo, hi, b
			for _, p := range []run{left, right, before, after} {
				if p.lo < p.hi && p.a < p.b {
					rest = append(rest, p)
				}
			}
		}
		todo = rest
	}
	return todo
}
