package worker

import (
	"sync/atomic"

	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/targets"
)

// idleTime adds up for how long a running closed loop has sent nothing. The goroutine that renews calls its
// methods. The publisher reads the sums.
type idleTime struct {
	view   *lease.View  // the newest
	viewAt int64        // when it came, µs of the Redis clock
	silent atomic.Int64 // µs: no reply came for longer than the lease
	paused atomic.Int64 // µs
}

// take adds the time until v came at now, µs of the Redis clock. The loop sent no longer than the View before
// leased.
func (s *idleTime) take(now int64, v *lease.View) {
	if old := s.view; old != nil {
		silent, _ := v.Laws.Spent(max(s.viewAt, old.P), now)
		_, paused := v.Laws.Spent(s.viewAt, now)
		s.silent.Add(silent)
		s.paused.Add(paused)
	}
	if s.view == nil || s.view.ClockEpoch != v.ClockEpoch {
		s.viewAt = now
	}
	s.view, s.viewAt = v, max(s.viewAt, now)
}

// closeLoop makes the shard a part of a closed loop. Call it before run.
func (s *shard) closeLoop() {
	s.closed = true
	s.done = s.answered
}

// open returns when a closed loop sends, now or next, ns of the local clock: while the run is active, and up to its
// lease. It has no slots, so its ranges do not matter. If no such time is known, both are forever.
func (s *shard) open(now int64) (from, until int64) {
	v := s.holding.slots.View()
	from, until = v.Laws.Running(s.clock.Redis(now) / 1000)
	if until = min(until, v.P); until == 0 {
		return forever, forever
	}
	return s.clock.Local(from * 1000), s.clock.Local(until * 1000)
}

// sendClosed sends on every connection that is free and does not rest, or while it has seats. It returns when the next turn is
// due if no answer comes.
func (s *shard) sendClosed(now int64) (until int64) {
	from, end := s.open(now)
	room := s.limits.maxInFlight
	if s.seats != nil {
		var change int64
		room, change = s.seated(now)
		s.agree(now)
		if now < end {
			end = min(end, change)
		}
	}
	switch {
	case now < from:
		return from
	case now >= end:
		return forever
	}
	s.rest.turn(now)
	before := s.inFlight
	most := before + s.rest.most(max(0, room-before))
	for s.inFlight < most {
		c := s.nextCall()
		if !s.client.Send(now, now, c) {
			break
		}
		s.recorder.Sent()
		s.recorder.StepSent(c.Step)
		s.request++
		s.inFlight++
	}
	s.rest.sent(s.inFlight - before)
	if s.connects {
		s.recorder.InFlight(int64(s.inFlight))
	}
	if s.rest.n > 0 {
		return min(end, s.rest.next)
	}
	return end
}

// nextCall returns the next call of the shard. Its numbers are unique over all shards. Shards take whole cycles of the
// mix in turn, so that each shard has the shares of the mix: with W places in a cycle and S shards, request i of shard s
// has the number (i/W·S + s)·W + i mod W.
func (s *shard) nextCall() targets.Call {
	w := uint64(1)
	if s.mix != nil {
		w = s.mix.Cycle()
	}
	n := (s.request/w*uint64(s.parts)+uint64(s.part))*w + s.request%w
	return targets.Call{Number: n, Step: s.step(n)}
}

// answered is completed in a closed loop: nothing is due before it is sent.
func (s *shard) answered(r targets.Result) {
	r.Due = r.Sent
	s.rest.ended(r.Done, r.Outcome.Class == "" || r.Outcome.BytesOut > 0)
	s.completed(r)
}
