package pacer

// Permit is what a worker may fire by itself when it hears nothing: the slots of a law of its own that are due in
// [From, Until). Each reply of the budget brings a new one that begins later, so a worker that is answered never
// reaches the beginning. The budget sees to it that the permits of all members together are at most the rate, and
// that nobody holds leased slots in their place. The zero value is no permit.
type Permit struct {
	Law         Law
	From, Until int64 // µs of the Redis clock
}

// permitFields is how many numbers a permit has.
const permitFields = 5

// newPermit is the permit of the numbers φ, t0, c, from, until, φ in slots per 10⁶ s; where all are 0 it is none. Slot k is due at
//
//	t0 + (k + c/10⁶)/φ
//
// t0 is the same for all members and c differs: so their streams interleave instead of firing in step.
func newPermit(v []int64) (Permit, error) {
	if [permitFields]int64(v) == [permitFields]int64{} {
		return Permit{}, nil
	}
	p := Permit{
		Law:  Law{T0: v[1], C: v[2], R0: v[0], R1: v[0], Den: maxDen, K: Endless, F: 1},
		From: v[3], Until: v[4],
	}
	if v[0] < 1 || v[0] > Endless || p.Law.T0 < 0 || p.Law.C < 0 || p.Law.C >= phaseUnit || p.From < p.Law.T0 || p.Until < p.From || p.Until > Endless {
		return Permit{}, errFields
	}
	return p, nil
}

// Phi is the permit's rate, slots per 10⁶ s; 0 of no permit.
func (p Permit) Phi() int64 { return p.Law.R0 }

// before is the permit, ending at t at the latest.
func (p Permit) before(t int64) Permit {
	p.Until = min(p.Until, t)
	return p
}

// Range is the permit's slots.
func (p Permit) Range() Range {
	if p.Until <= p.From {
		return Range{}
	}
	first := p.Law.Before(p.From)
	return Range{Law: p.Law, First: first, N: p.Law.Before(p.Until) - first}
}

// Notice is what holds for all that a worker has leased, until the next one comes.
type Notice struct {
	Recalls Recalls  // the latest, oldest first
	Permits []Permit // what may be fired without Redis, in the order of time: at most one that is in force and the next one
}

// Recalled tells whether the generation of a slot has ended before it, as far as is known. A permit's slot is never recalled:
// the next notice replaces the permit. n may be nil.
func (n *Notice) Recalled(x *Slot) bool {
	return n != nil && !x.Permit && n.Recalls.Recalled(x.Generation, x.Number, x.Due)
}
