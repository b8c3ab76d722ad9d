package worker

import (
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// gate works out from the replies when a closed loop sends. It has no slots to go by: the run's phase, the first t0, the planned end and
// how long nothing was heard are all there is. heard is called by the goroutine that leases; the shards read open.
type gate struct {
	started func() int64  // as in Worker
	length  time.Duration // as in Worker
	alone   time.Duration // as in Worker

	// A pause stops the schedule's clock, which is the Redis clock less the time that pauses took: it goes on from still.
	still int64 // µs; 0 = there was no pause
	going bool  // the schedule's clock has passed still: a Redis clock that goes back does not stop the loop

	open atomic.Pointer[window] // nil = nothing is sent

	planned int64        // the end of the run as of the last window, µs of the Redis clock; forever = none is planned
	told    int64        // up to when the silence is in silent, µs of the Redis clock
	silent  atomic.Int64 // how long the loop stood still because nothing was heard, µs
	paused  atomic.Int64 // how long because of pauses, µs

	view *lease.View // of a worker that leases arcs: the newest, and told is when it came
}

// window is when a closed loop sends: from ≤ t < until, µs of the Redis clock.
type window struct{ from, until int64 }

// heard takes in a reply. One that does not tell how the run is leaves everything as it was: the loop goes on by itself.
func (g *gate) heard(r pacer.Reply) {
	switch r.Status {
	case pacer.StatusOK, pacer.StatusPaused, pacer.StatusStopped, pacer.StatusEnded:
		g.stood(r)
	}
	switch r.Status {
	case pacer.StatusOK:
		g.open.Store(g.window(r))
	case pacer.StatusPaused:
		g.open.Store(nil)
		g.still, g.going = r.LeasedAt-max(0, r.Stood), false
	case pacer.StatusWait, pacer.StatusStopped, pacer.StatusEnded:
		g.open.Store(nil)
	}
}

// stood adds up how long the loop was shut before a reply.
func (g *gate) stood(r pacer.Reply) {
	if w := g.open.Load(); w != nil {
		// A reply that is repeated leaves the window where it was: what was added up then is not added again.
		g.silent.Add(max(0, min(r.Now, g.planned)-max(w.until, g.told)))
		g.told = max(g.told, r.Now)
	}
	g.paused.Store(max(g.paused.Load(), r.Stood))
}

// window is when a run that goes on is sent for, if nothing more is heard; nil until its first t0 is known. All times are those of when
// the reply was made, which may have been repeated since: the server counts silence from there. Who joins in the moment between a
// resumption and its t0 has not seen the pause, and begins at once.
func (g *gate) window(r pacer.Reply) *window {
	started, stood := g.started(), max(0, r.Stood)
	if started == 0 {
		return nil
	}
	from := max(started, g.still) + stood
	if g.going = g.going || r.LeasedAt >= from; g.going {
		from = 0
	}
	alone := g.alone.Microseconds()
	if alone == 0 {
		alone = r.Horizon
	}
	g.planned = forever
	if g.length > 0 {
		g.planned = started + stood + g.length.Microseconds()
	}
	return &window{from, min(r.LeasedAt+alone, g.planned)}
}

// closeLoop makes the shard one of a closed loop: it sends while g is open. Call it before run.
func (s *shard) closeLoop(g *gate) {
	s.gate = g
	s.done = s.answered
}

// open is when the shard of a closed loop sends, µs of the Redis clock.
func (s *shard) open(now int64) window {
	if s.arcs != nil {
		return opens(s.clock.Redis(now)/1000, s.arcs.slots.View())
	}
	if w := s.gate.open.Load(); w != nil {
		return *w
	}
	return window{}
}

// again sends on every connection that is free and does not rest. It returns when the next turn is due if no answer comes.
func (s *shard) again(now int64) (until int64) {
	w := s.open(now)
	if w.until == 0 {
		return forever
	}
	from, end := s.clock.Local(w.from*1000), s.clock.Local(w.until*1000)
	switch {
	case now < from:
		return from
	case now >= end:
		return forever
	}
	s.rest.turn(now)
	before := s.inFlight
	most := before + s.rest.most(s.limits.maxInFlight-before)
	for s.inFlight < most && s.client.Send(now, now, s.request) {
		s.recorder.Sent()
		s.recorder.PermitSent(1) // it has no slot
		s.request += uint64(s.parts)
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

// answered is completed in a closed loop: nothing is due before it is sent.
func (s *shard) answered(r Result) {
	r.Due = r.Sent
	s.rest.ended(r.Done, r.Outcome.Class == "" || r.Outcome.BytesOut > 0)
	s.completed(r)
}
