package pacer

// Slot is permission for one request.
type Slot struct {
	Generation, Number int64
	Due                int64 // ns of the Redis clock
	Permit             bool  // of the worker's permit: without a number of the budget
	Yielded            bool  // not to be sent: a suspect's permit takes its place
}

// Slots is one shard's part of all that its worker holds, in the order of due times: leased ranges, which overlap at a rate change
// or where a frame was leased in several calls, and the permit. There are a few of them, so the next slot is found by looking
// at each. Used by one goroutine; NewSlots makes it.
type Slots struct {
	part, parts int
	held        []Cursor // leased
	permits     []Cursor
	next        *Cursor // what Next returned, for Pop
	nextPermit  bool
}

// NewSlots is part `part` of `parts`, empty.
func NewSlots(part, parts int) Slots { return Slots{part: part, parts: parts} }

// Lease adds a range.
func (s *Slots) Lease(r Range) {
	if c := r.Cursor(s.part, s.parts); c.Ok() {
		s.held = append(s.held, c)
	}
}

// Permit replaces the permits before, of which at most one is in force. The new ones go on behind the instant after, ns of the Redis clock,
// when the last slot of a permit was due that was sent; 0 = none was.
func (s *Slots) Permit(ps []Permit, after int64) {
	s.permits = s.permits[:0]
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

// Next is the slot least due, if there is one.
func (s *Slots) Next() (Slot, bool) {
	s.next, s.nextPermit = s.least()
	if s.next == nil {
		return Slot{}, false
	}
	return Slot{
		Generation: s.next.Generation(), Number: s.next.Slot(), Due: s.next.Due(),
		Permit: s.nextPermit, Yielded: !s.nextPermit && s.next.Yielded(),
	}, true
}

func (s *Slots) least() (least *Cursor, permit bool) {
	for i := range s.held {
		if c := &s.held[i]; least == nil || c.Due() < least.Due() {
			least = c
		}
	}
	for i := range s.permits {
		if c := &s.permits[i]; least == nil || c.Due() < least.Due() {
			least, permit = c, true
		}
	}
	return least, permit
}

// Pop removes the slot that Next returned. Nothing may come between the two.
func (s *Slots) Pop() {
	c, from := s.next, &s.held
	if s.nextPermit {
		from = &s.permits
	}
	if c.Next(); c.Ok() {
		return
	}
	last := len(*from) - 1
	*c = (*from)[last]
	*from = (*from)[:last]
}
