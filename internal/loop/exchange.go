package loop

import (
	"context"
	"os"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
)

// readsInARow is how many buffers of one answer are read before other connections get their turn.
const readsInARow = 8

// handle handles an event. Events are edges: what is not used now must be remembered.
func (c *Client) handle(p *place, what event) {
	p.readable = p.readable || what&canRead != 0
	p.hungUp = p.hungUp || what&peerClosed != 0 && !p.wire.Datagrams()
	if p.socket != nil && (p.state == reading || p.state == ended || p.state == idle) && what&canWrite != 0 {
		p.readable = true // a pong may have waited for room
	}
	if p.secure != nil && p.state != writing && p.state != carrying {
		p.stream.flush() // there may be room again
	}
	switch p.state {
	case connecting:
		if what&canWrite != 0 {
			c.connected(p)
		}
	case securing:
		p.shake.signal()
	case writing:
		if p.readable && p.discards() {
			c.discard(p) // else both sides may wait until the other one reads
		}
		if what&canWrite != 0 && !c.write(p) {
			c.reopen(p)
		}
	case reading:
		if p.readable && !p.queued {
			c.read(p)
		}
	case carrying:
		c.hearOf(p, what)
	case ended:
		if p.readable && !c.settled(p) {
			p.bye()
			p.hangUp()
		}
	case idle:
		// The peer closed it, or sent unexpected data.
		if p.readable && !c.settled(p) {
			p.host.idle.remove(p)
			c.drop(p)
		}
	}
}

// write writes the rest of the request. The answer is read only afterwards. If the server had closed
// a reused connection before the first byte, write returns false and only notes the error: the request reached nobody.
func (c *Client) write(p *place) bool {
	if !p.begun && (len(p.request) > 0 || p.wire.Raw()) && c.wire.Halted() {
		c.end(p, context.Canceled, targets.ClassOther, c.settled(p))
		return true
	}
	p.state = writing
	for {
		b, err := p.unsent()
		if err == nil && len(b) == 0 && (p.begun || !p.wire.Datagrams()) {
			break
		}
		if err == nil {
			var n int
			if n, err = p.conn.send(b); err == nil {
				p.took(n)
				continue
			}
			if blocked(err) {
				return true // another event will say that there is room again
			}
		}
		switch {
		case !p.begun && p.reused:
			p.writeErr = err
			return false
		case !p.begun:
			c.end(p, err, targets.ClassOther, false)
			return true
		}
		// A server may answer and hang up before it has read the whole body. Its answer says more than our broken pipe.
		p.writeErr, p.readable = err, true
		break
	}
	switch {
	case p.socket != nil:
		c.spoke(p)
		return true
	case !p.wire.Replies():
		c.sent(p)
		return true
	}
	p.state = reading
	if p.readable {
		c.read(p)
	}
	return true
}

// reopen opens another connection for a request that had to wait for room until the server hung up, without having read
// it.
func (c *Client) reopen(p *place) {
	p.hangUp()
	p.reused, p.writeErr = false, nil
	c.connectInTurn(p)
}

// read reads the answer as far as it has arrived. A read that does not fill the buffer has emptied the socket, and
// later data is another event; after a hang-up there is none.
func (c *Client) read(p *place) {
	switch {
	case p.socket != nil:
		c.readSocket(p)
		return
	case p.secure != nil:
		c.readSecure(p)
		return
	}
	datagrams := p.wire.Datagrams() // none of them says that there are no more, and an empty one is no end
	for range readsInARow {
		n, err := p.conn.receive(c.buf)
		switch {
		case err == nil:
		case blocked(err):
			p.readable = false
			return
		default:
			c.end(p, err, targets.ClassProtocol, false)
			return
		}
		if n == 0 && !datagrams {
			c.end(p, p.reply.EOF(), targets.ClassProtocol, false)
			return
		}
		used, complete, err := p.reply.Feed(c.buf[:n])
		p.in += used
		if complete || err != nil {
			keep := err == nil && c.reusable(p) && (datagrams || n < len(c.buf) || c.drained(p))
			c.end(p, err, targets.ClassProtocol, keep)
			return
		}
		if n < len(c.buf) && !p.hungUp && !datagrams {
			p.readable = false
			return
		}
	}
	c.readOn(p)
}

// reusable tells whether the connection can carry another request. The answer knows about data after it.
func (c *Client) reusable(p *place) bool {
	return !p.hungUp && p.writeErr == nil && !p.wire.Close && p.reply.KeepAlive()
}

// quiet looks whether there is nothing to read on a connection without a request, not even a hang-up.
func (c *Client) quiet(p *place) bool {
	if p.secure == nil && p.socket == nil && !p.discards() {
		return c.drained(p)
	}
	p.readable = true
	return c.settled(p)
}

// drained tells whether there is nothing to read, not even a hang-up. A byte that it reads is lost, and so is the
// connection.
func (c *Client) drained(p *place) bool {
	_, err := p.conn.receive(c.buf[:1])
	return blocked(err)
}

// resume goes on with the reads that gave way to other connections.
func (c *Client) resume() {
	c.turn, c.unread = c.unread, c.turn[:0]
	for _, p := range c.turn {
		p.queued = false
		if p.state == carrying {
			c.converse(p)
		}
		switch {
		case p.state == reading && (p.readable || p.secure != nil):
			c.read(p)
		case (p.socket != nil || p.discards()) && (p.state == idle || p.state == ended):
			c.handle(p, canRead)
		}
	}
}

// end ends the request of a place, and keeps the connection or closes it. rest is the class if err does not determine
// it. It reads the clock each time: a batch takes longer than the allowed error of Done.
func (c *Client) end(p *place, err error, rest string, keep bool) {
	now := c.clock.Now()
	if err == nil && now > p.deadline {
		err, keep = os.ErrDeadlineExceeded, false
	}
	if err != nil && p.writeErr != nil {
		err = p.writeErr
	}
	r := &p.result
	r.Done, c.latest = now, now
	earlier := r.Outcome // of redirects
	r.Outcome = p.wire.Outcome(p.heard(), time.Duration(now-r.Sent), err, rest, r.Call.Session)
	r.Outcome.BytesIn, r.Outcome.BytesOut = r.Outcome.BytesIn+int64(p.in)+earlier.BytesIn, r.Outcome.BytesOut+int64(p.out)+earlier.BytesOut
	next, to := c.redirected(p, err)
	p.release()
	if p.socket != nil {
		if err != nil && !keep {
			p.socket.Fail(err)
		}
		if !keep {
			p.bye()
		}
		in, out := p.socket.Counted()
		r.Outcome.BytesIn, r.Outcome.BytesOut = r.Outcome.BytesIn+in, r.Outcome.BytesOut+out
	}
	if keep {
		c.closedInARow = 0
	} else {
		p.hangUp()
		if err == nil {
			c.closedInARow++
		}
	}
	p.readable = false
	if next != nil {
		c.follow(p, next, to)
		return
	}
	p.state = ended
	c.inFlight.remove(p)
	c.ended.push(p)
}

// heard returns the answer to the request of a place, as far as it came.
func (p *place) heard() check.Answer {
	if p.state == riding && p.rider.begun {
		return p.rider.stream
	}
	if p.socket != nil {
		return p.socket
	}
	return p.reply
}

// release frees what a large answer has taken.
func (p *place) release() {
	if p.state == riding {
		if p.rider.begun && !p.rider.stream.Lasts() {
			p.rider.stream.Release()
		}
		return
	}
	p.reply.Release()
}
