package loop

import (
	"github.com/loadctl/loadctl/internal/engine/sockets"
	"github.com/loadctl/loadctl/internal/engine/transport"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/wire"
	"github.com/loadctl/loadctl/targets/ws"
)

// state says what a conn waits for.
type state uint8

const (
	free       state = iota // has no connection
	awaiting                // the address of its host, or its turn to be opened
	connecting              // the connection is being opened, for a request or ahead of one
	securing                // its TLS handshake is under way
	writing                 // the peer has to take the rest of the request
	reading                 // the answer, or the rest of it
	sharing                 // its streams
	streaming               // an answer, on a shared connection
	resting                 // the end of a request that sends nothing
	asking                  // the answer of a Sender
	ended                   // Poll has to report the end of its request
	idle                    // the next request
)

// A conn is a connection and its request, or room for them. A request that is a stream of a shared connection has a conn of
// its own, without a socket.
type conn struct {
	transport.Conn
	index    int32
	state    state
	queued   bool               // resume will read on
	ahead    bool               // no request waits for the connection
	counted  bool               // it is among Client.connections
	dial     *transport.Dialing // of HTTP/3, while it is being opened
	messages *ws.Socket         // of WebSocket, once its handshake is over

	host      *host // where the connection leads
	wire      *wire.Wire
	result    targets.Result
	request   []byte         // what is to be written: filled, or shared by all conns
	filled    []byte         // reused from request to request
	reply     reply          // reads what is answered
	answer    http1.Response // the reply of HTTP/1.1
	raw       *wire.Reply    // that of tcp, udp and redis; nil if there was none yet
	events    *events.Reader // of an answer that comes in pieces; nil if there was none yet
	over      func()         // events.Over, but for HTTP/3
	lingers   bool           // its request is in Client.lingering
	deadline  int64
	in, out   int   // bytes of the request and its answer so far; with TLS, out counts the parts that the peer has taken whole
	sealed    int   // bytes of the request that are encrypted, and not yet in out
	begun     bool  // the peer took something, even if out is still 0
	writeErr  error // the peer did not take the whole request; its answer may be there anyway
	earlier   error // of a datagram that was sent before, and expected no reply: the next request on the socket has it
	reused    bool  // the connection carried a request before
	hops      int   // how many redirects the request has followed
	idleSince int64

	session *session // of HTTP/2 and HTTP/3, if it is a shared connection
	stream  *stream  // the same, if it has ever been a request on one

	asking *transport.Asking // while a Sender performs its request
	own    *wire.Asked       // that request; nil = it is another one

	part                 []byte       // the beginning of an answer that did not come with one read
	missed               bool         // there was no buffer for it
	number               int64        // of the connection, from 1; 0 = it was not opened
	began                int64        // when the attempt to open it began, or its handshake
	opened               int64        // when a peer accepted it
	connecting, securing int64        // how long that took, and TLS after it, ns
	peer                 sockets.Peer // which

	first, tried int   // index of the address tried first, and how many were tried
	connectErr   error // of the first that failed

	prev, next *conn // in a list
}

// A reply reads the answer to the request of a conn, as its bytes arrive.
type reply interface {
	check.Answer
	Feed(b []byte) (used int, done bool, err error)
	EOF() error      // what the end of the connection means; nil if it ends the answer
	KeepAlive() bool // the connection can carry another request
	Release()        // frees what a large answer has taken
}

// mostKept is the largest buffer that a conn keeps for its next request, in bytes.
const mostKept = 64 << 10

// begin begins a request to a host.
func (cn *conn) begin(r targets.Result, deadline int64, h *host) {
	cn.result, cn.deadline, cn.host = r, deadline, h
	cn.hops = 0
	cn.restart()
}

// restart begins to count, and to connect, for a request, or for one that a redirect asks for.
func (cn *conn) restart() {
	cn.in, cn.out, cn.begun, cn.writeErr = 0, 0, false, nil
	cn.result.First = 0
	cn.first, cn.tried, cn.connectErr = cn.host.peer, 0, nil
}

// beginReply begins to read the reply to the request that was begun.
func (c *Client) beginReply(cn *conn) {
	if cn.wire.Raw() {
		cn.raw = cn.wire.Reply(cn.raw)
		cn.reply = cn.raw
		return
	}
	l := cn.wire.Limits
	l.Sink = c.beginEvents(cn, c.gaps)
	cn.answer.Begin(l, cn.wire.Head)
	cn.reply = &cn.answer
}

// close closes the connection, if there is one.
func (cn *conn) close() {
	if cn.dial != nil {
		cn.dial.Left = true
		cn.dial.Stop()
		cn.dial = nil
	}
	cn.Close()
	cn.messages, cn.earlier, cn.sealed, cn.number = nil, nil, 0, 0
}

// take takes a conn for a request: the connection to its host that became idle last, else a free conn. It returns nil
// if there is none, or if the maximum number of connections is being opened.
func (c *Client) take(now int64, h *host) *conn {
	for cn := h.idle.last; cn != nil; cn = h.idle.last {
		h.idle.remove(cn)
		if c.usable(cn, now-cn.idleSince) {
			return cn
		}
		if now-cn.idleSince <= int64(c.wire.IdleLimit) {
			c.hungUp()
		}
		c.drop(cn)
	}
	if c.held = !c.mayOpen(); c.held {
		return nil
	}
	return c.vacant()
}

// mayOpen reports whether one more connection may be opened now. If the server has closed a connection after each of the
// last answers, opening connections is the normal work of the load, as without keep-alive. One such answer is not
// enough: a server that closes every hundredth connection would be flooded if that was the last one before a pause.
func (c *Client) mayOpen() bool {
	return c.opening < c.most || c.closedInARow >= int64(c.wire.Opening) && c.opening < c.max
}

// usable reports whether a connection that was idle for some ns can carry another request. Servers close idle connections
// at any time. To write to a closed one would count a failed request that is not the endpoint's fault. A connection
// that was idle only briefly is not checked: the check costs a system call, and a close is usually among the events
// that the loop has not handled yet. A socket of UDP always is: a datagram that came late would be taken for a reply. So is
// a connection without replies: a request to a server that had closed it would be lost, and count as sent.
func (c *Client) usable(cn *conn, idle int64) bool {
	briefly := idle < int64(c.wire.LookAfter) && !cn.wire.Datagrams() && !cn.discards()
	return (idle <= int64(c.wire.IdleLimit) || cn.messages != nil) && (briefly || c.nothingToRead(cn))
}

// vacant takes a conn for a new connection; nil if there are as many as may be. One that is idle at another host has to
// go.
func (c *Client) vacant() *conn {
	if c.connections == c.max && !c.evict() {
		return nil
	}
	return c.newConn()
}

// newConn is vacant without a limit.
func (c *Client) newConn() *conn {
	cn := c.spare()
	cn.counted = true
	c.connections++
	return cn
}

// spare takes a conn without a connection. There are always enough: connections are counted, and so are their streams.
func (c *Client) spare() *conn {
	if cn := c.free.last; cn != nil {
		c.free.remove(cn)
		return cn
	}
	return c.grow()
}

// grow adds a conn.
func (c *Client) grow() *conn {
	cn := &conn{Conn: transport.Conn{Socket: sockets.None()}, index: int32(len(c.conns))}
	cn.answer.Remember(&c.memo)
	cn.reply = &cn.answer
	c.conns = append(c.conns, cn)
	return cn
}

// evict closes the connection that is idle for longest at any host. It reports whether there was one.
func (c *Client) evict() bool {
	var oldest *conn
	for _, h := range c.hosts {
		for cn := h.idle.first; cn != nil; cn = cn.next {
			if !cn.busy() && (oldest == nil || cn.idleSince < oldest.idleSince) {
				oldest = cn
			}
			if cn.session == nil {
				break // the first one became idle first
			}
		}
	}
	if oldest != nil {
		c.retire(oldest)
	}
	return oldest != nil
}

// busy reports whether a shared connection carries requests.
func (cn *conn) busy() bool { return cn.session != nil && cn.session.streams > 0 }

// retire closes a connection that is idle.
func (c *Client) retire(cn *conn) {
	if cn.session != nil {
		c.closeSession(cn)
		return
	}
	cn.host.idle.remove(cn)
	cn.closeGracefully()
	c.drop(cn)
}

// park makes a conn available again after its request was reported.
func (c *Client) park(cn *conn) {
	if cap(cn.filled) > mostKept {
		cn.filled = nil
		if cn.stream != nil {
			cn.stream.request = http2.Request{} // it refers to what was filled
			cn.stream.frames = nil
		}
	}
	if !cn.Socket.IsOpen() {
		c.drop(cn)
		return
	}
	cn.state, cn.idleSince = idle, c.latest
	idle := &cn.host.idle
	idle.push(cn)
	// Each park removes one old connection, so no timer is needed for that.
	if old := idle.first; old.messages == nil && c.latest-old.idleSince > int64(c.wire.IdleLimit) {
		c.retire(old)
	}
}

// drop frees a conn that is in no list.
func (c *Client) drop(cn *conn) {
	cn.sendClose()
	cn.close()
	if cn.counted {
		cn.counted, c.freed = false, c.freed || c.wanted
		c.connections--
	}
	cn.state = free
	c.free.push(cn)
}
