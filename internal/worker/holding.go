package worker

import (
	"sync/atomic"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// feed is how a worker's shards get their slots: the View comes through one pointer that all of them share.
type feed struct {
	newest  atomic.Pointer[lease.View] // nil inside until there is one
	refused atomic.Pointer[lease.View] // the worker ends because of it; nil inside = there is none
	changed chan struct{}              // a View was taken up; has room for one
}

// taken tells whoever waits for it that a View was taken up.
func (f *feed) taken() {
	select {
	case f.changed <- struct{}{}:
	default: // it is to be looked at already
	}
}

// holding is what a shard knows of the arcs of its worker. It takes up the newest View at its next turn, and says so: a piece is released when all
// shards have.
type holding struct {
	*feed
	slots   *lease.Slots
	version atomic.Int64 // of the View in force
	reached atomic.Int64 // all that is due before was looked at, or nothing later was sent, µs of the Redis clock
	beyond  int64        // of slots.Beyond, what the recorder knows
}

// adopt takes up the newest View. What is due by the one before leaves first.
func (s *shard) adopt(now int64) {
	h := &s.arcs
	v := h.newest.Load()
	if v == nil || s.halted || v.Version == h.slots.Version() {
		return
	}
	s.release(now)
	s.take(v)
	h.reach(s.clock.Redis(now))
	h.version.Store(int64(v.Version))
	s.rested = 0 // what s.next says is of what was held before
	h.taken()
}

func (s *shard) take(v *lease.View) {
	h := &s.arcs
	h.slots.Take(v)
	s.recorder.Beyond(h.slots.Beyond() - h.beyond)
	h.beyond = h.slots.Beyond()
}

// settle accounts for what was due before a time, µs of the Redis clock, and that the shard had not come to when it ended: other shards had, and so the
// worker has not handed it over. Call it when run has returned.
func (s *shard) settle(reached int64) {
	if v := s.arcs.newest.Load(); v != nil {
		s.take(v)
	}
	var x pacer.Slot
	for ; s.arcs.slots.Next(&x) && x.Due/1000 < reached; s.arcs.slots.Pop() {
		s.discard(&x)
	}
}

// reach notes that what comes is due after now, ns of the Redis clock.
func (h *holding) reach(now int64) { h.reached.Store(max(h.reached.Load(), now/1000+1)) }

// recalled tells whether the generation of a slot has ended before it, as far as is known at this moment.
func (f *feed) recalled(x *pacer.Slot) bool {
	v := f.newest.Load()
	return v != nil && v.Laws.Recalled(position(x))
}

// first makes x the slot that is due least of those that the shard has; false if there is none.
func (s *shard) first(x *pacer.Slot) bool {
	switch {
	case s.halted:
		return false
	case s.granted == nil:
		return s.arcs.slots.Next(x)
	case s.granted.line.len() == 0:
		return false
	}
	*x = *s.granted.line.at(0)
	return true
}

// empty tells whether nothing is left to be sent, as far as is known.
func (s *shard) empty() bool { return !s.first(new(pacer.Slot)) }

// pop removes the slot that first found.
func (s *shard) pop() {
	if s.granted == nil {
		s.arcs.slots.Pop()
		return
	}
	s.granted.line.pop()
}
