package lease

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
)

// never is a time that no slot is due at, ns.
const never = math.MaxInt64

// Slots are those of one shard, in the order of due times, by the View that it has taken up last. Each is given out once, whatever the views
// were in between: a cursor stands in each piece and never goes back. Used by one goroutine; NewSlots makes it.
type Slots struct {
	shard, shards int64
	view          *View
	cursors       []cursor
	next          *cursor // where the least due slot is; nil = it is not known
	others        int64   // when the first slot of all other cursors is due
	beyond        int64
}

// cursor walks the slots of one piece that are this shard's.
type cursor struct {
	lo, hi int64
	id     int   // of an Ending; 0 = the piece is held
	met    bool  // it goes on from where another one stood
	end    Pos   // from here on the piece is somebody else's; endless = it is held
	p      int64 // what is due then or later is not promised, µs
	next   Pos   // all slots before are decided

	law  int // where it stands, in the view's laws; −1 = there is no slot
	stop int64
	walk circle.Walk
	due  int64
}

// held is the end of a piece that is not given up.
func held() Pos { return Pos{math.MaxInt64, 0} }

// NewSlots is shard `shard` of `shards`, without any.
func NewSlots(shard, shards int) *Slots {
	return &Slots{shard: int64(shard), shards: int64(shards), view: &View{}}
}

// Version is that of the View in force.
func (s *Slots) Version() int { return s.view.Version }

// View is the one in force.
func (s *Slots) View() *View { return s.view }

// Beyond counts the slots that Pop took before it was known that their generation ends before them.
func (s *Slots) Beyond() int64 { return s.beyond }

// Take goes by another View, and leaves alone one that is not newer. What it admits and no view before did is given out, late as it may be. What is due
// by the view before is to be taken before.
func (s *Slots) Take(v *View) {
	if v.Version <= s.view.Version && s.view.Version > 0 {
		return
	}
	if v.Laws != s.view.Laws {
		s.overrun(v.Laws)
	}
	old := s.cursors
	s.view, s.cursors, s.next = v, nil, nil
	for _, x := range v.Held {
		s.inherit(old, cursor{lo: x.Lo, hi: x.Hi, next: x.From, end: held(), p: v.P})
	}
	for _, e := range v.Ending {
		s.inherit(old, cursor{lo: e.Lo, hi: e.Hi, id: e.id, next: e.From, end: e.End, p: e.P})
	}
	s.unite()
}

// inherit puts cursors on a piece. It goes on from where those stood that were on it, but not before it was given. What is given up goes on behind its
// own cursor. What is held, or newly given up, goes on behind all of them: between two views that this shard takes up it may have been given up and have
// come back.
func (s *Slots) inherit(old []cursor, piece cursor) {
	for _, c := range meet([]cursor{piece}, old, func(o *cursor) bool { return piece.id == 0 || o.id == piece.id }) {
		if piece.id == 0 || c.met {
			s.put(c)
			continue
		}
		for _, c := range meet([]cursor{c}, old, func(*cursor) bool { return true }) {
			s.put(c)
		}
	}
}

func (s *Slots) put(c cursor) {
	c.met = false
	s.seek(&c)
	s.cursors = append(s.cursors, c)
}

// meet cuts cursors where old ones are that match, and takes each part behind them.
func meet(parts, old []cursor, match func(*cursor) bool) []cursor {
	for i := range old {
		o := &old[i]
		if !match(o) || !slices.ContainsFunc(parts, func(c cursor) bool { return o.lo < c.hi && c.lo < o.hi }) {
			continue
		}
		var cut []cursor
		for _, c := range parts {
			cut = append(cut, c.behind(o)...)
		}
		parts = cut
	}
	return parts
}

// behind is c, cut where o is, and there behind it.
func (c cursor) behind(o *cursor) []cursor {
	lo, hi := max(c.lo, o.lo), min(c.hi, o.hi)
	if lo >= hi {
		return []cursor{c}
	}
	before, in, after := c, c, c
	before.hi, after.lo = lo, hi
	in.lo, in.hi, in.next, in.met = lo, hi, Later(c.next, o.next), true
	return slices.DeleteFunc([]cursor{before, in, after}, func(c cursor) bool { return c.lo >= c.hi })
}

// unite makes one cursor of neighbours that no slot is between: none is left of theirs before the first slot of all.
func (s *Slots) unite() {
	if len(s.cursors) < 2 {
		return
	}
	first := int64(never)
	for i := range s.cursors {
		first = min(first, s.cursors[i].due)
	}
	if first == never {
		return
	}
	at := s.view.Laws.Pos(first / 1000)
	for i := range s.cursors {
		s.cursors[i].next = Later(s.cursors[i].next, at)
	}
	slices.SortFunc(s.cursors, func(a, b cursor) int { return cmp.Compare(a.lo, b.lo) })
	out := s.cursors[:1]
	for _, c := range s.cursors[1:] {
		if l := &out[len(out)-1]; l.hi == c.lo && l.id == c.id && l.end == c.end && l.p == c.p && l.next == c.next {
			l.hi = c.hi
			s.seek(l)
		} else {
			out = append(out, c)
		}
	}
	s.cursors = out
}

// seek goes to the first slot at or after next that is promised. Slots of the laws of one era are due in the order of positions.
func (s *Slots) seek(c *cursor) {
	c.law, c.due = -1, never
	laws := s.view.Laws
	first, _ := laws.Index(c.next.G)
	for i := first; i < len(laws.All()); i++ {
		g, from := &laws.all[i], int64(0)
		if g.ID > c.end.G {
			return
		}
		if g.Era != s.view.Era || !laws.live[i] {
			continue
		}
		if g.ID == c.next.G {
			from = c.next.K
		}
		stop := laws.cuts[i]
		if g.ID == c.end.G {
			stop = min(stop, c.end.K)
		}
		if stop = min(stop, g.Before(c.p)); from < stop {
			c.law, c.stop, c.walk = i, g.Base+stop, arc(c.lo, c.hi).Walk(g.Base+from)
			if s.stand(c) {
				return
			}
		}
	}
}

// stand goes on to the next slot of this shard, from where the walk is. It returns false if the law has no more.
func (s *Slots) stand(c *cursor) bool {
	g := &s.view.Laws.all[c.law]
	for ; c.walk.Ordinal() < c.stop; c.walk.Next() {
		if q := c.walk.Ordinal(); s.shards == 1 || circle.Shard(q, s.shards) == s.shard {
			c.due = g.Due(q - g.Base)
			return true
		}
	}
	c.law, c.due = -1, never
	return false
}

// Next makes x the slot least due; false if there is none that is promised, and x stays.
func (s *Slots) Next(x *pacer.Slot) bool {
	if s.next == nil {
		s.look()
	}
	c := s.next
	if c == nil {
		return false
	}
	g := &s.view.Laws.all[c.law]
	x.Generation, x.Number, x.Due = g.ID, c.walk.Ordinal()-g.Base, c.due
	return true
}

// look finds the least due slot, and when that of all others is due.
func (s *Slots) look() {
	s.others = never
	for i := range s.cursors {
		c := &s.cursors[i]
		switch {
		case c.law < 0:
		case s.next == nil:
			s.next = c
		case c.due < s.next.due:
			s.others, s.next = s.next.due, c
		default:
			s.others = min(s.others, c.due)
		}
	}
}

// Pop removes the slot that Next found. Nothing may come between the two.
func (s *Slots) Pop() {
	c := s.next
	g := &s.view.Laws.all[c.law]
	c.next = Pos{g.ID, c.walk.Ordinal() - g.Base + 1}
	c.walk.Next()
	if !s.stand(c) {
		s.seek(c)
	}
	if c.law < 0 || c.due >= s.others {
		s.next = nil
	}
}

// overrun counts what was taken already and is not asked for by the laws that come.
func (s *Slots) overrun(laws *Laws) {
	for i := range s.cursors {
		c := &s.cursors[i]
		j, known := laws.Index(c.next.G)
		if !known || laws.cuts[j] >= c.next.K {
			continue
		}
		before, ok := s.view.Laws.Index(c.next.G)
		if !ok {
			continue
		}
		g := &laws.all[j]
		from := laws.cuts[j]
		for w := arc(c.lo, c.hi).Walk(g.Base + from); w.Ordinal() < g.Base+min(c.next.K, s.view.Laws.cuts[before]); w.Next() {
			if circle.Shard(w.Ordinal(), s.shards) == s.shard {
				s.beyond++
			}
		}
	}
}
