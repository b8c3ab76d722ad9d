package worker

import (
	"context"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// seats bound the requests in flight of a shard of a closed loop with a concurrency. The fleet has as many seats, and each is
// one worker's, as its place on the circle is. Shards divide those of their worker: with n seats and S shards, shard s has
//
//	(n + S − 1 − s) div S
//
// so no shard has fewer because its worker has more. A place is released only when all shards go by a View without it. A
// shard says that it does when no more requests are in flight than that View has seats for. So whoever owns the seat next finds
// it empty.
type seats struct {
	view  *lease.View
	n     int   // the shard's, as of the law in force
	until int64 // when the next law begins, µs
}

// seat makes the shard one of a closed loop with a concurrency. Call it before run.
func (s *shard) seat() {
	s.closeLoop()
	s.seats = new(seats)
}

// seated returns how many requests may be in flight now, and when that may change.
func (s *shard) seated(now int64) (n int, until int64) {
	a, v := s.seats, s.holding.slots.View()
	if us := s.clock.Redis(now) / 1000; a.view != v || us >= a.until {
		var all int64
		all, a.until = v.Seats(us)
		a.view, a.n = v, int((all+int64(s.parts-1-s.part))/int64(s.parts))
	}
	if until = forever; a.until < pacer.Endless {
		until = s.clock.Local(a.until * 1000)
	}
	return min(a.n, s.limits.maxInFlight), until
}

// agree says that the shard goes by its View, if no more requests are in flight than it has seats for.
func (s *shard) agree(now int64) {
	h := &s.holding
	version := int64(h.slots.Version())
	if h.version.Load() == version {
		return
	}
	if n, _ := s.seated(now); s.inFlight <= n {
		h.reach(s.clock.Redis(now))
		h.version.Store(version)
		h.taken()
	}
}

// leasing returns the context that ends when the worker need not renew any more. While a worker that leaves waits for answers,
// their seats stay its own.
func (e *engine) leasing(ctx context.Context) context.Context {
	if e.Seated {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// emptySeats waits until a worker that leaves has no request in flight, or DrainTimeout. It returns why the worker leaves.
func (e *engine) emptySeats(ctx context.Context) error {
	e.setMode(draining)
	e.awaitAnswers()
	return context.Cause(ctx)
}

// awaitAnswers waits until no request is in flight, or DrainTimeout. The shards must have been drained or stopped.
func (e *engine) awaitAnswers() {
	for _, s := range e.shards {
		<-s.exited
	}
}
