package transport

import (
	"crypto/tls"
	"io"
	"net"
	"time"

	"github.com/loadctl/loadctl/internal/engine/sockets"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
	"github.com/loadctl/loadctl/targets/ws"
)

// A Handshake is that of TLS on one connection, that of WebSocket, and the login of Redis. It has a goroutine of its own: it
// takes a millisecond of CPU, and requests that are due must not wait for it. The goroutine alone uses the socket until the
// handshake is over. The socket stays registered with the loop, which says when something happened.
type Handshake struct {
	Index int32         // that its connection has with the loop
	TLS   time.Duration // how long that of TLS took; 0 = there was none. Valid when it is over

	all       *Handshakes
	conn      *Conn
	wire      *wire.Wire
	call      targets.Call
	socket    sockets.Socket
	event     chan struct{} // room for one: there may be something to read, or room to write
	abandoned chan struct{} // closed when nobody waits for the handshake any more

	// Guarded by the lock of all.
	over bool // the goroutine is done
	left bool // abandoned is closed: who of both is last closes the socket

	// Valid when it is over.
	tls      *tlsSocket
	secure   *tls.Conn
	messages *ws.Socket // of WebSocket
	err      error
}

// Handshakes are those of a loop. Take returns those that are over; each may have been given up, also later: see Left.
type Handshakes struct {
	Wakeup *sockets.Wakeup // for the loop, when something is over; not nil

	mailbox[[]*Handshake]
}

// Begin begins the handshake on a connection that was just opened, for the first request on it. index is that of its socket.
func (d *Handshakes) Begin(c *Conn, index int32, w *wire.Wire, first targets.Call) {
	c.handshake = newHandshake(d, c, index)
	c.handshake.wire, c.handshake.call = w, first
	go c.handshake.run()
}

func newHandshake(all *Handshakes, c *Conn, index int32) *Handshake {
	return &Handshake{Index: index, all: all, conn: c, socket: c.Socket, event: make(chan struct{}, 1), abandoned: make(chan struct{})}
}

// Left reports whether the connection was closed, so that nobody wants the handshake any more. Only the loop may call it.
func (h *Handshake) Left() bool { return h.left }

// run performs the handshake.
func (h *Handshake) run() {
	h.tls = &tlsSocket{conn: h.conn, handshake: h}
	h.err = h.open()
	h.tls.handshake = nil
	left := false
	h.all.put(func(over *[]*Handshake) {
		if h.over, left = true, h.left; !left {
			*over = append(*over, h)
		}
	})
	if left {
		h.socket.Close()
		return
	}
	h.all.Wakeup.Signal()
}

// open makes TLS, and the handshake of WebSocket or a login, as far as the wire wants them.
func (h *Handshake) open() (err error) {
	var c io.ReadWriter = h.tls
	if h.wire.Name != "" {
		began := time.Now()
		if h.secure, err = h.wire.Secure(h.tls); err != nil {
			return err
		}
		h.TLS = time.Since(began)
		c = h.secure
	}
	if h.wire.Opens() {
		h.messages, err = h.wire.Open(c, h.call)
	}
	return err
}

// signal passes an event on. It never blocks.
func (h *Handshake) signal() {
	select {
	case h.event <- struct{}{}:
	default: // it has a signal already
	}
}

// abandon gives the handshake up, and leaves the socket to it.
func (h *Handshake) abandon() {
	h.socket.Mute() // its events would go to the next connection of the conn
	done := h.all
	done.mu.Lock()
	h.left = true
	over := h.over
	done.mu.Unlock()
	close(h.abandoned)
	if over {
		h.socket.Close()
	}
}

// read waits for data.
func (h *Handshake) read(b []byte) (int, error) {
	for {
		n, err := h.socket.Receive(b)
		switch {
		case err == nil && n == 0:
			return 0, io.EOF
		case !sockets.Blocked(err):
			return n, err
		}
		if err := h.wait(); err != nil {
			return 0, err
		}
	}
}

// write waits until the peer has taken all of b.
func (h *Handshake) write(b []byte) (int, error) {
	sent := 0
	for sent < len(b) {
		n, err := h.socket.Send(b[sent:])
		sent += n
		if sockets.Blocked(err) {
			err = h.wait()
		}
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

func (h *Handshake) wait() error {
	select {
	case <-h.event:
		return nil
	case <-h.abandoned:
		return net.ErrClosed
	}
}
