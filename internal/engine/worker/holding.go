package worker

import (
	"math"
	"sync/atomic"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// feed brings a worker's shards their slots: all of them share one pointer to the View.
type feed struct {
	newest  atomic.Pointer[lease.View] // nil until there is one
	refused atomic.Pointer[lease.View] // the worker ends because of this View; nil = there is none
	changed chan struct{}              // signals that a View was taken up; has room for one
}

// taken signals that a View was taken up.
func (f *feed) taken() {
	select {
	case f.changed <- struct{}{}:
	default: // it is signalled already
	}
}

// Take implements lease.Sink.
func (e *engine) Take(v *lease.View) {
	now := e.Clock.Redis(e.Clock.Now()) / 1000
	if !e.ceiling.admits(now, v) {
		e.feed.refused.Store(v)
		return
	}
	if e.Closed {
		e.idleTime.take(now, v)
	}
	e.feed.newest.Store(v)
	for _, s := range e.shards {
		s.client.Wake()
	}
	if e.granter != nil {
		e.granter.wake()
	}
	if v.Handed {
		e.handed.Do(func() { go e.sendRest() })
	}
}

// Taken implements lease.Sink.
func (e *engine) Taken() (version int, reached int64) {
	version = math.MaxInt
	if e.granter != nil {
		version, reached = e.granter.taken()
	}
	for _, s := range e.shards {
		if e.granter == nil {
			version = min(version, int(s.holding.version.Load()))
		}
		reached = max(reached, s.holding.reached.Load())
	}
	return version, reached
}

// holding is what a shard knows of the ranges of its worker. The shard takes up the newest View at its next turn, and
// says so. A range is released when all shards have done so.
type holding struct {
	*feed
	slots        *lease.Slots
	version      atomic.Int64 // of the View in force
	reached      atomic.Int64 // all slots due before were looked at, or nothing due later was sent, µs of the Redis clock
	beyond       int64        // the part of slots.Beyond that the recorder has
	deduplicated int64        // the same of slots.Deduplicated
}

// adopt takes up the newest View. What is due by the View before leaves first.
func (s *shard) adopt(now int64) {
	h := &s.holding
	v := h.newest.Load()
	if v == nil || s.halted || v.Version == h.slots.Version() {
		return
	}
	s.release(now)
	changed := v.Laws != h.slots.View().Laws
	if changed && v.ClockEpoch == h.slots.View().ClockEpoch {
		h.slots.Learn(v)
		s.countBeyond()
		s.recallWaiting()
		s.release(now)
	}
	s.take(v)
	if changed {
		s.recallWaiting()
	}
	s.rested = 0 // s.next is about what was held before
	if s.seats != nil {
		s.agree(now)
		return
	}
	h.reach(s.clock.Redis(now))
	h.version.Store(int64(v.Version))
	h.taken()
}

func (s *shard) take(v *lease.View) {
	s.holding.slots.Take(v)
	s.countBeyond()
}

// countBeyond gives the recorder what the slots have counted since the last call.
func (s *shard) countBeyond() {
	if s.closed {
		return // it has no slots
	}
	h := &s.holding
	s.recorder.Beyond(h.slots.Beyond() - h.beyond)
	s.recorder.Deduplicated(h.slots.Deduplicated() - h.deduplicated)
	h.beyond, h.deduplicated = h.slots.Beyond(), h.slots.Deduplicated()
}

// again reports whether a due slot must not be sent because its ordinal was already sent: the request was sent before
// the shard had received a change of the schedule. Only runs that need each ordinal once care.
func (s *shard) again(x *pacer.Slot) bool {
	if !s.unique || s.granted != nil || !s.holding.slots.Again(x) {
		return false
	}
	s.countBeyond()
	return true
}

// recallWaiting removes slots that nobody asks for any more from those that wait. It runs before the next look for due
// slots, so Again does not take them for sent.
func (s *shard) recallWaiting() {
	s.waiting.keep(func(x *pacer.Slot) bool {
		if s.holding.recalled(x) {
			s.recall(x)
			return false
		}
		return true
	})
}

// recall counts a slot that waited and that nobody asks for any more.
func (s *shard) recall(x *pacer.Slot) {
	s.recorder.Recalled(1)
	if s.unique && s.granted == nil {
		s.holding.slots.Unsent(x)
	}
}

// countUnsent counts slots that were due before reached, µs of the Redis clock, and that this shard had not come to
// when it ended. Other shards had come that far, so the worker has not handed them over. Call it after run has
// returned.
func (s *shard) countUnsent(reached int64) {
	if s.closed {
		return
	}
	if v := s.holding.newest.Load(); v != nil {
		s.take(v)
	}
	var x pacer.Slot
	for ; s.holding.slots.Next(&x) && x.Due/1000 < reached; s.holding.slots.Pop() {
		if !s.again(&x) {
			s.discard(&x)
		}
	}
}

// reach notes that later slots are due after now, ns of the Redis clock.
func (h *holding) reach(now int64) { h.reached.Store(max(h.reached.Load(), now/1000+1)) }

// recalled reports whether a slot is known not to be asked for.
func (f *feed) recalled(x *pacer.Slot) bool {
	v := f.newest.Load()
	return v != nil && v.Laws.Recalled(position(x))
}
