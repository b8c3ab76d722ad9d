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
	use              string // "" for HTTP/1.1 and HTTP/2; other uses have connections of their own
	streams          int    // requests that a connection carries at a time, with HTTP/2 and HTTP/3; 0 = HTTP/1.1
	login            string // commands that log in, in the form in which they are sent, or the head of a handshake; "" = none
}

// Uses of connections other than HTTP/1.1 and HTTP/2.
const (
	useThree = "h3"
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
// A connection of HTTP/2 or HTTP/3 has several seats. It is idle while one is free. While it is dialled, as many requests wait for
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
	places   int              // in use
	dialling int              // of these, being dialled
	promised map[endpoint]int // seats that these will have, without those of the requests that dial; none of them is 0
	idle     []*conn          // the longest idle first
	waiting  []*waiter        // the longest waiting first
}

// newPool returns an empty pool.
func newPool(s Spec, local Local) (*pool, error) {
	d, err := newDialer(s, local)
	if err != nil {
		return nil, err
	}
	return &pool{max: local.MaxConnections, dials: dialsAtOnce, dial: d.dial}, nil
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
	p.beginDial(to)
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
	p.endDial(to)
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
	p.beginDial(to)
	return true
}

// beginDial notes that an endpoint is dialled, and endDial that it is no more. The lock is held.
func (p *pool) beginDial(to endpoint) {
	p.dialling++
	if n := to.seats() - 1; n > 0 {
		if p.promised == nil {
			p.promised = map[endpoint]int{}
		}
		p.promised[to] += n
	}
}

func (p *pool) endDial(to endpoint) {
	p.dialling--
	if n := to.seats() - 1; n > 0 {
		if p.promised[to] -= n; p.promised[to] == 0 {
			delete(p.promised, to)
		}
	}
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
