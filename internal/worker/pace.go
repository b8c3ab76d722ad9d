package worker

import "time"

// grace is how late a slot may be seen without being held back. Timers coalesce, and a garbage collection or the
// scheduler can hold a shard for a few ms; delaying what such a pause made late would only make it later, and the
// burst it gives is smaller than what waiting for a connection may cause anyway.
const grace = int64(10 * time.Millisecond)

// pace turns what a stall made late into twice the usual pace instead of a burst:
//
//	plan(i) = max(due(i), plan(i−1) + (due(i) − due(i−1))/2)
//
// so that a backlog of x seconds has left after 2x, each slot less late than the one before. Plans are computed
// from plans, not from when a timer fired, or its granularity would add up. Only a plan missed by more than grace,
// a new stall, begins anew from now. The zero value holds nothing back.
type pace struct {
	plan, due int64 // of the last slot that left, ns
}

// at is when the next slot, due at due, may leave.
func (p *pace) at(due int64) int64 {
	// A piece that comes late may have slots before the last one: they have no distance of their own.
	gap := max(0, due-p.due)
	return max(due, p.plan+gap/2)
}

// leave notes that the slot due at due left at now.
func (p *pace) leave(now, due int64) {
	p.plan, p.due = p.at(due), due
	if now-p.plan > grace {
		p.plan = now
	}
}
