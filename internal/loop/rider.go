package loop

import (
	"context"
	"slices"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/quic"
)

// A rider is what a place needs whose request is a stream of a carrier.
type rider struct {
	on      *place // its carrier; nil while it is stranded
	stream  ridden // own, one that stays open, or three
	own     http2.Stream
	request http2.Request // if each request is different
	three   *quic.Stream  // of HTTP/3; nil if there was none yet
	frames  []byte        // what it sends, if each request is different
	start   int64         // carrier.wrote when the request began
	heard   int64         // carrier.heard then
	begun   bool          // it has a stream; else it waits at its carrier
	resumed bool          // other requests had its stream before
	moved   bool          // it has left a connection whose server did not process it
}

// A ridden is a request on a carrier, with its answer.
type ridden interface {
	check.Answer
	In() int // bytes
	Out() int
	Lasts() bool // it stays open after its request
	Release()
}

// ride is Send for HTTP/2 and HTTP/3. It takes a connection with room, one that is being opened, or opens one.
func (c *Client) ride(due int64, call targets.Call, wire *targets.Wire, h *host) bool {
	now := c.clock.Now()
	on := c.withRoom(now, h, wire)
	if c.wanted = on == nil; c.wanted {
		return false
	}
	r := c.spare()
	r.wire = wire.Filled(call)
	r.begin(targets.Result{Call: call, Due: due, Sent: now}, now+int64(c.wire.Timeout), h)
	if r.rider == nil {
		r.rider = new(rider)
	}
	r.rider.moved, r.rider.begun, r.state = false, false, riding
	c.inFlight.insert(r)
	c.assign(r, on)
	return true
}

// assign puts a rider on a connection. If that is not open yet, it waits there.
func (c *Client) assign(r, on *place) {
	r.rider.on = on
	k := on.carrier
	if k.session == nil {
		k.waiting = append(k.waiting, r)
		if len(k.waiting) == 1 {
			on.host.coming = on
			c.connectInTurn(on)
		}
		return
	}
	c.beginStream(r)
	switch {
	case k.three != nil:
	case on.wire.Streams == 1:
		c.speak(on) // at once: this is what makes a schedule exact
	case !k.dirty:
		k.dirty = true
		c.unsent = append(c.unsent, on)
	}
}

// beginStream begins the stream of a rider.
func (c *Client) beginStream(r *place) {
	on := r.rider.on
	k := on.carrier
	if c.wire.Halted() {
		c.end(r, context.Canceled, targets.ClassOther, true)
		return
	}
	if k.three != nil {
		c.beginThree(r)
		return
	}
	request := r.wire.Encoded
	if request == nil {
		request = &r.rider.request
		r.filled = r.wire.Fill(r.filled, r.result.Call)
		if err := r.wire.Encode(request, r.filled); err != nil {
			c.end(r, err, targets.ClassProtocol, true)
			return
		}
	}
	r.rider.start, r.rider.heard, r.rider.begun, r.reused = k.wrote, k.heard, true, k.served
	k.seat(r, request)
	k.riders++
	c.relist(on)
}

// seat gives a rider a stream: one that is kept, or a new one.
func (k *carrier) seat(r *place, request *http2.Request) {
	s := k.two.Resume(request)
	if r.rider.resumed = s != nil; r.rider.resumed {
		r.rider.stream, s.Owner = s, r
		return
	}
	if s = &r.rider.own; request.Lasting != nil {
		s = new(http2.Stream) // it outlives the request
	}
	r.rider.stream, s.Owner = s, r
	k.two.Open(s, request, r.wire.Limits)
}

// left notes that a request has left its connection. One without requests becomes the youngest of the idle ones.
func (c *Client) left(r *place) {
	on := r.rider.on
	k := on.carrier
	if k.riders--; k.riders == 0 {
		c.unlist(on)
		on.idleSince = c.clock.Now()
	}
}

// giveUpRider is giveUp for HTTP/2.
func (c *Client) giveUpRider(r *place, err error) {
	on := r.rider.on
	if !r.rider.begun {
		c.unwait(r, overdue(err))
		c.end(r, err, targets.ClassOther, false)
		return
	}
	k, s := on.carrier, r.rider.stream
	silent := k.heard == r.rider.heard
	if k.three != nil {
		r.rider.three.Cancel()
		silent = r.rider.three.Silent()
	} else {
		k.two.Cancel(s.(*http2.Stream))
	}
	c.left(r)
	k.served, k.last = true, k.last || r.wire.Close
	k.doubted = k.doubted || overdue(err) && silent
	r.in, r.out = r.in+s.In(), r.out+s.Out()
	c.end(r, err, targets.ClassOther, !k.doubted)
	if k.three != nil {
		c.review(on)
		return
	}
	c.reply(on)
}

// unwait takes a request without a stream from where it waits. If it was the last to wait for a connection to open,
// or opening takes longer than a request may, that is given up, as with HTTP/1.1. Others that wait try the next address.
func (c *Client) unwait(r *place, slow bool) {
	on := r.rider.on
	if on == nil {
		c.stranded = without(c.stranded, r)
		return
	}
	k := on.carrier
	k.waiting = without(k.waiting, r)
	if k.session != nil || len(k.waiting) > 0 && c.clock.Now()-k.began < int64(c.wire.Timeout) {
		return
	}
	waiting := k.waiting
	c.unopen(on, slow)
	c.close(on)
	for _, w := range waiting {
		c.move(w)
	}
}

func without(all []*place, p *place) []*place {
	return slices.DeleteFunc(all, func(other *place) bool { return other == p })
}

// move puts a rider on another connection, as its own did not begin to send it, or as the server said that it did not
// process it (RFC 9113, section 6.8). The request was begun, so Send cannot refuse it any more. Without room it waits
// for some.
func (c *Client) move(r *place) {
	held := c.held
	on := c.withRoom(c.clock.Now(), r.host, r.wire)
	c.held = held // it tells of Send
	if r.rider.on, r.rider.begun = on, false; on == nil {
		c.stranded = append(c.stranded, r)
		return
	}
	c.assign(r, on)
}

// moveStranded moves the riders that found no room, as far as there is some now.
func (c *Client) moveStranded() {
	if len(c.stranded) == 0 {
		return
	}
	waiting := c.stranded
	c.stranded = nil
	for _, r := range waiting {
		c.move(r)
	}
}
