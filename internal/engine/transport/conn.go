// Package transport is the connections of the event loop: a socket with TLS or without, and the handshakes that open it; and
// the goroutines that HTTP/3 needs, with what they report. It does not know which connection carries which request.
//
//	conn.Socket, err = sockets.Connect(…)
//	handshakes.Begin(&conn, index, wire, call) // and conn.Signal() for each event, until it is over
//	for _, h := range handshakes.Take() {
//		messages, err := conn.Finish(h)
//	}
//
// A Conn belongs to the loop, which never waits for it. What TLS encrypts is bounded: a Conn holds 32 KiB of it.
package transport

import (
	"crypto/tls"
	"io"

	"github.com/loadctl/loadctl/internal/engine/sockets"
	"github.com/loadctl/loadctl/targets/ws"
)

// A Conn is a socket, what events have said of it, and TLS on it, if there is some. Its Socket must be sockets.None at first.
type Conn struct {
	Socket sockets.Socket
	// What events have reported; each fact is reported once. Readable: there may be data until a read finds none.
	// HungUp: the peer has closed its side.
	Readable, HungUp bool

	handshake *Handshake // while it is under way
	secure    *tls.Conn  // nil without TLS, or before its handshake is over
	tls       *tlsSocket // below it
}

// Secure reports whether there is TLS on the connection.
func (c *Conn) Secure() bool { return c.secure != nil }

// TLS returns what TLS agreed; false without TLS, or before its handshake is over.
func (c *Conn) TLS() (tls.ConnectionState, bool) {
	if c.secure == nil {
		return tls.ConnectionState{}, false
	}
	return c.secure.ConnectionState(), true
}

// Receive reads data; sockets.WouldBlock if there is none for now. With TLS data may be there that no event will announce,
// because TLS has read it already: who reads goes on until there is none.
func (c *Conn) Receive(b []byte) (int, error) {
	if c.secure != nil {
		return c.secure.Read(b)
	}
	return c.receive(b)
}

// receive reads from the socket; sockets.WouldBlock if there is nothing. A read that does not fill b has emptied the socket,
// and later data is another event; after a close there is none.
func (c *Conn) receive(b []byte) (int, error) {
	for c.Readable {
		n, err := c.Socket.Receive(b)
		switch {
		case sockets.Blocked(err):
			c.Readable = false
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		if n < len(b) && !c.HungUp {
			c.Readable = false
		}
		return n, nil
	}
	return 0, sockets.WouldBlock{}
}

// Settled reports whether a connection has no data, and is open. With TLS it takes up messages that are not data, such as
// tickets for later connections. b is where it reads to.
func (c *Conn) Settled(b []byte) bool {
	if c.secure == nil {
		return !c.Readable
	}
	if n, err := c.secure.Read(b); n > 0 || !sockets.Blocked(err) {
		return false
	}
	c.tls.flush()
	return len(c.Sealed()) == 0
}

// Seal encrypts the first part of b, and returns its length. There must be TLS, and Sealed must be empty.
func (c *Conn) Seal(b []byte) (int, error) {
	c.tls.out, c.tls.sent = c.tls.out[:0], 0
	return c.secure.Write(b[:min(len(b), sealAtOnce)])
}

// Sealed returns what is encrypted, and not yet taken by the peer. There must be TLS.
func (c *Conn) Sealed() []byte { return c.tls.out[c.tls.sent:] }

// Wrote notes that the peer took n bytes of Sealed.
func (c *Conn) Wrote(n int) { c.tls.sent += n }

// Flush writes what TLS has to say beside requests, if there is TLS, as far as the peer takes it.
func (c *Conn) Flush() {
	if c.secure != nil {
		c.tls.flush()
	}
}

// Say writes b beside requests, and does not wait. With TLS it is written as soon as there is room.
func (c *Conn) Say(b []byte) (int, error) {
	if c.secure != nil {
		n, err := c.secure.Write(b)
		c.tls.flush()
		return n, err
	}
	return c.Socket.Send(b)
}

// CloseWrite says with TLS that nothing follows, if there is room for that.
func (c *Conn) CloseWrite() {
	if c.secure != nil {
		_ = c.secure.CloseWrite() // cannot fail: it is only put into the stream
		c.tls.flush()
	}
}

// Signal passes an event on to the handshake that is under way. It never blocks.
func (c *Conn) Signal() { c.handshake.signal() }

// Finish takes the result of a handshake: with WebSocket its open socket, or why there is none.
func (c *Conn) Finish(h *Handshake) (*ws.Socket, error) {
	c.handshake = nil
	if h.err != nil {
		return nil, h.err
	}
	// What came with the handshake was an event of the Conn too: Readable is right.
	c.secure, c.tls = h.secure, h.tls
	return h.messages, nil
}

// Close closes the connection, if there is one.
func (c *Conn) Close() {
	switch {
	case c.handshake != nil:
		c.handshake.abandon()
		c.handshake, c.Socket = nil, sockets.None()
	case c.Socket.IsOpen():
		c.Socket.Close()
		c.Socket = sockets.None()
	}
	c.secure, c.tls = nil, nil
	c.Readable, c.HungUp = false, false
}
