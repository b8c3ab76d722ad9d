package worker

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// handoverTime is longer than it takes to send all slots before the end of what was handed over, once the fleet knows
// that end.
const handoverTime = 2 * time.Second

// limit begins to ask the run's limiter, if it has one.
func (e *engine) limit() {
	if e.Grants == nil {
		return
	}
	e.granter = &granter{grants: e.Grants, terms: e.Terms, clock: e.Clock, feed: &e.feed, shards: e.shards, log: e.Log}
	e.granter.start()
}

// renewer returns what keeps the engine supplied. It gives up when broken is closed.
func (e *engine) renewer(broken <-chan struct{}) *lease.Renewer {
	return &lease.Renewer{
		Server: e.Server, Sink: e, Clock: e.Clock, Worker: e.ID, Incarnation: e.Incarnation, Weight: e.Weight, Messages: e.Messages,
		Beat: e.beat, Changed: e.feed.changed, Broken: broken, Drained: e.drained, Restore: e.Restore, Log: e.Log,
		Observe: func(r lease.Reply, v *lease.View) {
			e.publisher.schedule.Members.Store(r.Members)
			e.Observe(r, v)
		},
	}
}

// end notifies the shards and the fleet that renewing ended with err, waits for the shards and publishes what they did.
// It returns nil for an intended end. If the engine had to give up, the cause of leasing says why.
func (e *engine) end(ctx, leasing context.Context, r *lease.Renewer, err error) error {
	switch {
	case errors.Is(err, pacer.ErrEnded):
		e.drain()
		e.haltAfter(e.MaxLag + e.walkTime())
		// First: a caller that waits for the members of an ended run finds their last snapshots.
		err = e.finish(ctx, nil)
		e.leave(ctx, r)
		return err
	case errors.Is(err, pacer.ErrStopped):
		e.stop()
		e.leave(ctx, r) // now: whoever stopped the run waits for the confirmation that nothing more is sent
		return e.finish(ctx, nil)
	case errors.Is(err, pacer.ErrReplaced), errors.Is(err, pacer.ErrNoState):
		e.stop()
		return e.finish(ctx, err)
	case errors.Is(err, lease.ErrSilence):
		e.stop()
		e.leave(ctx, r)
		return e.finish(ctx, err)
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) && !errors.Is(err, lease.ErrHeld):
		e.leave(ctx, r)
		return e.finish(ctx, nil)
	case ctx.Err() != nil && e.Closed:
		e.setMode(draining)
		e.haltAfter(e.MaxLag)
		e.leave(ctx, r)
		return e.finish(ctx, nil)
	}
	e.stop()
	if e.Seated { // the seats are another worker's as soon as this one has left
		e.awaitAnswers()
	}
	e.leave(ctx, r)
	cause := context.Cause(leasing)
	if ctx.Err() != nil && errors.Is(cause, context.Cause(ctx)) {
		return e.finish(ctx, nil)
	}
	return e.finish(ctx, cmp.Or(cause, err))
}

// sendRest lets the shards send what a leaving worker has left when it has handed over its ranges, and closes drained when
// they have. Until then the worker receives commands, unless Redis is away; hence haltAfter.
func (e *engine) sendRest() {
	e.drain()
	e.haltAfter(e.MaxLag + handoverTime + e.walkTime())
	for _, s := range e.shards {
		<-s.stopped
	}
	close(e.drained)
}

// drain lets what is held be sent, as far as the run's limiter grants it.
func (e *engine) drain() {
	if e.granter != nil {
		e.granter.drain()
	}
	e.setMode(draining)
}

// stop makes the shards drop what is not sent, and the targets what is not written.
func (e *engine) stop() {
	e.Halt()
	if e.granter != nil {
		e.granter.quit()
	}
	e.setMode(stopping)
}

// haltAfter bounds how late a request may be written that is still connecting when this worker ends: it may not receive
// a stop any more.
func (e *engine) haltAfter(d time.Duration) { time.AfterFunc(d, e.Halt) }

// walkTime returns how long flows on their way may still send.
func (e *engine) walkTime() time.Duration {
	if e.Mix == nil || !e.Mix.Walks() || e.Mix.SlotEach() {
		return 0
	}
	return walkTime
}

// leave notifies the fleet when no shard sends any more. If that fails, the fleet finds out when the lease is over.
func (e *engine) leave(ctx context.Context, r *lease.Renewer) {
	for _, s := range e.shards {
		<-s.stopped
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalTimeout)
	defer cancel()
	_, reached := e.Taken()
	if err := r.Leave(limit, reached); err != nil {
		e.Log.Warn("could not tell the fleet that this worker leaves; its share is missing until its lease ends", "err", err)
	}
}
