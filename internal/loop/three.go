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

// threes is what a client needs for HTTP/3. Connections and streams have goroutines of their own there; the loop takes what
// these have to report.
type threes struct {
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
	place   *place
	carrier *carrier // of the place
	stop    context.CancelFunc
	left    bool // the place wants it no more

	// Valid when it is over.
	conn *quic.Conn
	err  error
}

// note adds to what the loop will take. Any goroutine may call it.
func (c *Client) note(add func(t *threes)) {
	t := &c.threes
	t.mu.Lock()
	add(t)
	t.some.Store(true)
	t.mu.Unlock()
	c.wakeup.signal()
}

// dial opens a connection of HTTP/3 for a place, which is a carrier.
func (c *Client) dial(p *place) {
	known := p.host.names.known.Load()
	if len(known.addresses) == 0 {
		c.unopened(p, known.err, targets.ClassConnect)
		return
	}
	to := known.addresses[p.first%len(known.addresses)]
	local := c.locals.next(to.Addr().Is4())
	ctx, stop := context.WithCancel(context.Background())
	d := &dialing{place: p, carrier: p.carrier, stop: stop}
	name := p.wire.Name
	p.state, p.dial = securing, d
	c.opening++
	go func() {
		conn, err := c.threes.dialer.Dial(ctx, to, local, name, func() {
			c.note(func(t *threes) { t.changed = append(t.changed, d) })
		})
		c.note(func(t *threes) {
			d.conn, d.err = conn, err
			t.dialed = append(t.dialed, d)
		})
	}()
}

// takeThrees takes what connections and streams of HTTP/3 have to report.
func (c *Client) takeThrees() {
	t := &c.threes
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
		if p := d.place; p.carrier == d.carrier && p.state == carrying {
			c.review(p)
		}
	}
}

// dialed goes on with a connection that was opened, or with why there is none.
func (c *Client) dialed(d *dialing) {
	d.stop()
	p := d.place
	switch {
	case d.left:
		c.closeThree(d.conn)
		return
	case d.err != nil:
		p.dial = nil
		c.opening--
		p.host.silent(p.first + 1)
		c.unopened(p, d.err, targets.ClassOther)
		return
	}
	p.dial = nil
	c.opening--
	p.host.peer = p.first
	k := p.carrier
	k.session, k.three, p.state = d.conn, d.conn, carrying
	p.ahead, p.idleSince = false, c.clock.Now()
	c.arrived(p)
	c.beginWaiting(p)
	c.review(p)
}

// closeThree closes a connection; nil is none. That takes a moment.
func (c *Client) closeThree(conn *quic.Conn) {
	if conn != nil {
		c.threes.closing.Go(conn.Close)
	}
}

// beginThree begins the stream of a rider.
func (c *Client) beginThree(r *place) {
	on := r.rider.on
	if s := r.rider.three; s == nil || s.Canceled() {
		r.rider.three, r.rider.frames = new(quic.Stream), nil // the old one may still use its frames
	}
	s, frames := r.rider.three, r.wire.Frames
	if frames == nil {
		r.filled = r.wire.Fill(r.filled, r.result.Call)
		var err error
		if frames, err = r.wire.EncodeThree(&c.threes.encoder, r.rider.frames[:0], r.filled); err != nil {
			c.end(r, err, targets.ClassProtocol, true)
			return
		}
		r.rider.frames = frames
	}
	s.Owner = r
	r.rider.stream, r.rider.begun, r.reused = s, true, on.carrier.served
	on.carrier.riders++
	c.relist(on)
	s.Begin(on.carrier.three, quic.Request{
		Frames: frames, Head: r.wire.Head, Limits: r.wire.Limits, Timeout: time.Duration(r.deadline - c.clock.Now()), Halted: c.wire.Halted,
	}, func(s *quic.Stream) { c.note(func(t *threes) { t.ended = append(t.ended, s) }) })
}

// answered ends the request of a stream, or moves it to another connection: if this one has ended and took nothing of it, or,
// once, if the server says that it did not process it.
func (c *Client) answered(s *quic.Stream) {
	if s.Canceled() {
		return
	}
	r, err := s.Owner.(*place), s.Err()
	on := r.rider.on
	k := on.carrier
	c.left(r)
	unsent := err != nil && r.reused && s.Out() == 0 && k.session.Leaving()
	unprocessed := errors.Is(err, http2.ErrUnprocessed) && !r.rider.moved
	if !unsent {
		r.in, r.out = r.in+s.In(), r.out+s.Out()
	}
	if unsent || unprocessed {
		r.rider.moved, r.rider.begun = r.rider.moved || unprocessed, false
		c.review(on)
		c.move(r)
		return
	}
	k.served, k.last = true, k.last || r.wire.Close
	rest := targets.ClassProtocol
	if s.Out() == 0 {
		rest = targets.ClassOther
	}
	c.end(r, err, rest, !k.session.Leaving() && !r.wire.Close)
	c.review(on)
}

// Dropped returns how many datagrams of HTTP/3 this machine threw away because they came faster than they were read. Any
// goroutine may call it, also after Close.
func (c *Client) Dropped() int64 {
	if c.threes.dialer == nil {
		return 0
	}
	return c.threes.dialer.Dropped()
}

// closeThrees closes the sockets of HTTP/3, when its connections have said goodbye.
func (c *Client) closeThrees() {
	if c.threes.dialer == nil {
		return
	}
	c.takeThrees() // connections that nobody waited for
	c.threes.closing.Wait()
	c.threes.dialer.Close()
}
