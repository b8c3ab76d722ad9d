package loop

import (
	"time"

	"github.com/loadctl/loadctl/internal/engine/sockets"
	"github.com/loadctl/loadctl/internal/engine/transport"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/quic"
)

// An h3Owner is who owns a connection of HTTP/3, from when it is being opened.
type h3Owner struct {
	conn    *conn
	session *session // of the conn, then
}

// dial opens a shared connection of HTTP/3.
func (c *Client) dial(cn *conn) {
	known := cn.host.names.Known()
	if len(known.Addresses) == 0 {
		c.unopened(cn, known.Err, targets.ClassConnect)
		return
	}
	to := known.Addresses[cn.first%len(known.Addresses)]
	local := c.locals.Next(to.Addr().Is4())
	cn.began, cn.peer, cn.tried = c.clock.Now(), sockets.PeerAt(to), 1
	c.lookedUp(cn.host)
	cn.state, cn.dial = securing, c.h3.Dial(to, local, cn.wire.Name, h3Owner{cn, cn.session})
	c.opening++
}

// takeH3 takes what connections and streams of HTTP/3 have to report.
func (c *Client) takeH3() {
	reports := c.h3.Take()
	for _, g := range reports.Gaps {
		if c.gaps != nil {
			c.gaps.Gap(g.Step, g.Took)
		}
	}
	for _, d := range reports.Dialed {
		c.dialed(d)
	}
	for _, s := range reports.Ended {
		c.answered(s)
	}
	for _, d := range reports.Changed {
		if of := d.Owner.(h3Owner); of.conn.session == of.session && of.conn.state == sharing {
			c.review(of.conn)
		}
	}
}

// dialed goes on with a connection that was opened, or with why there is none.
func (c *Client) dialed(d *transport.Dialing) {
	d.Stop()
	cn := d.Owner.(h3Owner).conn
	conn, err := d.Conn()
	switch {
	case d.Left:
		c.h3.CloseConn(conn)
		return
	case err != nil:
		cn.dial = nil
		c.opening--
		cn.host.silent(cn.first + 1)
		c.unopened(cn, err, targets.ClassOther)
		return
	}
	cn.dial = nil
	c.opening--
	cn.host.peer = cn.first
	c.numbered(cn)
	sn := cn.session
	sn.capacity, sn.h3, cn.state = conn, conn, sharing
	cn.ahead, cn.idleSince = false, c.clock.Now()
	c.arrived(cn)
	c.beginWaiting(cn)
	c.review(cn)
}

// beginH3 is beginStream for HTTP/3.
func (c *Client) beginH3(r *conn) {
	on := r.stream.on
	if s := r.stream.h3; s == nil || s.Canceled() {
		r.stream.h3, r.stream.frames = new(quic.Stream), nil // the old one may still use its frames
	}
	s, frames := r.stream.h3, r.wire.Frames
	if frames == nil {
		r.filled = r.wire.Fill(r.filled, r.result.Call)
		var err error
		if frames, err = r.wire.EncodeThree(&c.encoder, r.stream.frames[:0], r.filled); err != nil {
			c.end(r, err, targets.ClassProtocol, true)
			return
		}
		r.stream.frames = frames
	}
	s.Owner = r
	r.stream.http, r.stream.begun, r.reused = s, true, on.session.served
	on.session.streams++
	c.relist(on)
	limits := c.limits(r, &c.h3)
	if limits.Sink != nil {
		r.events.Over = func() { s.Linger(c.lingers()) }
	}
	c.h3.Begin(s, on.session.h3, quic.Request{
		Frames: frames, Head: r.wire.Head, Limits: limits, Timeout: time.Duration(r.deadline - c.clock.Now()), Halted: c.wire.Halted, Now: c.clock.Now,
	})
}

// answered ends the request of a stream, or moves it to another connection: if this one has ended and took nothing of it, or,
// once, if the server says that it did not process it.
func (c *Client) answered(s *quic.Stream) {
	if s.Canceled() {
		return
	}
	r, err := s.Owner.(*conn), s.Err()
	on := r.stream.on
	sn := on.session
	c.detach(r)
	moves, unwritten := r.moves(err, err != nil && r.reused && s.Out() == 0 && sn.capacity.Leaving())
	if !unwritten {
		r.in, r.out = r.in+s.In(), r.out+s.Out()
	}
	if moves {
		c.review(on)
		c.move(r)
		return
	}
	sn.served, sn.last = true, sn.last || r.wire.Close
	rest := targets.ClassProtocol
	if s.Out() == 0 {
		rest = targets.ClassOther
	}
	c.end(r, err, rest, !sn.capacity.Leaving() && !r.wire.Close)
	c.review(on)
}

// Dropped returns how many datagrams of HTTP/3 this machine threw away because they came faster than they were read. Any
// goroutine may call it, also after Close.
func (c *Client) Dropped() int64 { return c.h3.Dropped() }
