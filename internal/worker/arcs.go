package worker

import (
	"context"
	"errors"
	"math"
	"sync/atomic"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// holding is what a shard knows of the arcs of its worker. The View comes through one pointer that all shards share; each takes it up at its
// next turn, and says so: a piece is released when all shards have.
type holding struct {
	newest  *atomic.Pointer[lease.View] // shared by all shards; nil inside until there is one
	changed chan<- struct{}             // has room for one
	slots   *lease.Slots
	version atomic.Int64 // of the View in force
	reached atomic.Int64 // all that is due before was looked at, or nothing later was sent, µs of the Redis clock
	beyond  int64        // of slots.Beyond, what the recorder knows
}

// hold makes the shard one of a worker that leases arcs; limited: it sends what it is given of them. Call it before run.
func (s *shard) hold(newest *atomic.Pointer[lease.View], changed chan<- struct{}, limited bool) {
	s.arcs = &holding{newest: newest, changed: changed, slots: lease.NewSlots(s.part, s.parts)}
	if limited {
		s.granted = &granted{}
	}
}

// adopt takes up the newest View. What is due by the one before leaves first.
func (s *shard) adopt(now int64) {
	h := s.arcs
	v := h.newest.Load()
	if v == nil || s.halted || v.Version == h.slots.Version() {
		return
	}
	s.release(now)
	h.slots.Take(v)
	h.reached.Store(max(h.reached.Load(), s.clock.Redis(now)/1000+1))
	h.version.Store(int64(v.Version))
	s.recorder.Beyond(h.slots.Beyond() - h.beyond)
	h.beyond, s.rested = h.slots.Beyond(), 0
	select {
	case h.changed <- struct{}{}:
	default: // it is to be looked at already
	}
}

// next makes x the slot that is due least of those that the shard has; false if there is none.
func (s *shard) first(x *pacer.Slot) bool {
	switch {
	case s.granted != nil && s.granted.line.len() > 0:
		*x = *s.granted.line.at(0)
		return true
	case s.granted != nil:
		return false
	case s.arcs != nil:
		return s.arcs.slots.Next(x)
	}
	return s.slots.Next(x)
}

// pop removes the slot that first found.
func (s *shard) pop() {
	switch {
	case s.granted != nil:
		s.granted.line.pop()
	case s.arcs != nil:
		s.arcs.slots.Pop()
	default:
		s.slots.Pop()
	}
}

// empty tells whether nothing is left to be sent, as far as is known.
func (s *shard) empty() bool {
	var x pacer.Slot
	return s.arcs != nil && !s.first(&x) || s.arcs == nil && s.slots.Empty()
}

// Take implements lease.Sink.
func (e *engine) Take(v *lease.View) {
	now := e.Clock.Redis(e.Clock.Now()) / 1000
	if !e.ceiling.admits(now, v) {
		return
	}
	if e.Closed {
		e.gate.take(now, v)
	}
	e.view.Store(v)
	for _, s := range e.shards {
		s.client.Wake()
	}
	if e.granter != nil {
		e.granter.wake()
	}
}

// Taken implements lease.Sink.
func (e *engine) Taken() (version int, reached int64) {
	if e.granter != nil {
		return e.granter.taken()
	}
	version = math.MaxInt
	for _, s := range e.shards {
		version = min(version, int(s.arcs.version.Load()))
		reached = max(reached, s.arcs.reached.Load())
	}
	return version, reached
}

// limit begins to ask the run's limiter, if it has one.
func (e *engine) limit() {
	if e.Grants == nil {
		return
	}
	e.granter = &granter{grants: e.Grants, terms: e.Terms, clock: e.Clock, newest: &e.view, shards: e.shards, changed: e.changed, log: e.Log}
	e.granter.start()
}

// renew is the life of an engine that leases arcs, until the run is over for it, and the end in its order.
func (e *engine) renew(ctx, leasing context.Context, p *patience, finish func(error) error) error {
	renewer := lease.Renewer{
		Server: e.Server, Sink: e, Clock: e.Clock, Worker: e.ID, Incarnation: e.Incarnation, Weight: e.Weight, Messages: e.Messages, Changed: e.changed,
		Restore: e.RestoreLaws, Log: e.Log, Observe: func(r lease.Reply, v *lease.View) {
			if r.Status == lease.OK {
				p.renewed()
			}
			e.publisher.rota.members.Store(r.Members)
			e.Renewed(r, v)
		},
		Broken: leasing.Done(),
	}
	staying := ctx
	if e.Closed { // it has no slots that others could go on with
		staying = context.WithoutCancel(ctx)
	}
	err := renewer.Run(staying)
	switch {
	case errors.Is(err, pacer.ErrEnded):
		e.drain()
		e.haltAfter(e.MaxLag)
		err = finish(nil) // first: who waits for the members of a run that has ended finds their last snapshots
		e.halted(ctx, &renewer)
		return err
	case errors.Is(err, pacer.ErrStopped):
		e.stop()
		e.halted(ctx, &renewer) // now: whoever stopped the run waits to hear that nothing more is sent
		return finish(nil)
	case errors.Is(err, pacer.ErrReplaced), errors.Is(err, pacer.ErrNoState):
		e.stop()
		return finish(err)
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) && !errors.Is(err, lease.ErrHeld):
		e.drain() // what was handed over is sent up to the slot from which on it is another's
		e.haltAfter(e.MaxLag + longestLead)
		return finish(nil)
	case ctx.Err() != nil && e.Closed:
		e.tell(draining)
		e.haltAfter(e.MaxLag)
		e.halted(ctx, &renewer)
		return finish(nil)
	}
	e.stop()
	e.halted(ctx, &renewer)
	switch cause := context.Cause(leasing); {
	case ctx.Err() != nil && errors.Is(cause, context.Cause(ctx)):
		err = nil
	case cause != nil:
		err = cause
	}
	return finish(err)
}

// drain lets what is held be sent, as far as the run's limiter grants it.
func (e *engine) drain() {
	if e.granter != nil {
		e.granter.drain()
	}
	e.tell(draining)
}

// halted tells the fleet, when no shard sends any more. If that fails the fleet finds out by itself, when the promise is over.
func (e *engine) halted(ctx context.Context, renewer *lease.Renewer) {
	for _, s := range e.shards {
		<-s.stopped
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalTimeout)
	defer cancel()
	_, reached := e.Taken()
	if err := renewer.Leave(limit, reached); err != nil {
		e.Log.Warn("could not tell the fleet that this worker leaves", "err", err)
	}
}

// renewed is told of each reply to a worker that leases arcs.
func (p *patience) renewed() { p.last.Store(p.clock.Now()) }
