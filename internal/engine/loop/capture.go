package loop

import (
	"cmp"
	"strings"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/wire"
)

// What a Watcher gets of requests and connections. An answer that came with one read is still in the buffer when its request
// ends, so it costs nothing. Of others the beginning is kept until then, in one of few buffers.

// mostParts is how many answers that did not come with one read are kept at a time.
const mostParts = 32

// A capture keeps what a Watcher may want to see.
type capture struct {
	watcher  targets.Watcher  // nil = none
	phases   targets.Phases   // nil = nobody wants to know
	follower targets.Follower // the same, if it wants redirects; else nil
	gaps     events.Gaps      // nil = nobody wants to know
	sample   int              // bytes of each body that it wants; −1 = no exchanges
	last     []byte           // what was read last, of the request that ends now
	buffers  [][]byte         // not in use
	made     int              // buffers
	numbers  int64            // connections so far
}

// Watch gives w the exchanges that it wants, with so many bytes of each body; none if that is negative. Call it before the
// first Send.
func (c *Client) Watch(w targets.Watcher, sample int) {
	c.watcher, c.sample = w, sample
	if c.follower, _ = w.(targets.Follower); sample < 0 {
		c.follower = nil
	}
}

// Time tells p of phases of connections. Call it before the first Send.
func (c *Client) Time(p targets.Phases) { c.phases = p }

// keepPart takes bytes of an answer that goes on after them.
func (c *Client) keepPart(cn *conn, b []byte) {
	if cn.result.First == 0 && len(b) > 0 {
		cn.result.First = c.clock.Now()
	}
	if c.sample < 0 || len(b) == 0 {
		return
	}
	most := wire.MostAnswer(c.sample)
	if cn.part == nil {
		switch n := len(c.buffers); {
		case n > 0:
			cn.part, c.buffers = c.buffers[n-1], c.buffers[:n-1]
		case c.made < mostParts:
			cn.part = make([]byte, 0, most)
			c.made++
		default:
			cn.missed = true
			return
		}
	}
	cn.part = append(cn.part, b[:min(len(b), most-len(cn.part))]...)
}

// keepLast takes the last bytes of an answer. They stay valid until end.
func (c *Client) keepLast(b []byte) { c.last = b }

// scratch returns a buffer for what is thrown away, at least a byte. The last bytes of an answer are not in it, if they can be
// spared.
func (c *Client) scratch() []byte {
	if n := len(c.last); n < len(c.buf) {
		return c.buf[n:]
	}
	return c.buf
}

// dropKept gives back what was kept of an answer.
func (c *Client) dropKept(cn *conn) {
	c.last, cn.missed = nil, false
	if cn.part != nil {
		c.buffers, cn.part = append(c.buffers, cn.part[:0]), nil
	}
}

// begun returns the beginning of the answer to the request of a conn, as it came; nothing if that was not kept.
func (c *Client) begun(cn *conn) []byte {
	switch {
	case cn.missed:
		return nil // without what is before it, the rest says nothing, and secrets in it have no names
	case cn.part != nil && len(cn.part) == wire.MostAnswer(c.sample):
		return cn.part // there may be a gap before the last bytes
	}
	return append(cn.part, c.last...)
}

// observe notes what is known of a request that has ended with err, and what it exchanged if the Watcher wants that.
func (c *Client) observe(cn *conn, err error) {
	r, on := &cn.result, cn
	if cn.state == streaming {
		if on = cn.stream.on; cn.stream.begun {
			r.First = cn.stream.http.First()
		}
	} else if r.First == 0 && len(c.last) > 0 {
		r.First = r.Done
	}
	if on != nil {
		r.Connection, r.Reused = on.number, cn.reused
	}
	if c.sample < 0 || cn.state == resting || !c.watcher.Worth(r) {
		return
	}
	seen := wire.Seen{Call: r.Call, Request: cn.sent(), Answer: cn.currentAnswer(), Raw: c.begun(cn), Took: time.Duration(r.Done - r.Sent), Err: err}
	r.Exchange = cn.wire.Exchange(seen, c.sample)
	if r.Exchange.TLS = targets.RefusedTLS(err); on == nil {
		return
	}
	if on.number > 0 {
		r.Exchange.Connect, r.Exchange.Handshake = on.connecting, on.securing
		r.Exchange.Opened, r.Exchange.TLS = on.opened, cmp.Or(on.agreed(), r.Exchange.TLS)
	}
	if on.number > 0 || on.tried > 0 {
		r.Exchange.Remote = on.peer.String()
	}
}

// followed notes an answer that was a redirect.
func (c *Client) followed(cn *conn) {
	c.observe(cn, nil)
	c.follower.Followed(cn.result)
	cn.result.Exchange = nil
}

// agreed returns the TLS of a connection; nil if it has none.
func (cn *conn) agreed() *targets.TLS {
	if cn.session != nil && cn.session.h3 != nil {
		return targets.TLSOf(cn.session.h3.State().TLS)
	}
	if state, ok := cn.TLS(); ok {
		return targets.TLSOf(state)
	}
	return nil
}

// sent returns the request of a conn, as it was filled.
func (cn *conn) sent() []byte {
	switch {
	case cn.state != streaming:
		return cn.request
	case cn.wire.Request != nil:
		return cn.wire.Request
	}
	return cn.filled
}

// limits returns within which a stream's answer is read, for a request that begins now.
func (c *Client) limits(r *conn, gaps events.Gaps) http1.Limits {
	l := r.wire.Limits
	l.Sink = c.beginEvents(r, gaps)
	if c.sample < 0 {
		l.Hold.Bytes = 0
		return l
	}
	l.Hold.Bytes, l.Hold.From = max(l.Hold.Bytes, c.sample), c.watcher.Holds(&r.result)
	return l
}

// phase notes a phase of a connection that began at some time. It returns when it ended.
func (c *Client) phase(p targets.Phase, began int64) int64 {
	now := c.clock.Now()
	if c.phases != nil {
		c.phases.Phase(p, now-began)
	}
	return now
}

// hungUp notes that a server closed a connection.
func (c *Client) hungUp() {
	if c.phases != nil {
		c.phases.Phase(targets.PhaseClosed, 0)
	}
}

// numbered gives a connection that a peer accepted its number.
func (c *Client) numbered(cn *conn) {
	c.numbers++
	cn.number = c.numbers
	cn.opened = c.phase(targets.PhaseConnect, cn.began)
	cn.connecting, cn.securing = cn.opened-cn.began, 0
}

// lookedUp notes the lookups of a host's name.
func (c *Client) lookedUp(h *host) {
	if c.phases == nil || h.names == nil {
		return
	}
	for took, ok := h.names.Took(); ok; took, ok = h.names.Took() {
		c.phases.Phase(targets.PhaseDNS, int64(took))
	}
}

// cutOff reports whether a class of failures says that the peer ended the connection.
func cutOff(class string) bool {
	kind, _, _ := strings.Cut(class, " ")
	return kind == targets.ClassEOF || kind == targets.ClassReset || kind == targets.ClassClosed
}
