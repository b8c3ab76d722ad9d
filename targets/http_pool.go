package targets

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// An endpoint says where and how to connect. Connections to equal endpoints are interchangeable.
type endpoint struct {
	network, address string // "tcp" or "udp" and host:port, or "unix" and a path
	name             string // of the server in TLS; "" without TLS
	use              string // "" for HTTP; other uses have connections of their own
	streams          int    // requests that a connection carries at a time, with HTTP/2; 0 = HTTP/1.1
	login            string // commands that log in, in the form in which they are sent, or the head of a handshake; "" = none
}

// Uses of connections other than HTTP.
const (
	useRaw   = "raw"
	useRedis = "redis"
	useWS    = "ws"
)

// seats is how many requests a connection carries at a time.
func (e endpoint) seats() int { return max(1, e.streams) }

// A pool keeps the connections of one target, or of all steps of a workload. A connection has a place from before it is
// dialled until it is closed. There are max places. At most dials connections are dialled at the same time; a request
// that waits to dial may get a connection that becomes idle first. Idle connections are taken last in, first out, so that
// unneeded ones grow old. A pool is safe for concurrent use.
//
// A connection of HTTP/2 has several seats. It is idle while one is free. While it is dialled, as many requests wait for
// its seats as it will have, rather than dial.
type pool struct {
	max   int // places; 0 = no limit
	dials int // at the same time; 0 = no limit
	dial  func(ctx context.Context, deadline time.Time, to endpoint) (*conn, error)

	// Number of complete answers in a row after which the connection could not be kept. From dials of them on there is
	// no limit on dialling, because opening connections is the normal work of such a load.
	closedInARow atomic.Int64

	keeper sync.Once // starts keep

	mu       sync.Mutex
	closed   bool
	places   int       // in use
	dialling int       // of these, being dialled
	promised int       // seats that these will have, without those of the requests that dial
	idle     []*conn   // the longest idle first
	waiting  []*waiter // the longest waiting first

	sessions *threePool // of HTTP/3, which are counted for themselves; nil = of another version
}

// A waiter is a request that waits for a connection to an endpoint.
type waiter struct {
	to   endpoint
	turn chan *conn // has room for one; nil sent = a place to dial; closed = the pool is closed
}

// newPool returns an empty pool.
func newPool(s Spec, local Local) (*pool, error) {
	d, err := newDialer(s, local)
	if err != nil {
		return nil, err
	}
	p := &pool{max: local.MaxConnections, dials: dialsAtOnce, dial: d.dial}
	if s.version() == HTTP3 {
		p.sessions = newThreePool(s, local, d)
	}
	return p, nil
}

// take returns a connection to an endpoint with its deadline set, reused or new. If all places are in use, it waits for
// one until deadline.
func (p *pool) take(ctx context.Context, deadline time.Time, to endpoint) (c *conn, reused bool, err error) {
	for {
		c, err = p.acquire(ctx, deadline, to)
		if err != nil {
			return nil, false, err
		}
		if c != nil {
			if c.usable(to, deadline) {
				return c, true, nil
			}
			if !p.retire(c) {
				p.give(c, false)
				continue // the loop ends, because each turn uses up an idle connection
			}
			c.close(false)
			if !p.redial(to) {
				continue // the same
			}
		}
		c, err = p.open(ctx, deadline, to)
		return c, false, err
	}
}

// redial turns the place of a closed connection into one to dial in: the request that waited for it need not wait
// again. It reports false, and gives the place back, if the maximum is being dialled.
func (p *pool) redial(to endpoint) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dialsMost() {
		p.places-- // for the next waiter that may dial; none may now
		return false
	}
	p.dialling++
	p.promised += to.seats() - 1
	return true
}

// retire lets a connection carry no further requests. It reports whether it carries no other than that of the caller.
func (p *pool) retire(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.drained = true
	p.remove(c)
	return c.riders == 1
}

// list makes a connection the youngest of the idle ones. The lock is held.
func (p *pool) list(c *conn) {
	c.listed = true
	p.idle = append(p.idle, c)
}

// remove takes a connection out of the idle ones, if it is there. The lock is held.
func (p *pool) remove(c *conn) {
	if !c.listed {
		return
	}
	c.listed = false
	for i, other := range slices.Backward(p.idle) { // usually it is the youngest
		if other == c {
			p.idle = slices.Delete(p.idle, i, i+1)
			return
		}
	}
}

// open dials in a place that the caller holds.
func (p *pool) open(ctx context.Context, deadline time.Time, to endpoint) (*conn, error) {
	c, err := p.dial(ctx, deadline, to)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialling--
	p.promised -= to.seats() - 1
	if err != nil {
		p.places--
		c = nil
	} else if c.riders = 1; c.riders < to.seats() && !p.closed {
		p.list(c)
		p.seat(c)
	}
	if c != nil && c.socket != nil && !p.closed {
		p.keeper.Do(func() { go p.keep() })
	}
	p.admit()
	return c, err
}

// seat passes the free seats of an idle connection to requests that wait for them. The lock is held.
func (p *pool) seat(c *conn) {
	for c.riders < c.to.seats() && !c.drained && p.hand(c) {
	}
	if c.riders == c.to.seats() || c.drained {
		p.remove(c)
	}
}

// fill adds a new connection to an endpoint to the idle ones. It reports false if there is no place, or dialling fails.
func (p *pool) fill(ctx context.Context, deadline time.Time, to endpoint) bool {
	p.mu.Lock()
	got := p.place(to)
	p.mu.Unlock()
	if !got {
		return false
	}
	c, err := p.open(ctx, deadline, to)
	if err != nil {
		return false
	}
	if c.session != nil {
		c.session.greet()
	}
	p.give(c, true)
	return true
}

// give takes back a connection, to keep or close it: the caller's seat on it is free. Every connection that take returned
// must come back here exactly once.
func (p *pool) give(c *conn, keep bool) {
	p.mu.Lock()
	c.riders--
	c.drained = c.drained || !keep
	switch {
	case c.drained:
		p.remove(c)
	case !p.closed && c.riders == 0:
		c.rest()
		p.remove(c) // it becomes the youngest
	}
	switch last := c.riders == 0; {
	case c.drained:
		p.mu.Unlock()
		if last {
			c.close(false)
			p.release()
		}
		return
	case p.closed:
		if last {
			p.places--
		}
		p.mu.Unlock()
		if last {
			c.close(true)
		}
		return
	}
	if !c.listed {
		p.list(c)
	}
	// Waiting requests come before new ones. Else, under load, the first to wait might be served last.
	p.seat(c)
	// Each give removes one old connection, so no goroutine is needed for that.
	var old *conn
	if len(p.idle) > 0 && p.idle[0].riders == 0 && p.idle[0].old(c.idleSince.Sub(p.idle[0].idleSince)) {
		old = p.idle[0]
		old.listed = false
		p.idle = slices.Delete(p.idle, 0, 1)
		p.places--
	}
	p.mu.Unlock()
	if old != nil {
		old.close(true)
	}
}

// release gives back a place without a connection.
func (p *pool) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places--
	p.admit()
}

// place takes a place to dial an endpoint, if there is one. The lock is held.
func (p *pool) place(to endpoint) bool {
	if p.closed || p.max > 0 && p.places >= p.max || p.dialsMost() {
		return false
	}
	p.places++
	p.dialling++
	p.promised += to.seats() - 1
	return true
}

// dialsMost reports whether the maximum is being dialled. The lock is held.
func (p *pool) dialsMost() bool {
	return p.dials > 0 && p.dialling >= p.dials && p.closedInARow.Load() < int64(p.dials)
}

// opening reports whether waiting requests wait for dialling: the maximum is being dialled, or all places are.
func (p *pool) opening() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialsMost() || p.max > 0 && p.dialling >= p.max
}

// answered is called for each complete answer, before its connection comes back. keep says whether the connection can
// be kept.
func (p *pool) answered(keep bool) {
	switch {
	case !keep:
		p.closedInARow.Add(1)
	case p.closedInARow.Load() > 0: // seldom: an atomic load is cheap, a store by many goroutines is not
		p.closedInARow.Store(0)
	}
}

// admit gives free places to waiting requests for which no seat is promised. The lock is held.
func (p *pool) admit() {
	for len(p.waiting) > p.promised && p.place(p.waiting[0].to) {
		p.waiting[0].turn <- nil
		p.waiting = slices.Delete(p.waiting, 0, 1)
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
	if len(p.waiting) >= p.promised && p.place(to) {
		p.mu.Unlock()
		return nil, nil
	}
	if i := slices.IndexFunc(p.idle, func(c *conn) bool { return c.riders == 0 }); i >= 0 && p.places == p.max {
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
			p.dialling--
			p.promised -= w.to.seats() - 1
			p.admit()
			p.mu.Unlock()
		}
	}
	return nil, err
}

// close closes the connections without requests and ends all waits. The others are closed when they are given back.
func (p *pool) close() {
	p.mu.Lock()
	var quiet []*conn
	for _, c := range p.idle {
		if c.listed = false; c.riders == 0 {
			quiet = append(quiet, c)
		}
	}
	p.closed = true
	p.idle = nil
	p.places -= len(quiet)
	for _, w := range p.waiting {
		close(w.turn)
	}
	p.waiting = nil
	p.mu.Unlock()
	for _, c := range quiet {
		c.close(true)
	}
	for _, c := range quiet {
		if c.session != nil && c.session.talks.Load() {
			<-c.session.done // the process may end next
		}
	}
}
