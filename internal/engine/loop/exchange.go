package loop

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
)

// readsInARow is how many buffers of one answer are read before other connections get their turn.
const readsInARow = 8

// handle handles an event. Events are edges: what is not used now must be remembered.
func (c *Client) handle(cn *conn, what sockets.Event) {
	cn.Readable = cn.Readable || what&sockets.CanRead != 0
	cn.HungUp = cn.HungUp || what&sockets.PeerClosed != 0 && !cn.wire.Datagrams()
	if cn.messages != nil && (cn.state == reading || cn.state == ended || cn.state == idle) && what&sockets.CanWrite != 0 {
		cn.Readable = true // a pong may have waited for room
	}
	if cn.state != writing && cn.state != sharing {
		cn.Flush() // there may be room again
	}
	switch cn.state {
	case connecting:
		if what&sockets.CanWrite != 0 {
			c.connected(cn)
		}
	case securing:
		cn.Signal()
	case writing:
		if cn.Readable && cn.discards() {
			c.discard(cn) // else both sides may wait until the other one reads
		}
		if what&sockets.CanWrite != 0 && !c.write(cn) {
			c.reopen(cn)
		}
	case reading:
		if cn.Readable && !cn.queued {
			c.read(cn)
		}
	case sharing:
		c.onEvent(cn, what)
	case ended:
		if cn.Readable && !c.settled(cn) {
			cn.sendClose()
			cn.close()
		}
	case idle:
		// The peer closed it, or sent unexpected data.
		if cn.Readable && !c.settled(cn) {
			cn.host.idle.remove(cn)
			c.hungUp()
			c.drop(cn)
		}
	}
}

// write writes the rest of the request. The answer is read only afterwards. If the server had closed
// a reused connection before the first byte, write returns false and only notes the error: the request reached nobody.
func (c *Client) write(cn *conn) bool {
	if !cn.begun && (len(cn.request) > 0 || cn.wire.Raw()) && c.wire.Halted() {
		c.end(cn, context.Canceled, targets.ClassOther, c.settled(cn))
		return true
	}
	cn.state = writing
	for {
		b, err := cn.unsent()
		if err == nil && len(b) == 0 && (cn.begun || !cn.wire.Datagrams()) {
			break
		}
		if err == nil {
			var n int
			if n, err = cn.Socket.Send(b); err == nil {
				cn.wrote(n)
				continue
			}
			if sockets.Blocked(err) {
				return true // another event will say that there is room again
			}
		}
		switch {
		case cn.unreached():
			cn.writeErr = err
			return false
		case !cn.begun:
			c.end(cn, err, targets.ClassOther, false)
			return true
		}
		// A server may answer and hang up before it has read the whole body. Its answer says more than our broken pipe.
		cn.writeErr, cn.Readable = err, true
		break
	}
	switch {
	case cn.messages != nil:
		c.spoke(cn)
		return true
	case !cn.wire.Replies():
		c.sent(cn)
		return true
	}
	cn.state = reading
	if cn.Readable {
		c.read(cn)
	}
	return true
}

// reopen opens another connection for a request that had to wait for room until the server hung up, without having read
// it.
func (c *Client) reopen(cn *conn) {
	cn.close()
	cn.reused, cn.writeErr = false, nil
	c.connectInTurn(cn)
}

// read reads the answer as far as it has arrived. A read that does not fill the buffer has emptied the socket, and
// later data is another event; after a close there is none.
func (c *Client) read(cn *conn) {
	switch {
	case cn.messages != nil:
		c.readSocket(cn)
		return
	case cn.Secure():
		c.readSecure(cn)
		return
	}
	datagrams := cn.wire.Datagrams() // none of them says that there are no more, and an empty one is no end
	for range readsInARow {
		n, err := cn.Socket.Receive(c.buf)
		switch {
		case err == nil:
		case sockets.Blocked(err):
			cn.Readable = false
			return
		default:
			c.end(cn, err, targets.ClassProtocol, false)
			return
		}
		if n == 0 && !datagrams {
			c.end(cn, cn.reply.EOF(), targets.ClassProtocol, false)
			return
		}
		c.stamp(cn)
		used, complete, err := cn.reply.Feed(c.buf[:n])
		cn.in += used
		if complete || err != nil {
			c.keepLast(c.buf[:n])
			keep := err == nil && c.reusable(cn) && (datagrams || n < len(c.buf) || c.drained(cn))
			c.end(cn, err, targets.ClassProtocol, keep)
			return
		}
		c.keepPart(cn, c.buf[:n])
		if n < len(c.buf) && !cn.HungUp && !datagrams {
			cn.Readable = false
			return
		}
	}
	c.readOn(cn)
}

// reusable reports whether the connection can carry another request. The answer knows about data after it.
func (c *Client) reusable(cn *conn) bool {
	return !cn.HungUp && cn.writeErr == nil && !cn.wire.Close && cn.reply.KeepAlive()
}

// nothingToRead looks whether there is nothing to read on a connection without a request, not even a close.
func (c *Client) nothingToRead(cn *conn) bool {
	if !cn.Secure() && cn.messages == nil && !cn.discards() {
		return c.drained(cn)
	}
	cn.Readable = true
	return c.settled(cn)
}

// drained reports whether there is nothing to read, not even a close. A byte that it reads is lost, and so is the
// connection.
func (c *Client) drained(cn *conn) bool {
	_, err := cn.Socket.Receive(c.scratch()[:1])
	return sockets.Blocked(err)
}

// resume goes on with the reads that gave way to other connections.
func (c *Client) resume() {
	c.turn, c.unread = c.unread, c.turn[:0]
	for _, cn := range c.turn {
		cn.queued = false
		if cn.state == sharing {
			c.readSession(cn)
		}
		switch {
		case cn.state == reading && (cn.Readable || cn.Secure()):
			c.read(cn)
		case (cn.messages != nil || cn.discards()) && (cn.state == idle || cn.state == ended):
			c.handle(cn, sockets.CanRead)
		}
	}
}

// end ends the request of a conn, and keeps the connection or closes it. rest is the class if err does not determine
// it. It reads the clock each time: a batch takes longer than the allowed error of Done.
func (c *Client) end(cn *conn, err error, rest string, keep bool) {
	now := c.clock.Now()
	if err == nil && now > max(cn.deadline, cn.lasts()) {
		err, keep = os.ErrDeadlineExceeded, false
	}
	if err != nil && cn.writeErr != nil {
		err = cn.writeErr
	}
	r := &cn.result
	r.Done, c.latest = cn.done(now), now
	earlier := r.Outcome // of redirects
	meant := cn.meaning(err)
	r.Outcome = cn.wire.Outcome(cn.currentAnswer(), time.Duration(r.Done-r.Sent), meant, rest, r.Call.Session)
	r.Outcome.BytesIn, r.Outcome.BytesOut = r.Outcome.BytesIn+int64(cn.in)+earlier.BytesIn, r.Outcome.BytesOut+int64(cn.out)+earlier.BytesOut
	next, to := c.next(cn, err)
	switch {
	case next == nil:
		c.observe(cn, meant)
	case c.follower != nil:
		c.followed(cn)
	}
	c.dropKept(cn)
	cn.release()
	if cn.messages != nil {
		if err != nil && !keep {
			cn.messages.Fail(err)
		}
		if !keep {
			cn.sendClose()
		}
		in, out := cn.messages.Counted()
		r.Outcome.BytesIn, r.Outcome.BytesOut = r.Outcome.BytesIn+in, r.Outcome.BytesOut+out
	}
	if keep {
		c.closedInARow = 0
	} else {
		if cn.number > 0 && (cutOff(r.Outcome.Class) || errors.Is(err, io.ErrUnexpectedEOF) || err == nil && !cn.wire.Close) {
			c.hungUp()
		}
		cn.close()
		if err == nil {
			c.closedInARow++
		}
	}
	cn.Readable = false
	if next != nil {
		c.stay(cn)
		c.follow(cn, next, to)
		return
	}
	cn.state = ended
	c.leave(cn)
	c.ended.push(cn)
}

// currentAnswer returns the answer to the request of a conn, as far as it came.
func (cn *conn) currentAnswer() check.Answer {
	if cn.state == streaming && cn.stream.begun {
		return cn.stream.http
	}
	switch {
	case cn.messages != nil:
		return cn.messages
	case cn.own != nil:
		return cn.own
	}
	return cn.reply
}

// release frees what a large answer has taken.
func (cn *conn) release() {
	if cn.state == streaming {
		if cn.stream.begun && !cn.stream.http.StaysOpen() {
			cn.stream.http.Release()
		}
		return
	}
	cn.reply.Release()
}
