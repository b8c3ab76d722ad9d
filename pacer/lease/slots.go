package lease

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
)

// never is later than each due time, ns.
const never = math.MaxInt64

// Slots are those of one shard, in the order of due times, by the newest View that it has taken up. Each slot is
// given out once, whatever the views were before: each range has a cursor, which never goes back. One goroutine uses
// it. Make it with NewSlots.
type Slots struct {
	shard, shards int64
	view          *View
	cursors       []cursor
	next          *cursor // of the slot due first; nil = not known
	others        int64   // when the first slot of all other cursors is due, ns
	beyond        int64
	deduplicated  int64
	unique        bool
	early         []int64            // with Unique: ordinals of the slots that beyond counts, ascending
	unsent        map[int64]struct{} // those of them that were not sent
	dropped       map[int64]int64    // ordinals of slots that were too late, and their laws
}

// Bounds of what Again knows.
const (
	mostEarly = 1 << 20 // ordinals; later ones are not kept
	passed    = 100_000 // ordinals after which one is forgotten: a range may come back for a while

	mostDropped = 1 << 16 // ordinals; then all are forgotten, and count as sent
)

// cursor walks those slots of one range that belong to this shard.
type cursor struct {
	lo, hi    int64
	id        int   // of an Ending; 0 = the range is held
	inherited bool  // an old cursor was in this range
	apart     bool  // of an Ending that is still there: it counts what it has decided
	end       Pos   // from here on the range belongs to another worker; endless() = it is held
	p         int64 // slots due then or later are not leased, µs
	next      Pos   // all slots before are decided
	from      Pos   // those from here on by this cursor, and earlier ones elsewhere

	law  int // index of its law in the view's laws; −1 = there is no slot
	stop int64
	walk circle.Walk
	due  int64
}

// endless is the end of a range that is not given up.
func endless() Pos { return Pos{math.MaxInt64, 0} }

// NewSlots returns shard `shard` of `shards`, with no slots.
func NewSlots(shard, shards int) *Slots {
	return &Slots{shard: int64(shard), shards: int64(shards), view: &View{}}
}

// Version returns that of the View in force.
func (s *Slots) Version() int { return s.view.Version }

// View returns the one in force.
func (s *Slots) View() *View { return s.view }

// Beyond counts slots that Pop took before the shard knew that their law ends before them.
func (s *Slots) Beyond() int64 { return s.beyond }

// Deduplicated counts slots that Again has found.
func (s *Slots) Deduplicated() int64 { return s.deduplicated }

// Unique makes the shard keep which ordinals Pop took beyond the end of their law, for Again. Call it before Take.
func (s *Slots) Unique() { s.unique = true }

// Again reports whether Pop has already taken a slot with the ordinal of this one, which is that of Next. A law ended
// before that slot, and the shard had not received that yet: so the laws ask for the same ordinal again. If the caller
// then sends nothing for this slot, no ordinal is sent twice. The slot taken too early counts in its place.
func (s *Slots) Again(x *pacer.Slot) bool {
	if len(s.early) == 0 {
		return false
	}
	if s.early[0]+passed < x.Ordinal {
		s.early = s.early[1:]
	}
	_, taken := slices.BinarySearch(s.early, x.Ordinal)
	_, unsent := s.unsent[x.Ordinal]
	if _, dropped := s.dropped[x.Ordinal]; unsent || dropped || !taken {
		return false
	}
	s.deduplicated++
	return true
}

// Unsent notes a slot that Pop took and that was not sent, because its law ended before it. The slot that has its
// ordinal next is then not found by Again.
func (s *Slots) Unsent(x *pacer.Slot) {
	if s.unsent == nil {
		s.unsent = map[int64]struct{}{}
	}
	s.unsent[x.Ordinal] = struct{}{}
}

// Dropped is Unsent for a slot that Pop takes next, or has taken, and that is too late to be sent. Its law may turn out to
// have ended before it.
func (s *Slots) Dropped(x *pacer.Slot) {
	if s.dropped == nil {
		s.dropped = map[int64]int64{}
	}
	if len(s.dropped) >= mostDropped {
		clear(s.dropped)
	}
	s.dropped[x.Ordinal] = x.Law
}

// Take goes by another View. It ignores one that is not newer. A slot that only the new View admits is given out,
// even if it is late. The caller first takes what is due by the View before.
func (s *Slots) Take(v *View) {
	if v.Version <= s.view.Version && s.view.Version > 0 {
		return
	}
	if v.Laws != s.view.Laws {
		s.overrun(v.Laws)
	}
	old := s.cursors
	s.view, s.cursors, s.next = v, nil, nil
	for i := range old {
		old[i].apart = slices.ContainsFunc(v.Ending, func(e Ending) bool { return e.id == old[i].id })
	}
	for _, x := range v.Held {
		s.inherit(old, cursor{lo: x.Lo, hi: x.Hi, next: x.From, from: x.From, end: endless(), p: v.P})
	}
	for _, e := range v.Ending {
		s.inherit(old, cursor{lo: e.Lo, hi: e.Hi, id: e.id, next: e.From, end: e.End, p: e.P})
	}
	// A law that ends before what is known now is known. So from matters only while it is later, and keeps neighbours apart
	// no longer than that.
	known := v.Laws.Pos(v.Now)
	for i := range s.cursors {
		if c := &s.cursors[i]; !known.Less(c.from) {
			c.from = Pos{}
		}
	}
	s.unite()
}

// Learn goes by the laws of another View, and by the ranges and the lease of the View in force. A worker that was away
// may receive laws together with the loss of its ranges. Until its lease ended, slots of these laws were its own. A
// range that only the other View gives up ends where that View says: this may be before these laws. The caller then
// takes what is due, and goes by the whole View.
func (s *Slots) Learn(other *View) {
	v := *s.view
	if v.Laws == other.Laws {
		return
	}
	s.overrun(other.Laws)
	v.Laws = other.Laws
	s.view, s.next = &v, nil
	for _, e := range other.Ending {
		if !slices.ContainsFunc(v.Ending, func(known Ending) bool { return known.id == e.id }) {
			s.bound(e)
		}
	}
	for i := range s.cursors {
		s.seek(&s.cursors[i])
	}
}

// bound ends the cursors of a range where the range is given up.
func (s *Slots) bound(e Ending) {
	var out []cursor
	for _, c := range s.cursors {
		lo, hi := max(c.lo, e.Lo), min(c.hi, e.Hi)
		if c.id != 0 || lo >= hi {
			out = append(out, c)
			continue
		}
		before, in, after := c, c, c
		before.hi, in.lo, in.hi, after.lo, in.end = lo, lo, hi, hi, e.End // no cursor of a held range has an end
		for _, c := range []cursor{before, in, after} {
			if c.lo < c.hi {
				out = append(out, c)
			}
		}
	}
	s.cursors = out
}

// inherit puts cursors on a range. A cursor goes on from the old cursors that were on it, but not before the range
// was given. A range that is given up goes on behind its own cursor. A range that is held or newly given up goes on
// behind all of them: between two views of this shard it may have been given up and have come back.
func (s *Slots) inherit(old []cursor, taken cursor) {
	for _, c := range cutBehind([]cursor{taken}, old, func(o *cursor) bool { return taken.id == 0 || o.id == taken.id }) {
		if taken.id == 0 || c.inherited {
			s.put(c)
			continue
		}
		for _, c := range cutBehind([]cursor{c}, old, func(*cursor) bool { return true }) {
			s.put(c)
		}
	}
}

func (s *Slots) put(c cursor) {
	c.inherited = false
	s.seek(&c)
	s.cursors = append(s.cursors, c)
}

// cutBehind cuts cursors where matching old ones are, and moves each part behind them.
func cutBehind(parts, old []cursor, match func(*cursor) bool) []cursor {
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

// behind returns c, cut where o is, and there moved behind it.
func (c cursor) behind(o *cursor) []cursor {
	lo, hi := max(c.lo, o.lo), min(c.hi, o.hi)
	if lo >= hi {
		return []cursor{c}
	}
	before, in, after := c, c, c
	before.hi, after.lo = lo, hi
	in.lo, in.hi, in.next, in.inherited = lo, hi, Later(c.next, o.next), true
	switch {
	case c.id == 0 && o.apart:
		in.from = Later(in.from, o.next)
	case !o.next.Less(c.from):
		in.from = o.from
	}
	return slices.DeleteFunc([]cursor{before, in, after}, func(c cursor) bool { return c.lo >= c.hi })
}

// unite joins the cursors of neighbours with no slot between them: before the first slot of all, none has one left.
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
		c := &s.cursors[i]
		if at.Less(c.end) { // what comes behind its end is not decided here
			c.next = Later(c.next, at)
		}
	}
	slices.SortFunc(s.cursors, func(a, b cursor) int { return cmp.Compare(a.lo, b.lo) })
	out := s.cursors[:1]
	for _, c := range s.cursors[1:] {
		if l := &out[len(out)-1]; l.hi == c.lo && l.id == c.id && l.end == c.end && l.p == c.p && l.next == c.next && l.from == c.from {
			l.hi = c.hi
			s.seek(l)
		} else {
			out = append(out, c)
		}
	}
	s.cursors = out
}

// seek goes to the first leased slot at or after next. In one clock epoch slots are due in the order of positions.
func (s *Slots) seek(c *cursor) {
	c.law, c.due = -1, never
	laws := s.view.Laws
	first, _ := laws.Index(c.next.Law)
	for i := first; i < len(laws.All()); i++ {
		g, from := &laws.all[i], int64(0)
		if g.ID > c.end.Law {
			return
		}
		if g.ClockEpoch != s.view.ClockEpoch || !laws.live[i] {
			continue
		}
		if g.ID == c.next.Law {
			from = c.next.K
		}
		stop := laws.cuts[i]
		if g.ID == c.end.Law {
			stop = min(stop, c.end.K)
		}
		if stop = min(stop, g.Before(c.p)); from < stop {
			c.law, c.stop, c.walk = i, g.Base+stop, circleRange(c.lo, c.hi).Walk(g.Base+from)
			if s.stand(c) {
				return
			}
		}
	}
}

// stand goes on from where the walk is to the next slot of this shard. It returns false if the law has no more.
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

// Next sets x to the slot due first. It returns false if no slot is leased, and leaves x as it is.
func (s *Slots) Next(x *pacer.Slot) bool {
	if s.next == nil {
		s.look()
	}
	c := s.next
	if c == nil {
		return false
	}
	g := &s.view.Laws.all[c.law]
	q := c.walk.Ordinal()
	x.Law, x.Number, x.Ordinal, x.Due = g.ID, q-g.Base, q, c.due
	return true
}

// look finds the slot due first, and when the first of all other cursors is due.
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

// Pop removes the slot that Next found. No other call may come between the two.
func (s *Slots) Pop() {
	c := s.next
	if len(s.unsent) > 0 {
		delete(s.unsent, c.walk.Ordinal())
	}
	g := &s.view.Laws.all[c.law]
	if len(s.dropped) > 0 {
		if q := c.walk.Ordinal(); s.dropped[q] != g.ID { // else it is this slot that is dropped
			delete(s.dropped, q)
		}
	}
	c.next = Pos{g.ID, c.walk.Ordinal() - g.Base + 1}
	c.walk.Next()
	if !s.stand(c) {
		s.seek(c)
	}
	if c.law < 0 || c.due >= s.others {
		s.next = nil
	}
}

// overrun counts slots that are already taken and that the new laws do not ask for. They may lie in several laws.
func (s *Slots) overrun(laws *Laws) {
	old, known := s.view.Laws, len(s.early)
	for i := range s.cursors {
		c := &s.cursors[i]
		last, ok := old.Index(c.next.Law)
		for k := last; ok && k >= 0; k-- {
			if !old.live[k] {
				continue
			}
			taken := old.cuts[k]
			if k == last {
				taken = min(taken, c.next.K)
			}
			j, there := laws.Index(old.all[k].ID)
			if !there || old.all[k].ID < c.from.Law || laws.cuts[j] >= taken && k < last {
				break // nor do earlier laws change
			}
			first := laws.cuts[j]
			if old.all[k].ID == c.from.Law {
				first = max(first, c.from.K)
			}
			s.countBeyond(c, old.all[k].Base+first, old.all[k].Base+taken)
		}
	}
	if len(s.early) > known {
		slices.Sort(s.early)
		s.early = slices.Compact(s.early)
	}
}

// countBeyond counts the slots of a cursor from one ordinal to another.
func (s *Slots) countBeyond(c *cursor, from, to int64) {
	for w := circleRange(c.lo, c.hi).Walk(from); w.Ordinal() < to; w.Next() {
		if circle.Shard(w.Ordinal(), s.shards) != s.shard {
			continue
		}
		if s.beyond++; s.unique && len(s.early) < mostEarly {
			s.early = append(s.early, w.Ordinal())
		}
	}
}
