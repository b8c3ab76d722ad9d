package pacer

import "time"

// slewed is how far the mapping of a Clock moves at most without a step, for as long as a permit matters.
const slewed = int64(50 * time.Millisecond)

// Last is the slot of a permit that was sent last. The zero value is none.
type Last struct {
	due   int64 // ns of the Redis clock
	local int64 // the same as it was mapped then
}

// Sent notes a slot, due at due (ns of the Redis clock), which was then the local time local.
func (l *Last) Sent(due, local int64) { *l = Last{due, local} }

// Due is when it was due, ns of the Redis clock as it is now, mapped being the Redis time of Local: after a step back of that clock it is in the
// new time, or nothing could be sent until that had come round again. 0 = none was sent.
func (l *Last) Due(mapped func(local int64) int64) int64 {
	if l.due == 0 {
		return 0
	}
	if now := mapped(l.local); l.due-now > slewed {
		return now
	}
	return l.due
}

// Replaces tells whether the permit was used in the place of a leased slot: its lease came too late.
func (l *Last) Replaces(x *Slot, mapped func(local int64) int64) bool {
	return !x.Permit && l.due > 0 && x.Due <= l.Due(mapped)
}
