package loop

import (
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/quic"
	"github.com/loadctl/loadctl/targets/wire"
)

// A session is what a conn needs whose connection is shared: it carries several requests at a time, its streams. Each of
// these has a conn of its own.
type session struct {
	capacity capacity    // nil until the connection is open
	h2       *http2.Conn // capacity, if it is one of HTTP/2
	h3       *quic.Conn  // or of HTTP/3
	began    int64       // when it was begun to be opened
	waiting  []*conn     // requests without a stream: it is being opened, the server allows no more, or they move
	streams  int         // requests that have a stream
	served   bool        // requests have ended on it
	last     bool        // one of these wants no other one behind it
	blocked  bool        // the peer takes nothing more for now
	listed   bool        // it is in the idle list of its host: there is room for a stream
	dirty    bool        // it is in Client.unsent, with something to write
	wrote    int64       // bytes that the peer took
	received int64       // bytes that came
	doubted  bool        // a request got no sign of life in all its time: the connection takes no more
	closing  bool        // it is in Client.closing: the server has to end streams that stayed open
}

// A capacity says what a shared connection is good for.
type capacity interface {
	Room() int     // how many more requests may begin
	Leaving() bool // it takes no more, ever
	Kept() int     // streams that stay open without a request
}

// finishTimeout is how long a server may take to end streams that stayed open.
const finishTimeout = time.Second

// withRoom returns a connection to h that has room for one more request, also one that has yet to be opened; nil if there
// is none.
func (c *Client) withRoom(now int64, h *host, wire *wire.Wire) *conn {
	for cn := h.idle.last; cn != nil; cn = h.idle.last {
		if cn.session.streams > 0 || c.alive(cn, now) {
			return cn
		}
	}
	if cn := h.coming; cn != nil && len(cn.session.waiting) < wire.Streams {
		return cn
	}
	if c.held = !c.mayOpen(); c.held {
		return nil
	}
	if c.connections == c.max && !c.evict() {
		return nil
	}
	return c.newSession(now, h, wire)
}

// newSession takes a conn for a shared connection that has yet to be opened.
func (c *Client) newSession(now int64, h *host, wire *wire.Wire) *conn {
	cn := c.newConn()
	cn.session, cn.wire = &session{began: now}, wire
	cn.begin(targets.Result{}, 0, h)
	return cn
}

// alive looks whether a connection that carries nothing can still be used. If not, it is closed.
func (c *Client) alive(cn *conn, now int64) bool {
	sn, idle := cn.session, now-cn.idleSince
	switch {
	case idle > int64(c.wire.IdleLimit) && sn.capacity.Kept() == 0:
		c.closeSession(cn)
	case sn.h3 != nil:
		c.review(cn)
	case idle >= int64(c.wire.LookAfter):
		cn.Readable = true
		c.readSession(cn)
	}
	return cn.session == sn && sn.listed
}

// openSession goes on with a connection that was just opened.
func (c *Client) openSession(cn *conn) {
	sn := cn.session
	sn.h2, cn.state = http2.NewConn(http1.Limits{}), sharing
	sn.capacity = sn.h2
	cn.ahead, cn.idleSince = false, c.clock.Now()
	c.arrived(cn)
	c.beginWaiting(cn)
	c.readSession(cn)
}

// arrived notes that no more requests may wait for a connection to open.
func (c *Client) arrived(cn *conn) {
	if cn.host.coming == cn {
		cn.host.coming = nil
	}
}

// relist puts a connection into the list of those with room, or takes it out.
func (c *Client) relist(cn *conn) {
	sn := cn.session
	room := cn.state == sharing && !cn.spent() && !sn.blocked && len(sn.waiting) == 0 && sn.streams < cn.wire.Streams && sn.capacity.Room() > 0
	switch {
	case !room:
		c.unlist(cn)
	case !sn.listed:
		sn.listed, c.freed = true, c.freed || c.wanted
		cn.host.idle.push(cn)
		c.retireOld(cn.host)
	}
}

// spent reports whether the connection takes no more requests, ever. One that carries none and is still blocked may stay
// so for ever.
func (cn *conn) spent() bool {
	sn := cn.session
	return sn.doubted || sn.last || sn.blocked && sn.streams == 0 || cn.writeErr != nil || sn.capacity.Leaving()
}

// retireOld closes the connection to a host that has carried nothing for too long. It is called for each one that became
// idle, so no timer is needed.
func (c *Client) retireOld(h *host) {
	if old := h.idle.first; old.session.streams == 0 && old.session.capacity.Kept() == 0 && c.latest-old.idleSince > int64(c.wire.IdleLimit) {
		c.closeSession(old)
	}
}

func (c *Client) unlist(cn *conn) {
	if cn.session.listed {
		cn.session.listed = false
		cn.host.idle.remove(cn)
	}
}

// closeSession closes a shared connection without requests, and frees its conn.
func (c *Client) closeSession(cn *conn) {
	c.unlist(cn)
	c.arrived(cn)
	if cn.session.closing {
		c.closing.remove(cn)
		c.closings--
	} else {
		c.connections--
	}
	if sn := cn.session; sn.capacity != nil && sn.capacity.Leaving() {
		c.hungUp()
	}
	cn.closeGracefully()
	c.h3.CloseConn(cn.session.h3)
	cn.session, cn.state, cn.queued, cn.counted = nil, free, false, false
	c.freed = c.freed || c.wanted
	c.free.push(cn)
}

// closeSessionGracefully closes a shared connection without requests. Streams that stay open are ended first: a server may
// not have looked at messages that it does not answer, and throw them away when the connection ends. It has finishTimeout for
// that, and does not count as a connection meanwhile. At most as many close at a time as there may be connections.
func (c *Client) closeSessionGracefully(cn *conn) {
	sn := cn.session
	switch {
	case sn.h3 != nil:
		c.closeSession(cn)
		return
	case sn.closing:
		if sn.h2.Finishing() == 0 {
			c.closeSession(cn)
		}
		return
	}
	sn.h2.Finish()
	if c.writeSession(cn); cn.writeErr != nil || sn.h2.Finishing() == 0 {
		c.closeSession(cn)
		return
	}
	c.unlist(cn)
	if c.closings == c.max {
		c.closeSession(c.closing.first)
	}
	sn.closing, cn.deadline = true, c.clock.Now()+int64(finishTimeout)
	c.closing.push(cn)
	c.connections, c.closings, c.freed = c.connections-1, c.closings+1, c.freed || c.wanted
}

// closeSessionsGracefully closes all connections with streams that stay open.
func (c *Client) closeSessionsGracefully() {
	for _, cn := range c.conns {
		if cn.state == sharing && cn.session.streams == 0 && cn.session.capacity.Kept() > 0 {
			cn.session.doubted = true // it takes no more
			c.closeSessionGracefully(cn)
		}
	}
	for now := c.clock.Now(); c.closing.first != nil; now = c.clock.Now() {
		if c.expire(now); c.closing.first == nil || c.serve(c.closing.first.deadline-now) != nil {
			return
		}
		c.wakeup.Consume() // a signal keeps it from waiting
		c.resume()
	}
}

// unopened ends what waits for a connection that could not be opened.
func (c *Client) unopened(cn *conn, err error, rest string) {
	switch {
	case cn.session != nil:
		waiting := cn.session.waiting
		cn.ahead = false
		c.closeSession(cn)
		for _, r := range waiting {
			c.end(r, err, rest, false)
		}
	case cn.ahead:
		cn.ahead = false
		c.drop(cn)
	default:
		c.end(cn, err, rest, false)
	}
}
