package pacer

import "math"

// Range is a lease's content: the numbers First … First+N−1 of one generation. While members are cut off and may be firing
// on their permits, a part of its slots is given up in favour of those: Yield, in millionths.
type Range struct {
	Law      Law
	First, N int64
	Yield    int64
	At       int64 // no slot is due before, µs of the Redis clock: when it was granted, or that grant was to come; 0 = all are due by the law
}

// yieldUnit is the number of parts that Range.Yield counts in.
const yieldUnit = 1_000_000

// Cursor walks the slots of one shard's part of a range in order of their due times. It allocates
// nothing and is used by one goroutine. The zero value is at its end.
type Cursor struct {
	law          Law
	yield        int64
	at           int64 // no slot is due before, ns
	first, end   int64 // numbers, [first, end)
	part, parts  int64
	base, pos    int64 // the frame we are in, and the position inside it
	lo, hi       int64 // the shard's numbers inside this frame, [lo, hi)
	slot, due    int64
	ok, permuted bool
}

// Cursor walks part `part` of `parts` (0 ≤ part < parts) of the range. Each frame is divided evenly
// among the parts, in turns for what does not divide; the parts together are the whole range.
func (r Range) Cursor(part, parts int) Cursor {
	c := Cursor{law: r.Law, yield: r.Yield, at: r.At * 1000, first: r.First, end: r.First + r.N, part: int64(part), parts: int64(parts)}
	if r.N > 0 {
		c.enter(r.First &^ (r.Law.F - 1))
	}
	return c
}

// enter goes to the first slot at or after frame base.
func (c *Cursor) enter(base int64) {
	for ; base < c.end; base += c.law.F {
		lo, hi := max(c.first, base)-base, min(c.end, base+c.law.F)-base
		turn := (c.part + base/c.law.F) % c.parts
		n := hi - lo
		c.base, c.pos = base, -1
		c.lo, c.hi = lo+n*turn/c.parts, lo+n*(turn+1)/c.parts
		// A part that is the whole frame has all of its positions, which come in order of time.
		c.permuted = c.hi-c.lo < c.law.F && base+c.law.F <= c.law.K
		if c.lo < c.hi && c.step() {
			return
		}
	}
	c.ok = false
}

// step moves to the next slot of this frame that is ours. A walk over positions, testing each one's
// number, yields the slots in order of time without sorting or storing them.
func (c *Cursor) step() bool {
	if !c.permuted {
		c.pos = max(c.pos+1, c.lo)
		c.ok = c.pos < c.hi
	} else {
		for c.pos++; c.pos < c.law.F; c.pos++ {
			if a := bitrev(c.pos, c.law.F); a >= c.lo && a < c.hi {
				break
			}
		}
		c.ok = c.pos < c.law.F
	}
	if c.ok {
		c.slot = c.base + c.pos
		c.due = max(c.at, c.law.due(c.slot))
	}
	return c.ok
}

// Ok tells whether the cursor stands on a slot.
func (c *Cursor) Ok() bool { return c.ok }

// Slot is the slot the cursor stands on.
func (c *Cursor) Slot() int64 { return c.slot }

// Due is when that slot departs, ns of the Redis clock; at the end it is the largest int64.
func (c *Cursor) Due() int64 {
	if !c.ok {
		return math.MaxInt64
	}
	return c.due
}

// Yielded tells whether that slot is given up. Those are spread evenly: of slots 0 … s−1 floor(s·yield).
func (c *Cursor) Yielded() bool {
	return c.yield > 0 && c.slot%yieldUnit*c.yield%yieldUnit+c.yield >= yieldUnit
}

// Generation is the id of the generation the slots belong to.
func (c *Cursor) Generation() int64 { return c.law.ID }

// Next moves to the following slot.
func (c *Cursor) Next() {
	if c.ok && !c.step() {
		c.enter(c.base + c.law.F)
	}
}
