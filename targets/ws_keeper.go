package targets

import (
	"io"
	"sync"
	"time"
)

// How the keeper looks after idle connections.
const (
	keepEvery = 250 * time.Millisecond // servers wait for seconds at least
	keepSoon  = 5 * time.Millisecond   // if a connection had more than one visit takes
)

// A keptSocket is the WebSocket of a connection. A request holds its lock from before the first byte to the end of the
// reply; the keeper holds it at other times.
type keptSocket struct {
	Socket
	mu sync.Mutex
}

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
			if c.socket == nil {
				continue
			}
			ended, more := c.socket.look(c)
			if more {
				pause = keepSoon
			}
			if ended && p.drop(c) {
				c.close(false) // look has said goodbye
			}
		}
		clear(idle)
	}
}

// look looks after a connection that is idle. It reports whether the socket has ended, and whether there may be more to
// read at once.
func (s *keptSocket) look(c *conn) (ended, more bool) {
	if !s.mu.TryLock() {
		return false, false // a request uses it
	}
	defer s.mu.Unlock()
	before := s.in
	if s.settle(c) == nil {
		if err := s.pong(c, c.writeNow); err != nil {
			s.Fail(err)
		}
	}
	if s.err != nil {
		c.bye()
	}
	return s.err != nil, s.in-before >= mostDrained*readBuffer/2
}

// settle takes what has come, without waiting. Its error is why the socket has ended.
func (s *keptSocket) settle(c *conn) error {
	if err := s.Socket.settle(); err != nil {
		return err
	}
	for range mostDrained {
		n, err := c.readNow(c.buf)
		switch bad := s.Skip(c.buf[:n]); {
		case bad != nil:
			return bad
		case err == nil:
		case isTimeout(err):
			return nil
		default:
			s.Fail(err)
			return err
		}
	}
	return nil
}

// pong answers the last ping, if it was not answered. If there is no room for the answer, it is sent later.
func (s *keptSocket) pong(c *conn, write func(b []byte) (int, error)) error {
	frame := s.Pong()
	if frame == nil {
		return nil
	}
	n, err := write(frame)
	s.Wrote(n)
	if _, later := err.(errNotYet); later && n == 0 && c.wire == io.ReadWriter(c.raw) { //nolint:errorlint // TLS wraps what has ended it
		return nil
	}
	return err
}

// drop takes a connection out of the pool, if it is idle. It reports false if a request has it.
func (p *pool) drop(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !c.listed || c.riders > 0 {
		return false
	}
	p.remove(c)
	p.places--
	p.admit()
	return true
}

// bye says goodbye on a connection that is closed next, if the server may still listen. It does not wait. The lock of the
// socket is held.
func (c *conn) bye() {
	if frame := c.socket.Bye(); frame != nil {
		_, _ = c.writeNow(frame) // the peer may be gone
	}
}
