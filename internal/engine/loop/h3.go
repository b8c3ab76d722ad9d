package loop

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/http3"
	"github.com/loadctl/loadctl/targets/quic"
)

// h3Client is what a Client needs for HTTP/3. Connections and streams have goroutines of their own there; the loop takes what
// these have to report.
type h3Client struct {
	dialer  *quic.Dialer // nil if no request is of HTTP/3
	encoder http3.Encoder
	closing sync.WaitGroup // connections

	mu      sync.Mutex
	dialed  []*dialing
	changed []*dialing
	ended   []*quic.Stream
	some    atomic.Bool // spares the loop the lock
}

// A dialing is a connection of HTTP/3 that is being opened, or was.
type dialing struct {
	owner   *conn
	session *session // of the owner
	stop    context.CancelFunc
	left    bool // its owner wants it no more

	// Valid when it is over.
	conn *quic.Conn
	err  error
}

// note adds to what the loop will take. Any goroutine may call it.
func (c *Client) note(add func(t *h3Client)) {
	t := &c.h3
	t.mu.Lock()
	add(t)
	t.some.Store(true)
	t.mu.Unlock()
	c.wakeup.Signal()
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
	ctx, stop := context.WithCancel(context.Background())
	d := &dialing{owner: cn, session: cn.session, stop: stop}
	name := cn.wire.Name
	cn.state, cn.dial = securing, d
	c.opening++
	go func() {
		conn, err := c.h3.dialer.Dial(ctx, to, local, name, func() {
			c.note(func(t *h3Client) { t.changed = append(t.changed, d) })
		})
		c.note(func(t *h3Client) {
			d.conn, d.err = conn, err
			t.dialed = append(t.dialed, d)
		})
	}()
}

// takeH3 takes what connections and streams of HTTP/3 have to report.
func (c *Client) takeH3() {
	t := &c.h3
	if !t.some.Load() {
		return
	}
	t.mu.Lock()
	dialed, changed, ended := t.dialed, t.changed, t.ended
	t.dialed, t.changed, t.ended = nil, nil, nil
	t.some.Store(false)
	t.mu.Unlock()
	for _, d := range dialed {
		c.dialed(d)
	}
	for _, s := range ended {
		c.answered(s)
	}
	for _, d := range changed {
		if cn := d.owner; cn.session == d.session && cn.state == sharing {
			c.review(cn)
		}
	}
}

// dialed goes on with a connection that was opened, or with why there is none.
func (c *Client) dialed(d *dialing) {
	d.stop()
	cn := d.owner
	switch {
	case d.left:
		c.closeH3(d.conn)
		return
	case d.err != nil:
		cn.dial = nil
		c.opening--
		cn.host.silent(cn.first + 1)
		c.unopened(cn, d.err, targets.ClassOther)
		return
	}
	cn.dial = nil
	c.opening--
	cn.host.peer = cn.first
	sn := cn.session
	sn.capacity, sn.h3, cn.state = d.conn, d.conn, sharing
	cn.ahead, cn.idleSince = false, c.clock.Now()
	c.arrived(cn)
	c.beginWaiting(cn)
	c.review(cn)
}

// closeH3 closes a connection; nil is none. That takes a moment.
func (c *Client) closeH3(conn *quic.Conn) {
	if conn != nil {
		c.h3.closing.Go(conn.Close)
	}
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
		if frames, err = r.wire.EncodeThree(&c.h3.encoder, r.stream.frames[:0], r.filled); err != nil {
			c.end(r, err, targets.ClassProtocol, true)
			return
		}
		r.stream.frames = frames
	}
	s.Owner = r
	r.stream.http, r.stream.begun, r.reused = s, true, on.session.served
	on.session.streams++
	c.relist(on)
	s.Begin(on.session.h3, quic.Request{
		Frames: frames, Head: r.wire.Head, Limits: r.wire.Limits, Timeout: time.Duration(r.deadline - c.clock.Now()), Halted: c.wire.Halted,
	}, func(s *quic.Stream) { c.note(func(t *h3Client) { t.ended = append(t.ended, s) }) })
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
	unsent := err != nil && r.reused && s.Out() == 0 && sn.capacity.Leaving()
	unprocessed := errors.Is(err, http2.ErrUnprocessed) && !r.stream.moved
	if !unsent {
		r.in, r.out = r.in+s.In(), r.out+s.Out()
	}
	if unsent || unprocessed {
		r.stream.moved, r.stream.begun = r.stream.moved || unprocessed, false
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
func (c *Client) Dropped() int64 {
	if c.h3.dialer == nil {
		return 0
	}
	return c.h3.dialer.Dropped()
}

// closeAllH3 closes the sockets of HTTP/3, when its connections have said goodbye.
func (c *Client) closeAllH3() {
	if c.h3.dialer == nil {
		return
	}
	c.takeH3() // connections that nobody waited for
	c.h3.closing.Wait()
	c.h3.dialer.Close()
}
