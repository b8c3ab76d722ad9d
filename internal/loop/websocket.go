package loop

import (
	"errors"
	"io"

	"github.com/loadctl/loadctl/targets"
)

// errTorn says that a frame beside requests was written in part, or that TLS is full of such frames.
var errTorn = errors.New("the server does not read what it asks for")

// spoke goes on after a message, or instead of one after a handshake.
func (c *Client) spoke(p *place) {
	switch {
	case p.wire.Replies():
	case p.writeErr != nil:
		_ = c.attend(p) // why the server does not read on says more
		p.writeErr = p.socket.Why(p.writeErr)
		c.end(p, p.writeErr, targets.ClassOther, false)
		return
	default:
		c.finish(p, nil)
		return
	}
	p.state = reading
	p.wire.Expect(p.socket)
	if c.feed(p, p.socket.Greeting()) && p.readable {
		c.readSocket(p)
	}
}

// lasts tells whether a WebSocket can carry another request.
func (c *Client) lasts(p *place) bool { return !p.hungUp && p.writeErr == nil && !p.wire.Close }

// readSocket is read for WebSocket.
func (c *Client) readSocket(p *place) {
	for range readsInARow {
		n, err := c.hear(p)
		if n > 0 && !c.feed(p, c.buf[:n]) {
			return
		}
		switch {
		case err == nil:
		case blocked(err):
			if err := c.pong(p); err != nil {
				c.fail(p, err)
			}
			return
		case errors.Is(err, io.EOF):
			c.fail(p, io.ErrUnexpectedEOF)
			return
		default:
			c.fail(p, err)
			return
		}
	}
	p.queued = true
	c.unread = append(c.unread, p)
}

// feed takes bytes of the reply. It reports whether more are needed. What follows the reply is no reply.
func (c *Client) feed(p *place, b []byte) (more bool) {
	used, done, err := p.socket.Feed(b)
	switch {
	case err != nil:
		p.writeErr = p.socket.Why(p.writeErr)
		c.end(p, err, targets.ClassProtocol, false)
		return false
	case !done:
		if err := c.pong(p); err != nil {
			c.fail(p, err)
			return false
		}
		return true
	}
	c.finish(p, b[used:])
	return false
}

// finish ends a request that went well, and takes what has come behind its reply.
func (c *Client) finish(p *place, rest []byte) {
	readable := p.readable
	c.end(p, nil, targets.ClassProtocol, c.lasts(p))
	if p.socket == nil {
		return
	}
	if p.readable = readable; p.socket.Skip(rest) != nil || !c.attend(p) {
		p.leave()
	}
}

// fail ends a request and its connection.
func (c *Client) fail(p *place, err error) { c.end(p, err, targets.ClassProtocol, false) }

// attend takes what a server sends while no request waits for it: pushes are thrown away, and pings answered. It reports
// false if the connection has ended.
func (c *Client) attend(p *place) bool {
	s := p.socket
	err := s.Settle()
	for range readsInARow {
		if err != nil {
			break
		}
		var n int
		n, err = c.hear(p)
		if bad := s.Skip(c.buf[:n]); bad != nil {
			return false
		}
		if blocked(err) {
			return c.answer(p)
		}
	}
	if err != nil {
		s.Fail(err)
		return false
	}
	if !p.queued { // others get their turn
		p.queued = true
		c.unread = append(c.unread, p)
	}
	return c.answer(p)
}

// answer answers the last ping between requests.
func (c *Client) answer(p *place) bool {
	err := c.pong(p)
	if err != nil {
		p.socket.Fail(err)
	}
	return err == nil
}

// pong answers the last ping, if it was not answered, as far as there is room.
func (c *Client) pong(p *place) error {
	frame := p.socket.Pong()
	if frame == nil {
		return nil
	}
	n, err := p.say(frame)
	p.socket.Wrote(n)
	switch {
	case n == len(frame) || blocked(err) && n == 0:
		return nil
	case n > 0:
		return errTorn
	}
	return err
}

// say writes a frame that is not part of a request, and does not wait. With TLS it is written as soon as there is room.
func (p *place) say(frame []byte) (int, error) {
	if p.secure != nil {
		n, err := p.secure.Write(frame)
		p.flush()
		return n, err
	}
	return p.conn.send(frame)
}

// flush is stream.flush, if there is TLS.
func (p *place) flush() {
	if p.secure != nil {
		p.stream.flush()
	}
}

// bye says goodbye, if the server may still listen.
func (p *place) bye() {
	if p.socket == nil || !p.conn.open() || p.out < len(p.request) { // a frame was written in part
		return
	}
	if frame := p.socket.Bye(); frame != nil {
		_, _ = p.say(frame) // the peer may be gone
	}
}
