package lease

import "github.com/loadctl/loadctl/pacer"

// Seats returns how many requests of a closed loop with a concurrency its worker may have in flight at t, µs, and when the next
// law begins, which may say otherwise. A seat is its worker's while the place of the seat is in Held. So no seat has two owners, as
// no place has.
func (v *View) Seats(t int64) (n, until int64) {
	until = pacer.Endless
	i := v.Laws.At(t)
	if i < 0 {
		return 0, until
	}
	all := v.Laws.All()
	for k := i + 1; k < len(all); k++ {
		if v.Laws.live[k] && all[k].ClockEpoch == v.Laws.clockEpoch {
			until = all[k].T0
			break
		}
	}
	if all[i].Phase != Running {
		return 0, until
	}
	for _, s := range v.Held {
		n += circleRange(s.Lo, s.Hi).Seats(all[i].Concurrency())
	}
	return n, until
}
