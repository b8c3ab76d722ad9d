package loop

import (
	"errors"
	"io"
	"slices"
	"syscall"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http2"
)

// beginWaiting begins requests that wait, as many as the server allows.
func (c *Client) beginWaiting(cn *conn) {
	sn := cn.session
	for len(sn.waiting) > 0 && !cn.spent() && sn.capacity.Room() > 0 {
		r := sn.waiting[0]
		sn.waiting = slices.Delete(sn.waiting, 0, 1)
		c.beginStream(r)
	}
}

// flushAll writes what was begun since the last Poll: the requests of a connection leave together.
func (c *Client) flushAll() {
	for i := 0; i < len(c.unsent); i++ { // it may grow: requests move
		if cn := c.unsent[i]; cn.session != nil && cn.session.dirty {
			c.flush(cn)
		}
	}
	c.unsent = c.unsent[:0]
}

// flush writes what there is to write, as far as the peer takes it. If it takes nothing any more, what came meanwhile counts,
// and then the connection ends.
func (c *Client) flush(cn *conn) {
	if c.writeSession(cn); cn.writeErr != nil {
		c.readSession(cn)
		return
	}
	c.endStreams(cn, nil)                                                       // those that only had something to write
	if sn := cn.session; len(sn.waiting) > 0 || sn.streams == 0 && cn.spent() { // there may be room for them now
		c.respond(cn)
		return
	}
	c.relist(cn)
}

// writeSession is flush without the consequences. After an error nothing more is written, but there may be something to read.
func (c *Client) writeSession(cn *conn) {
	sn := cn.session
	sn.dirty, sn.blocked = false, false
	for cn.writeErr == nil {
		b, err := cn.toWrite()
		if err == nil && len(b) == 0 {
			return
		}
		if err == nil {
			var n int
			if n, err = cn.Socket.Send(b); err == nil {
				sn.wrote += int64(n)
				cn.sessionWritten(n)
				continue
			}
			if sockets.Blocked(err) {
				sn.blocked = true
				return
			}
		}
		cn.writeErr, cn.Readable = err, true
	}
}

// toWrite returns the next bytes for the socket. With TLS they are encrypted in parts, as for HTTP/1.1.
func (cn *conn) toWrite() ([]byte, error) {
	if !cn.Secure() {
		return cn.session.h2.Output(), nil
	}
	if len(cn.Sealed()) > 0 {
		return cn.Sealed(), nil
	}
	if plain := cn.session.h2.Output(); len(plain) > 0 {
		n, err := cn.Seal(plain)
		if err != nil {
			return nil, err
		}
		cn.session.h2.Wrote(n)
	}
	return cn.Sealed(), nil
}

// sessionWritten notes that the peer took n bytes of toWrite.
func (cn *conn) sessionWritten(n int) {
	if cn.Secure() {
		cn.Wrote(n)
	} else {
		cn.session.h2.Wrote(n)
	}
}

// onEvent handles an event of a shared connection.
func (c *Client) onEvent(cn *conn, what sockets.Event) {
	sn := cn.session
	if sn.blocked && what&sockets.CanWrite != 0 {
		c.flush(cn)
	}
	if cn.session == sn && cn.Readable && !cn.queued {
		c.readSession(cn)
	}
}

// readSession reads what has arrived, and answers it.
func (c *Client) readSession(cn *conn) {
	sn := cn.session
	for range readsInARow {
		n, err := cn.Receive(c.buf)
		if n > 0 {
			sn.received += int64(n)
			sn.h2.At = c.clock.Now()
			if bad := cn.session.h2.Feed(c.buf[:n]); bad != nil {
				c.writeSession(cn) // why
				c.lose(cn, bad)
				return
			}
			c.endStreams(cn, nil)
		}
		switch {
		case err == nil:
			continue
		case !sockets.Blocked(err):
			c.lose(cn, cn.whyEnded(err))
		case cn.writeErr != nil:
			c.lose(cn, cn.writeErr)
		default:
			c.respond(cn)
		}
		return
	}
	c.readOn(cn)
	c.respond(cn)
}

// whyEnded returns why a connection ended, by what a read says. If a write found the reset, the system has forgotten it: the read
// then finds an end in order.
func (cn *conn) whyEnded(read error) error {
	if errors.Is(read, io.EOF) && errors.Is(cn.writeErr, syscall.ECONNRESET) {
		return cn.writeErr
	}
	return read
}

// readOn lets resume read on.
func (c *Client) readOn(cn *conn) {
	if !cn.queued {
		cn.queued = true
		c.unread = append(c.unread, cn)
	}
}

// respond writes what the session answers to what it received.
func (c *Client) respond(cn *conn) {
	sn := cn.session
	say := func() {
		c.writeSession(cn)
		c.endStreams(cn, nil) // those that only had something to write
	}
	for say(); len(sn.waiting) > 0 && !cn.spent() && sn.capacity.Room() > 0; say() {
		c.beginWaiting(cn)
	}
	if cn.writeErr != nil {
		c.readOn(cn) // the end comes when nothing is left to read
	}
	c.review(cn)
}

// review looks whether a connection has room, and closes one that both sides are done with. Requests that wait for such a one go
// elsewhere.
func (c *Client) review(cn *conn) {
	if !cn.spent() {
		c.relist(cn)
		return
	}
	sn := cn.session
	waiting := sn.waiting
	sn.waiting = nil
	if c.unlist(cn); sn.streams == 0 {
		c.closeSessionGracefully(cn) // it makes room for them
	}
	for _, r := range waiting {
		c.move(r)
	}
}

// lose ends a connection that broke, and all requests on it. Those of which the peer took nothing go elsewhere.
func (c *Client) lose(cn *conn, err error) {
	sn := cn.session
	sn.h2.Fail(err)
	c.endStreams(cn, err)
	waiting := sn.waiting
	if len(waiting) > 0 {
		cn.close() // without what TLS has yet to send: it may be a request that moves
	}
	c.closeSession(cn)
	for _, r := range waiting {
		c.move(r)
	}
}

// endStreams ends the requests that are over, and those whose streams have ended, or lets them wait for another connection.
// lost is the error of a connection that broke; nil if it goes on.
func (c *Client) endStreams(cn *conn, lost error) {
	sn := cn.session
	for s := sn.h2.Replied(); s != nil; s = sn.h2.Replied() {
		c.finishRequest(s, nil, lost)
		sn.h2.Keep(s)
	}
	for s := sn.h2.Ended(); s != nil; s = sn.h2.Ended() {
		r, err := s.Owner.(*conn), s.Err()
		moves, unwritten := r.moves(err, lost != nil && r.reused && sn.wrote == r.stream.start || lost == nil && r.stream.resumed && s.Out() == 0)
		if !moves {
			c.finishRequest(s, err, lost)
			continue
		}
		c.detach(r)
		if !unwritten {
			r.in, r.out = r.in+s.In(), r.out+s.Out()
		}
		sn.waiting = append(sn.waiting, r)
	}
}

// finishRequest ends the request of a stream. err is why there is no answer.
func (c *Client) finishRequest(s *http2.Stream, err, lost error) {
	r := s.Owner.(*conn)
	c.detach(r)
	sn := r.stream.on.session
	r.in, r.out = r.in+s.In(), r.out+s.Out()
	sn.served, sn.last = true, sn.last || r.wire.Close
	c.end(r, err, targets.ClassProtocol, lost == nil && !sn.capacity.Leaving() && !r.wire.Close)
}
