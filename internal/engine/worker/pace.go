package worker

import "time"

// grace is how late a slot may be seen without being held back. Timers coalesce, and a garbage collection or the
// scheduler can hold a shard for a few ms. To delay slots after such a pause would make them even later. The burst is
// smaller than those that waiting for a connection may cause.
const grace = int64(10 * time.Millisecond)

// pace sends what a stall made late at twice the usual pace, instead of in a burst:
//
//	plan(i) = max(due(i), plan(i−1) + (due(i) − due(i−1))/2)
//
// A backlog of x seconds has left after 2x, and each slot is less late than the one before. Plans are computed from
// plans, not from when a timer fired, as timer errors would add up. Only a plan missed by more than grace, a new
// stall, starts again from now. The zero value holds nothing back.
type pace struct {
	plan, due int64 // of the last slot that left, ns
}

// at returns when the next slot, due at due, may leave.
func (p *pace) at(due int64) int64 {
	// A range that comes late may have slots before the last one. These need no gap.
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
