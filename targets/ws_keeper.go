package targets

import (
	"slices"
	"time"
)

// How the keeper looks after idle connections.
const (
	keepEvery = 250 * time.Millisecond // servers wait for seconds at least
	keepSoon  = 5 * time.Millisecond   // if a connection had more than one visit takes
)

// keep looks after the idle WebSockets of the pool until it is closed, in a goroutine of its own: it throws pushes away,
// answers pings, and closes connections that the server has closed. So a connection costs no goroutine while it is idle,
// and a request no change of goroutines.
//
// A connection that it looks after stays where it is. A request that takes it at the same time waits for some
// microseconds.
func (p *pool) keep() {
	var idle []*conn
	for pause := keepEvery; ; {
		time.Sleep(pause)
		p.mu.Lock()
		closed := p.closed
		idle = append(idle[:0], p.idle...)
		p.mu.Unlock()
		if closed {
			return
		}
		pause = keepEvery
		for _, c := range idle {
			if c.stream == nil {
				continue
			}
			ended, more := c.stream.look(c)
			if more {
				pause = keepSoon
			}
			if ended && p.remove(c) {
				c.close(true)
			}
		}
		clear(idle)
	}
}

// look looks after a connection that is idle. It reports whether the stream has ended, and whether there may be more to
// read at once.
func (s *stream) look(c *conn) (ended, more bool) {
	if !s.mu.TryLock() {
		return false, false // a request uses it
	}
	defer s.mu.Unlock()
	before := s.in
	if s.settle(c) == nil {
		s.err = s.pongNow(c)
	}
	return s.err != nil, s.in-before >= mostDrained*readBuffer/2
}

// remove takes an idle connection out of the pool. It reports false if the connection is not idle.
func (p *pool) remove(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.idle, c)
	if i < 0 {
		return false
	}
	p.idle = slices.Delete(p.idle, i, i+1)
	p.places--
	p.admit()
	return true
}
