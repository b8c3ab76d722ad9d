package loop

import (
	"context"
	"slices"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/quic"
	"github.com/loadctl/loadctl/targets/wire"
)

// A stream is what a conn needs whose request is a stream of a shared connection.
type stream struct {
	on       *conn      // its shared connection; nil while it is unassigned
	http     httpStream // own, one that stays open, or h3
	own      http2.Stream
	request  http2.Request // if each request is different
	h3       *quic.Stream  // of HTTP/3; nil if there was none yet
	frames   []byte        // what it sends, if each request is different
	start    int64         // session.wrote when the request began
	received int64         // session.received then
	begun    bool          // it has a stream of HTTP; else it waits for one
	resumed  bool          // other requests had its stream before
	moved    bool          // it has left a connection whose server did not process it
}

// An httpStream is a stream of HTTP/2 or HTTP/3, with the answer.
type httpStream interface {
	check.Answer
	In() int // bytes
	Out() int
	First() int64
	StaysOpen() bool // it stays open after its request
	Release()
}

// sendStream is Send for HTTP/2 and HTTP/3. It takes a connection with room, one that is being opened, or opens one.
func (c *Client) sendStream(due int64, call targets.Call, wire *wire.Wire, h *host) bool {
	now := c.clock.Now()
	on := c.withRoom(now, h, wire)
	if c.wanted = on == nil; c.wanted {
		return false
	}
	r := c.spare()
	r.wire = wire.Filled(call)
	r.begin(targets.Result{Call: call, Due: due, Sent: now}, now+int64(c.wire.Timeout), h)
	if r.stream == nil {
		r.stream = new(stream)
	}
	r.stream.moved, r.stream.begun, r.stream.resumed, r.state = false, false, false, streaming
	c.inFlight.insert(r)
	c.assign(r, on)
	return true
}

// assign puts a request on a shared connection. If that is not open yet, it waits there.
func (c *Client) assign(r, on *conn) {
	r.stream.on = on
	sn := on.session
	if sn.capacity == nil {
		sn.waiting = append(sn.waiting, r)
		if len(sn.waiting) == 1 {
			on.host.coming = on
			c.connectInTurn(on)
		}
		return
	}
	c.beginStream(r)
	switch {
	case sn.h3 != nil:
	case on.wire.Streams == 1:
		c.flush(on) // at once: this is what makes a schedule exact
	case !sn.dirty:
		sn.dirty = true
		c.unsent = append(c.unsent, on)
	}
}

// beginStream begins a request on its connection.
func (c *Client) beginStream(r *conn) {
	on := r.stream.on
	sn := on.session
	if c.wire.Halted() {
		c.end(r, context.Canceled, targets.ClassOther, true)
		return
	}
	if sn.h3 != nil {
		c.beginH3(r)
		return
	}
	request := r.wire.Encoded
	if request == nil {
		request = &r.stream.request
		r.filled = r.wire.Fill(r.filled, r.result.Call)
		if err := r.wire.Encode(request, r.filled); err != nil {
			c.end(r, err, targets.ClassProtocol, true)
			return
		}
	}
	r.stream.start, r.stream.received, r.stream.begun, r.reused = sn.wrote, sn.received, true, sn.served
	sn.attach(r, request, c.limits(r, c.gaps))
	sn.streams++
	c.relist(on)
}

// attach gives a request a stream of HTTP/2: one that is kept, or a new one.
func (sn *session) attach(r *conn, request *http2.Request, l http1.Limits) {
	s := sn.h2.Resume(request, l)
	if r.stream.resumed = s != nil; r.stream.resumed {
		r.stream.http, s.Owner = s, r
		return
	}
	if s = &r.stream.own; request.LongLived != nil {
		s = new(http2.Stream) // it outlives the request
	}
	r.stream.http, s.Owner = s, r
	sn.h2.Open(s, request, l)
}

// detach notes that a request has left its connection. One without requests becomes the youngest of the idle ones.
func (c *Client) detach(r *conn) {
	on := r.stream.on
	sn := on.session
	if sn.streams--; sn.streams == 0 {
		c.unlist(on)
		on.idleSince = c.clock.Now()
	}
}

// giveUpStream is giveUp for HTTP/2 and HTTP/3.
func (c *Client) giveUpStream(r *conn, err error) {
	on := r.stream.on
	if !r.stream.begun {
		c.stopWaiting(r, overdue(err))
		c.end(r, err, targets.ClassOther, false)
		return
	}
	sn, s := on.session, r.stream.http
	silent := sn.received == r.stream.received
	if sn.h3 != nil {
		r.stream.h3.Cancel()
		silent = r.stream.h3.Silent()
	} else {
		sn.h2.Cancel(s.(*http2.Stream))
	}
	c.detach(r)
	sn.served, sn.last = true, sn.last || r.wire.Close
	sn.doubted = sn.doubted || overdue(err) && silent
	r.in, r.out = r.in+s.In(), r.out+s.Out()
	c.end(r, err, targets.ClassOther, !sn.doubted)
	if sn.h3 != nil {
		c.review(on)
		return
	}
	c.respond(on)
}

// stopWaiting takes a request without a stream from where it waits. If it was the last to wait for a connection to open,
// or opening takes longer than a request may, that is given up, as with HTTP/1.1. Others that wait try the next address.
func (c *Client) stopWaiting(r *conn, slow bool) {
	on := r.stream.on
	if on == nil {
		c.unassigned = without(c.unassigned, r)
		return
	}
	sn := on.session
	sn.waiting = without(sn.waiting, r)
	if sn.capacity != nil || len(sn.waiting) > 0 && c.clock.Now()-sn.began < int64(c.wire.Timeout) {
		return
	}
	waiting := sn.waiting
	c.unopen(on, slow)
	c.closeSession(on)
	for _, w := range waiting {
		c.move(w)
	}
}

func without(all []*conn, cn *conn) []*conn {
	return slices.DeleteFunc(all, func(other *conn) bool { return other == cn })
}

// move puts a request on another connection, as its own did not begin to send it, or as the server said that it did not
// process it (RFC 9113, section 6.8). The request was begun, so Send cannot refuse it any more. Without room it waits
// for some.
func (c *Client) move(r *conn) {
	held := c.held
	on := c.withRoom(c.clock.Now(), r.host, r.wire)
	c.held = held // it is about Send
	if r.stream.on, r.stream.begun = on, false; on == nil {
		c.unassigned = append(c.unassigned, r)
		return
	}
	c.assign(r, on)
}

// moveUnassigned moves the requests that found no room, as far as there is some now.
func (c *Client) moveUnassigned() {
	if len(c.unassigned) == 0 {
		return
	}
	waiting := c.unassigned
	c.unassigned = nil
	for _, r := range waiting {
		c.move(r)
	}
}
