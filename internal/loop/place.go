package loop

import (
	"crypto/tls"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
)

// state says what a place waits for.
type state uint8

const (
	free       state = iota // has no connection
	awaiting                // the address of its host, or its turn to be opened
	connecting              // the connection is being opened, for a request or ahead of one
	securing                // its TLS handshake is under way
	writing                 // the peer has to take the rest of the request
	reading                 // the answer, or the rest of it
	carrying                // its riders
	riding                  // an answer, on another place's connection
	resting                 // the end of a request that sends nothing
	ended                   // Poll has to report the end of its request
	idle                    // the next request
)

// A place is a connection, or room for one, and its request.
type place struct {
	conn  socket
	index int32
	state state
	// What events have reported; each fact is reported once. readable: there may be data until a read finds none.
	// hungUp: the peer has closed its side.
	readable, hungUp bool
	queued           bool // resume will read on
	ahead            bool // no request waits for the connection
	counted          bool // it is among Client.connections

	shake  *shake    // while securing
	dial   *dialing  // the same of HTTP/3
	secure *tls.Conn // nil without TLS, or before its handshake is over
	stream *stream   // below it

	socket *targets.Socket // of WebSocket, once its handshake is over

	host      *host // where the connection leads
	wire      *targets.Wire
	result    targets.Result
	request   []byte         // what is to be written: filled, or shared by all places
	filled    []byte         // reused from request to request
	reply     reply          // reads what is answered
	answer    http1.Response // the reply of HTTP/1.1
	raw       *targets.Reply // that of tcp, udp and redis; nil if there was none yet
	deadline  int64
	in, out   int   // bytes of the request and its answer so far
	begun     bool  // the peer took something, even if out is still 0
	writeErr  error // the peer did not take the whole request; its answer may be there anyway
	earlier   error // of a datagram that was sent before, and expected no reply: the next request on the socket has it
	reused    bool  // the connection carried a request before
	hops      int   // how many redirects the request has followed
	idleSince int64

	carrier *carrier // of HTTP/2, if it is a connection
	rider   *rider   // of HTTP/2, if it has ever been a request

	first, tried int   // index of the address tried first, and how many were tried
	connectErr   error // of the first that failed

	prev, next *place // in a list
}

// A reply reads the answer to the request of a place, as its bytes arrive.
type reply interface {
	check.Answer
	Feed(b []byte) (used int, done bool, err error)
	EOF() error      // what the end of the connection means; nil if it ends the answer
	KeepAlive() bool // the connection can carry another request
	Release()        // frees what a large answer has taken
}

// mostKept is the largest buffer that a place keeps for its next request, in bytes.
const mostKept = 64 << 10

// begin begins a request to a host.
func (p *place) begin(r targets.Result, deadline int64, h *host) {
	p.result, p.deadline, p.host = r, deadline, h
	p.hops = 0
	p.restart()
}

// restart begins to count, and to connect, for a request, or for one that a redirect asks for.
func (p *place) restart() {
	p.in, p.out, p.begun, p.writeErr = 0, 0, false, nil
	p.first, p.tried, p.connectErr = p.host.peer, 0, nil
}

// beginReply begins to read the reply to the request that was begun.
func (p *place) beginReply() {
	if p.wire.Raw() {
		p.raw = p.wire.Reply(p.raw)
		p.reply = p.raw
		return
	}
	p.answer.Begin(p.wire.Limits, p.wire.Head)
	p.reply = &p.answer
}

// hangUp closes the connection, if there is one.
func (p *place) hangUp() {
	switch {
	case p.dial != nil:
		p.dial.left = true
		p.dial.stop()
		p.dial = nil
	case p.shake != nil:
		p.shake.leave()
		p.shake, p.conn = nil, noSocket()
	case p.conn.open():
		p.conn.close()
		p.conn = noSocket()
	}
	p.secure, p.stream, p.socket, p.earlier = nil, nil, nil, nil
	p.readable, p.hungUp = false, false
}

// take takes a place for a request: the connection to its host that became idle last, else a free place. It returns nil
// if there is none, or if the maximum number of connections is being opened.
func (c *Client) take(now int64, h *host) *place {
	for p := h.idle.last; p != nil; p = h.idle.last {
		h.idle.remove(p)
		if c.usable(p, now-p.idleSince) {
			return p
		}
		c.drop(p)
	}
	if c.held = !c.mayOpen(); c.held {
		return nil
	}
	return c.vacant()
}

// mayOpen tells whether one more connection may be opened now. If the server has closed a connection after each of the
// last answers, opening connections is the normal work of the load, as without keep-alive. One such answer is not
// enough: a server that closes every hundredth connection would be flooded if that was the last one before a pause.
func (c *Client) mayOpen() bool {
	return c.opening < c.most || c.closedInARow >= int64(c.wire.Opening) && c.opening < c.max
}

// usable tells whether a connection that was idle for some ns can carry another request. Servers close idle connections
// at any time. To write to a closed one would count a failed request that is not the endpoint's fault. A connection
// that was idle only briefly is not checked: the check costs a system call, and a hang-up is usually among the events
// that the loop has not handled yet. A socket of UDP always is: a datagram that came late would be taken for a reply. So is
// a connection without replies: a request to a server that had closed it would be lost, and count as sent.
func (c *Client) usable(p *place, idle int64) bool {
	briefly := idle < int64(c.wire.LookAfter) && !p.wire.Datagrams() && !p.discards()
	return (idle <= int64(c.wire.IdleLimit) || p.socket != nil) && (briefly || c.quiet(p))
}

// vacant takes a place for a new connection; nil if there are as many as may be. One that is idle at another host has to
// go.
func (c *Client) vacant() *place {
	if c.connections == c.max && !c.evict() {
		return nil
	}
	return c.newPlace()
}

// newPlace takes a place for one more connection.
func (c *Client) newPlace() *place {
	p := c.spare()
	p.counted = true
	c.connections++
	return p
}

// spare takes a place without a connection. There are always enough: connections are counted, and so are their riders.
func (c *Client) spare() *place {
	if p := c.free.last; p != nil {
		c.free.remove(p)
		return p
	}
	return c.grow()
}

// grow adds a place.
func (c *Client) grow() *place {
	p := &place{conn: noSocket(), index: int32(len(c.places))}
	p.answer.Remember(&c.memo)
	p.reply = &p.answer
	c.places = append(c.places, p)
	return p
}

// evict closes the connection that is idle for longest at any host. It tells whether there was one.
func (c *Client) evict() bool {
	var oldest *place
	for _, h := range c.hosts {
		for p := h.idle.first; p != nil; p = p.next {
			if !p.carries() && (oldest == nil || p.idleSince < oldest.idleSince) {
				oldest = p
			}
			if p.carrier == nil {
				break // the first one became idle first
			}
		}
	}
	if oldest != nil {
		c.retire(oldest)
	}
	return oldest != nil
}

// carries tells whether a connection carries requests of other places.
func (p *place) carries() bool { return p.carrier != nil && p.carrier.riders > 0 }

// retire closes a connection that is idle.
func (c *Client) retire(p *place) {
	if p.carrier != nil {
		c.close(p)
		return
	}
	p.host.idle.remove(p)
	p.leave()
	c.drop(p)
}

// park makes a place available again after its request was reported.
func (c *Client) park(p *place) {
	if cap(p.filled) > mostKept {
		p.filled = nil
		if p.rider != nil {
			p.rider.request = http2.Request{} // it refers to what was filled
			p.rider.frames = nil
		}
	}
	if !p.conn.open() {
		c.drop(p)
		return
	}
	p.state, p.idleSince = idle, c.latest
	idle := &p.host.idle
	idle.push(p)
	// Each park removes one old connection, so no timer is needed for that.
	if old := idle.first; old.socket == nil && c.latest-old.idleSince > int64(c.wire.IdleLimit) {
		c.retire(old)
	}
}

// drop frees a place that is in no list.
func (c *Client) drop(p *place) {
	p.bye()
	p.hangUp()
	if p.counted {
		p.counted, c.freed = false, c.freed || c.wanted
		c.connections--
	}
	p.state = free
	c.free.push(p)
}
