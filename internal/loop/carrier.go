package loop

import (
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/quic"
)

// A carrier is what a place needs whose connection carries several requests: its riders. They have places of their own,
// without a connection.
type carrier struct {
	session session     // nil until the connection is open
	two     *http2.Conn // session, if it is one of HTTP/2
	three   *quic.Conn  // or of HTTP/3
	began   int64       // when it was begun to be opened
	waiting []*place    // riders without a stream: it is being opened, the server allows no more, or they leave with it
	riders  int         // that have a stream
	served  bool        // requests have ended on it
	last    bool        // one of these wants no other one behind it
	blocked bool        // the peer takes nothing more for now
	listed  bool        // it is in the idle list of its host: there is room for a rider
	dirty   bool        // it is in Client.unsent, with something to write
	wrote   int64       // bytes that the peer took
	heard   int64       // bytes that came
	doubted bool        // a request got no sign of life in all its time: the connection takes no more
	lingers bool        // it is in Client.lingering: the server has to end streams that stayed open
}

// A session says what a connection with requests is good for.
type session interface {
	Room() int     // how many more requests may begin
	Leaving() bool // it takes no more, ever
	Kept() int     // streams that stay open without a request
}

// lingerTime is how long a server may take to end streams that stayed open.
const lingerTime = time.Second

// withRoom returns a connection to h that has room for one more request, also one that has yet to be opened; nil if there
// is none.
func (c *Client) withRoom(now int64, h *host, wire *targets.Wire) *place {
	for p := h.idle.last; p != nil; p = h.idle.last {
		if p.carrier.riders > 0 || c.alive(p, now) {
			return p
		}
	}
	if p := h.coming; p != nil && len(p.carrier.waiting) < wire.Streams {
		return p
	}
	if c.held = !c.mayOpen(); c.held {
		return nil
	}
	if c.connections == c.max && !c.evict() {
		return nil
	}
	return c.newCarrier(now, h, wire)
}

// newCarrier takes a place for a connection that has yet to be opened.
func (c *Client) newCarrier(now int64, h *host, wire *targets.Wire) *place {
	p := c.newPlace()
	p.carrier, p.wire = &carrier{began: now}, wire
	p.begin(targets.Result{}, 0, h)
	return p
}

// alive looks whether a connection that carries nothing can still be used. If not, it is closed.
func (c *Client) alive(p *place, now int64) bool {
	k, idle := p.carrier, now-p.idleSince
	switch {
	case idle > int64(c.wire.IdleLimit) && k.session.Kept() == 0:
		c.close(p)
	case k.three != nil:
		c.review(p)
	case idle >= int64(c.wire.LookAfter):
		p.readable = true
		c.converse(p)
	}
	return p.carrier == k && k.listed
}

// carry goes on with a connection that was just opened.
func (c *Client) carry(p *place) {
	k := p.carrier
	k.two, p.state = http2.NewConn(http1.Limits{}), carrying
	k.session = k.two
	p.ahead, p.idleSince = false, c.clock.Now()
	c.arrived(p)
	c.beginWaiting(p)
	c.converse(p)
}

// arrived notes that no more riders may wait for a connection to open.
func (c *Client) arrived(p *place) {
	if p.host.coming == p {
		p.host.coming = nil
	}
}

// relist puts a connection into the list of those with room, or takes it out.
func (c *Client) relist(p *place) {
	k := p.carrier
	room := p.state == carrying && !p.spent() && !k.blocked && len(k.waiting) == 0 && k.riders < p.wire.Streams && k.session.Room() > 0
	switch {
	case !room:
		c.unlist(p)
	case !k.listed:
		k.listed, c.freed = true, c.freed || c.wanted
		p.host.idle.push(p)
		c.retireOld(p.host)
	}
}

// spent reports whether the connection takes no more requests, ever. One that carries none and is still blocked may stay
// so for ever.
func (p *place) spent() bool {
	k := p.carrier
	return k.doubted || k.last || k.blocked && k.riders == 0 || p.writeErr != nil || k.session.Leaving()
}

// retireOld closes the connection to a host that has carried nothing for too long. It is called for each one that became
// idle, so no timer is needed.
func (c *Client) retireOld(h *host) {
	if old := h.idle.first; old.carrier.riders == 0 && old.carrier.session.Kept() == 0 && c.latest-old.idleSince > int64(c.wire.IdleLimit) {
		c.close(old)
	}
}

func (c *Client) unlist(p *place) {
	if p.carrier.listed {
		p.carrier.listed = false
		p.host.idle.remove(p)
	}
}

// close closes a connection without riders, and frees its place.
func (c *Client) close(p *place) {
	c.unlist(p)
	c.arrived(p)
	if p.carrier.lingers {
		c.lingering.remove(p)
		c.lingers--
	} else {
		c.connections--
	}
	p.leave()
	c.closeThree(p.carrier.three)
	p.carrier, p.state, p.queued, p.counted = nil, free, false, false
	c.freed = c.freed || c.wanted
	c.free.push(p)
}

// part closes a connection without riders. Streams that stay open are ended first: a server may not have looked at
// messages that it does not answer, and throw them away when the connection ends. It has a moment for that, in which
// others may take its place. At most as many linger as there are places.
func (c *Client) part(p *place) {
	k := p.carrier
	switch {
	case k.three != nil:
		c.close(p)
		return
	case k.lingers:
		if k.two.Finishing() == 0 {
			c.close(p)
		}
		return
	}
	k.two.Finish()
	if c.tell(p); p.writeErr != nil || k.two.Finishing() == 0 {
		c.close(p)
		return
	}
	c.unlist(p)
	if c.lingers == c.max {
		c.close(c.lingering.first)
	}
	k.lingers, p.deadline = true, c.clock.Now()+int64(lingerTime)
	c.lingering.push(p)
	c.connections, c.lingers, c.freed = c.connections-1, c.lingers+1, c.freed || c.wanted
}

// partAll closes all connections with streams that stay open.
func (c *Client) partAll() {
	for _, p := range c.places {
		if p.state == carrying && p.carrier.riders == 0 && p.carrier.session.Kept() > 0 {
			p.carrier.doubted = true // it takes no more
			c.part(p)
		}
	}
	for now := c.clock.Now(); c.lingering.first != nil; now = c.clock.Now() {
		if c.expire(now); c.lingering.first == nil || c.serve(c.lingering.first.deadline-now) != nil {
			return
		}
		c.wakeup.consume() // a signal keeps it from waiting
		c.resume()
	}
}

// unopened ends what waits for a connection that could not be opened.
func (c *Client) unopened(p *place, err error, rest string) {
	switch {
	case p.carrier != nil:
		waiting := p.carrier.waiting
		p.ahead = false
		c.close(p)
		for _, r := range waiting {
			c.end(r, err, rest, false)
		}
	case p.ahead:
		p.ahead = false
		c.drop(p)
	default:
		c.end(p, err, rest, false)
	}
}
