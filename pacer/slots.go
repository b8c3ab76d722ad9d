package pacer

import "math"

// Slot is permission for one request.
type Slot struct {
	Generation, Number int64
	Due                int64 // ns of the Redis clock
	Permit             bool  // of the worker's permit: without a number of the budget
	Yielded            bool  // not to be sent: a suspect's permit takes its place
}

// Slots is one shard's part of all that its worker holds, in the order of due times: leased ranges, which overlap at a rate change
// or where a frame was leased in several calls, and the permit. There are a few of them, so the next slot is found by looking
// at each; where it was found is remembered until another one has a slot that is due no later than the next there. Used by one goroutine; NewSlots makes it.
type Slots struct {
	part, parts int
	held        []Cursor // leased
	permits     []Cursor
	next        *Cursor // where the least due slot is; nil = it is not known
	nextPermit  bool
	others      int64 // when the first slot of all the others is due
}

// NewSlots is part `part` of `parts`, empty.
func NewSlots(part, parts int) Slots { return Slots{part: part, parts: parts} }

// Lease adds a range.
func (s *Slots) Lease(r Range) {
	if c := r.Cursor(s.part, s.parts); c.Ok() {
		s.held = append(s.held, c)
		s.next = nil
	}
}

// Permit replaces the permits before, of which at most one is in force. The new ones go on behind the instant after, ns of the Redis clock,
// when the last slot of a permit was due that was sent; 0 = none was.
func (s *Slots) Permit(ps []Permit, after int64) {
	s.permits, s.next = s.permits[:0], nil
	for _, p := range ps {
		if after > 0 {
			p.From = max(p.From, after/1000+1)
		}
		if c := p.Range().Cursor(s.part, s.parts); c.Ok() {
			s.permits = append(s.permits, c)
		}
	}
}

// Empty tells whether nothing leased is left.
func (s *Slots) Empty() bool { return len(s.held) == 0 }

// Leased counts the leased slots that are left. It walks them all.
func (s *Slots) Leased() (n int64) {
	for _, c := range s.held {
		for ; c.Ok(); c.Next() {
			n++
		}
	}
	return n
}

// Next makes x the slot least due, of those due at once a leased one; false if there is none, and x stays. x is written in its place, field by
// field: of a result the compiler makes copies at once, and to read what was written a moment ago in other sizes stalls the processor for some 5 ns.
func (s *Slots) Next(x *Slot) bool {
	if s.next == nil {
		s.look()
	}
	if s.next == nil {
		return false
	}
	x.Generation, x.Number, x.Due = s.next.Generation(), s.next.Slot(), s.next.Due()
	x.Permit, x.Yielded = s.nextPermit, !s.nextPermit && s.next.Yielded()
	return true
}

// look finds the least due slot, and when that of all others is due.
func (s *Slots) look() {
	s.others = math.MaxInt64
	for i := range s.held {
		s.compare(&s.held[i], false)
	}
	for i := range s.permits {
		s.compare(&s.permits[i], true)
	}
}

func (s *Slots) compare(c *Cursor, permit bool) {
	if s.next != nil && c.Due() >= s.next.Due() {
		s.others = min(s.others, c.Due())
		return
	}
	if s.next != nil {
		s.others = s.next.Due()
	}
	s.next, s.nextPermit = c, permit
}

// Pop removes the slot that Next found. Nothing may come between the two.
func (s *Slots) Pop() {
	c, from := s.next, &s.held
	if s.nextPermit {
		from = &s.permits
	}
	if c.Next(); !c.Ok() {
		last := len(*from) - 1
		*c = (*from)[last]
		*from = (*from)[:last]
		s.next = nil
	} else if c.Due() >= s.others {
		s.next = nil
	}
}
