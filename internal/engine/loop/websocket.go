package loop

import (
	"errors"
	"io"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"github.com/loadctl/loadctl/targets"
)

// errTorn says that a frame beside requests was written in part, or that TLS is full of such frames.
var errTorn = errors.New("the server does not read what it asks for")

// spoke goes on after a message, or instead of one after a handshake.
func (c *Client) spoke(cn *conn) {
	switch {
	case cn.wire.Replies():
	case cn.writeErr != nil:
		_ = c.attend(cn) // why the server does not read on says more
		cn.writeErr = cn.messages.Why(cn.writeErr)
		c.end(cn, cn.writeErr, targets.ClassOther, false)
		return
	default:
		c.finish(cn, nil)
		return
	}
	cn.state = reading
	cn.wire.Expect(cn.messages)
	cn.messages.Sink = c.beginEvents(cn, c.gaps)
	if c.feed(cn, cn.messages.Greeting()) && cn.Readable {
		c.readSocket(cn)
	}
}

// lasts reports whether a WebSocket can carry another request.
func (c *Client) lasts(cn *conn) bool { return !cn.HungUp && cn.writeErr == nil && !cn.wire.Close }

// readSocket is read for WebSocket.
func (c *Client) readSocket(cn *conn) {
	for range readsInARow {
		n, err := cn.Receive(c.buf)
		if n > 0 && !c.feed(cn, c.buf[:n]) {
			return
		}
		switch {
		case err == nil:
		case sockets.Blocked(err):
			if err := c.pong(cn); err != nil {
				c.fail(cn, err)
			}
			return
		case errors.Is(err, io.EOF):
			c.fail(cn, io.ErrUnexpectedEOF)
			return
		default:
			c.fail(cn, err)
			return
		}
	}
	cn.queued = true
	c.unread = append(c.unread, cn)
}

// feed takes bytes of the reply. It reports whether more are needed. What follows the reply is no reply.
func (c *Client) feed(cn *conn, b []byte) (more bool) {
	if len(b) > 0 {
		c.stamp(cn)
	}
	used, done, err := cn.messages.Feed(b)
	if c.keepLast(b[:used]); err == nil && !done {
		c.keepLast(nil)
		c.keepPart(cn, b)
	}
	switch {
	case err != nil:
		cn.writeErr = cn.messages.Why(cn.writeErr)
		c.end(cn, err, targets.ClassProtocol, false)
		return false
	case !done:
		if err := c.pong(cn); err != nil {
			c.fail(cn, err)
			return false
		}
		return true
	}
	c.finish(cn, b[used:])
	return false
}

// finish ends a request that went well, and takes what has come behind its reply.
func (c *Client) finish(cn *conn, rest []byte) {
	readable := cn.Readable
	c.end(cn, nil, targets.ClassProtocol, c.lasts(cn))
	if cn.messages == nil {
		return
	}
	if cn.Readable = readable; cn.messages.Skip(rest) != nil || !c.attend(cn) {
		cn.closeGracefully()
	}
}

// fail ends a request and its connection.
func (c *Client) fail(cn *conn, err error) { c.end(cn, err, targets.ClassProtocol, false) }

// attend takes what a server sends while no request waits for it: pushes are thrown away, and pings answered. It reports
// false if the connection has ended.
func (c *Client) attend(cn *conn) bool {
	s := cn.messages
	err := s.Settle()
	for range readsInARow {
		if err != nil {
			break
		}
		var n int
		n, err = cn.Receive(c.buf)
		if bad := s.Skip(c.buf[:n]); bad != nil {
			return false
		}
		if sockets.Blocked(err) {
			return c.answer(cn)
		}
	}
	if err != nil {
		s.Fail(err)
		return false
	}
	if !cn.queued { // others get their turn
		cn.queued = true
		c.unread = append(c.unread, cn)
	}
	return c.answer(cn)
}

// answer answers the last ping between requests.
func (c *Client) answer(cn *conn) bool {
	err := c.pong(cn)
	if err != nil {
		cn.messages.Fail(err)
	}
	return err == nil
}

// pong answers the last ping, if it was not answered, as far as there is room.
func (c *Client) pong(cn *conn) error {
	frame := cn.messages.Pong()
	if frame == nil {
		return nil
	}
	n, err := cn.Say(frame)
	cn.messages.Wrote(n)
	switch {
	case n == len(frame) || sockets.Blocked(err) && n == 0:
		return nil
	case n > 0:
		return errTorn
	}
	return err
}

// sendClose says goodbye, if the server may still listen.
func (cn *conn) sendClose() {
	if cn.messages == nil || !cn.Socket.IsOpen() || cn.out < len(cn.request) { // a frame was written in part
		return
	}
	if frame := cn.messages.Bye(); frame != nil {
		_, _ = cn.Say(frame) // the peer may be gone
	}
}
