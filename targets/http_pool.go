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
	login            string // commands that log in, in the form in which they are sent, or the head of a handshake; "" = none
}

// Uses of connections other than HTTP.
const (
	useRaw   = "raw"
	useRedis = "redis"
	useWS    = "ws"
)

// A pool keeps the connections of one target, or of all steps of a workload. A connection has a place from before it is
// dialled until it is closed. There are max places. At most dials connections are dialled at the same time; a request
// that waits to dial may get a connection that becomes idle first. Idle connections are taken last in, first out, so that
// unneeded ones grow old. A pool is safe for concurrent use.
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
	places   int          // in use
	dialling int          // of these, being dialled
	idle     []*conn      // the longest idle first
	waiting  []chan *conn // the longest waiting first; nil sent = a place to dial; closed = the pool is closed
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
			c.close(false)
			if !p.redial() {
				continue // the loop ends, because each turn uses up an idle connection
			}
		}
		c, err = p.open(ctx, deadline, to)
		return c, false, err
	}
}

// redial turns the place of a closed connection into one to dial in: the request that waited for it need not wait
// again. It reports false, and gives the place back, if the maximum is being dialled.
func (p *pool) redial() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dialsMost() {
		p.places-- // for the next waiter that may dial; none may now
		return false
	}
	p.dialling++
	return true
}

// open dials in a place that the caller holds.
func (p *pool) open(ctx context.Context, deadline time.Time, to endpoint) (*conn, error) {
	c, err := p.dial(ctx, deadline, to)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialling--
	if err != nil {
		p.places--
		c = nil
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
	got := p.place()
	p.mu.Unlock()
	if !got {
		return false
	}
	c, err := p.open(ctx, deadline, to)
	if err == nil {
		p.give(c, true)
	}
	return err == nil
}

// give takes back a connection, to keep or close it. Every connection that take returned must come back here exactly
// once.
func (p *pool) give(c *conn, keep bool) {
	if !keep {
		c.close(false)
		p.release()
		return
	}
	c.rest()
	p.mu.Lock()
	if p.closed {
		p.places--
		p.mu.Unlock()
		c.close(true)
		return
	}
	// Waiting requests come before new ones. Else, under load, the first to wait might be served last.
	if p.hand(c) {
		p.mu.Unlock()
		return
	}
	p.idle = append(p.idle, c)
	// Each give removes one old connection, so no goroutine is needed for that.
	var old *conn
	if p.idle[0].old(c.idleSince.Sub(p.idle[0].idleSince)) {
		old = p.idle[0]
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

// place takes a place to dial, if there is one. The lock is held.
func (p *pool) place() bool {
	if p.closed || p.max > 0 && p.places >= p.max || p.dialsMost() {
		return false
	}
	p.places++
	p.dialling++
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

// admit gives free places to waiting requests. The lock is held.
func (p *pool) admit() {
	for len(p.waiting) > 0 && p.place() {
		p.hand(nil)
	}
}

// hand passes a connection or a place (nil) to the longest waiting request; it reports false if none waits. The lock is
// held.
func (p *pool) hand(c *conn) bool {
	if len(p.waiting) == 0 {
		return false
	}
	p.waiting[0] <- c // the channel has room for one
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
	for i, c := range slices.Backward(p.idle) {
		if c.to == to {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.mu.Unlock()
			return c, nil
		}
	}
	if p.place() {
		p.mu.Unlock()
		return nil, nil
	}
	if len(p.idle) > 0 && p.places == p.max {
		// All idle connections lead elsewhere: one has to go.
		c := p.idle[0]
		p.idle = slices.Delete(p.idle, 0, 1)
		p.mu.Unlock()
		return c, nil
	}
	turn := make(chan *conn, 1)
	p.waiting = append(p.waiting, turn)
	p.mu.Unlock()
	return p.wait(ctx, deadline, turn)
}

// wait waits for the turn: a connection, a place (nil), or the end of the pool. A turn that comes as the wait ends is
// passed on, so no place is lost.
func (p *pool) wait(ctx context.Context, deadline time.Time, turn chan *conn) (*conn, error) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	var err error
	select {
	case c, ok := <-turn:
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
	i := slices.Index(p.waiting, turn)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i < 0 {
		// The turn came at the same time: pass it on.
		if c, ok := <-turn; c != nil {
			p.give(c, true)
		} else if ok {
			p.mu.Lock()
			p.places--
			p.dialling--
			p.admit()
			p.mu.Unlock()
		}
	}
	return nil, err
}

// close closes the idle connections and ends all waits. Connections in use are closed when they are given back.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.closed = true
	p.idle = nil
	p.places -= len(idle)
	for _, turn := range p.waiting {
		close(turn)
	}
	p.waiting = nil
	p.mu.Unlock()
	for _, c := range idle {
		c.close(true)
	}
}
