package targets

import (
	"context"
	"maps"
	"slices"
	"time"
)

// A waiter is a request that waits for a connection to an endpoint.
type waiter struct {
	to   endpoint
	turn chan *conn // has room for one; nil sent = a place to dial; closed = the pool is closed
}

// acquire returns an idle connection, or nil if it took a place to dial.
func (p *pool) acquire(ctx context.Context, deadline time.Time, to endpoint) (*conn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	// Nearly always the last one fits: only redirects and other steps lead to other endpoints.
	for _, c := range slices.Backward(p.idle) {
		if c.to == to && (c.riders == 0 || len(p.waiting) == 0) {
			p.occupy(c)
			p.mu.Unlock()
			return c, nil
		}
	}
	promised := p.promises(to)
	if !promised && p.place(to) {
		p.mu.Unlock()
		return nil, nil
	}
	if i := slices.IndexFunc(p.idle, func(c *conn) bool { return c.riders == 0 }); i >= 0 && p.places == p.max && !promised {
		// All idle connections lead elsewhere: one has to go.
		c := p.idle[i]
		c.drained = true
		p.occupy(c)
		p.mu.Unlock()
		return c, nil
	}
	w := &waiter{to, make(chan *conn, 1)}
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	return p.wait(ctx, deadline, w)
}

// occupy takes a seat on an idle connection. The lock is held.
func (p *pool) occupy(c *conn) {
	if c.riders == 0 && c.old(time.Since(c.idleSince)) {
		c.aged, c.drained = true, true
	}
	if c.riders++; c.riders == c.to.seats() || c.drained {
		p.remove(c)
	}
}

// wait waits for the turn: a connection, a place (nil), or the end of the pool. A turn that comes as the wait ends is
// passed on, so no place is lost.
func (p *pool) wait(ctx context.Context, deadline time.Time, w *waiter) (*conn, error) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	var err error
	select {
	case c, ok := <-w.turn:
		if !ok {
			return nil, errClosed
		}
		return c, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = context.DeadlineExceeded
	}
	p.mu.Lock()
	i := slices.Index(p.waiting, w)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i < 0 {
		// The turn came at the same time: pass it on.
		if c, ok := <-w.turn; c != nil {
			p.give(c, true)
		} else if ok {
			p.mu.Lock()
			p.places--
			p.endDial(w.to)
			p.admit()
			p.mu.Unlock()
		}
	}
	return nil, err
}

// promises reports whether one more request to an endpoint gets a seat on a connection that is being dialled. The lock is
// held.
func (p *pool) promises(to endpoint) bool {
	left := p.promised[to]
	for i := 0; left > 0 && i < len(p.waiting); i++ {
		if p.waiting[i].to == to {
			left--
		}
	}
	return left > 0
}

// unpromised returns which request waits longest of those for which no seat is promised; -1 if there is none. The lock is
// held.
func (p *pool) unpromised() int {
	if len(p.promised) == 0 {
		return min(len(p.waiting), 1) - 1
	}
	left := maps.Clone(p.promised)
	return slices.IndexFunc(p.waiting, func(w *waiter) bool {
		left[w.to]--
		return left[w.to] < 0
	})
}

// admit gives free places to waiting requests for which no seat is promised. The lock is held.
func (p *pool) admit() {
	for i := p.unpromised(); i >= 0 && p.place(p.waiting[i].to); i = p.unpromised() {
		p.waiting[i].turn <- nil
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
}

// seat passes the free seats of an idle connection to requests that wait for them. The lock is held.
func (p *pool) seat(c *conn) {
	for c.riders < c.to.seats() && !c.drained && p.hand(c) {
	}
	if c.riders == c.to.seats() || c.drained {
		p.remove(c)
	}
}

// hand passes a seat on a connection to the longest waiting request; it reports false if none waits. One that wants
// another endpoint gets the connection when no other request has it, for its place. Until then nobody overtakes it. The
// lock is held.
func (p *pool) hand(c *conn) bool {
	if len(p.waiting) == 0 || p.waiting[0].to != c.to && c.riders > 0 {
		return false
	}
	w := p.waiting[0]
	c.riders++
	c.drained = w.to != c.to
	w.turn <- c
	p.waiting = slices.Delete(p.waiting, 0, 1)
	return true
}
