package loop

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
	"github.com/loadctl/loadctl/targets/ws"
)

// A handshake is that of TLS on one connection, that of WebSocket, and the login of Redis. It has a goroutine of its own: it
// takes a millisecond of CPU, and requests that are due must not wait for it. The goroutine alone uses the socket until the
// handshake is over. The socket stays registered with the loop, which says when something happened.
type handshake struct {
	client    *Client
	conn      *conn
	wire      *wire.Wire
	call      targets.Call
	socket    sockets.Socket
	event     chan struct{} // room for one: there may be something to read, or room to write
	abandoned chan struct{} // closed when nobody waits for the handshake any more

	// Guarded by the lock of handshakes.
	over bool // the goroutine is done
	left bool // abandoned is closed: who of both is last closes the socket

	// Valid when it is over.
	tls      *tlsSocket
	secure   *tls.Conn
	messages *ws.Socket // of WebSocket
	err      error
}

// handshakes are those that are over, until the loop takes them.
type handshakes struct {
	mu   sync.Mutex
	over []*handshake
	some atomic.Bool // spares the loop the lock
}

// secure begins the handshake on a connection that was just opened.
func (c *Client) secure(cn *conn) {
	h := &handshake{client: c, conn: cn, wire: cn.wire, call: cn.result.Call, socket: cn.socket, event: make(chan struct{}, 1), abandoned: make(chan struct{})}
	cn.state, cn.handshake = securing, h
	go h.run()
}

// run performs the handshake.
func (h *handshake) run() {
	h.tls = &tlsSocket{conn: h.conn, handshake: h}
	h.err = h.open()
	h.tls.handshake = nil
	done := &h.client.handshakes
	done.mu.Lock()
	h.over = true
	left := h.left
	if !left {
		done.over = append(done.over, h)
		done.some.Store(true)
	}
	done.mu.Unlock()
	if left {
		h.socket.Close()
		return
	}
	h.client.wakeup.Signal()
}

// open makes TLS, and the handshake of WebSocket or a login, as far as the wire wants them.
func (h *handshake) open() (err error) {
	var c io.ReadWriter = h.tls
	if h.wire.Name != "" {
		if h.secure, err = h.wire.Secure(h.tls); err != nil {
			return err
		}
		c = h.secure
	}
	if h.wire.Opens() {
		h.messages, err = h.wire.Open(c, h.call)
	}
	return err
}

// signal passes an event on. It never blocks.
func (h *handshake) signal() {
	select {
	case h.event <- struct{}{}:
	default: // it has a signal already
	}
}

// abandon gives the handshake up, and leaves the socket to it.
func (h *handshake) abandon() {
	h.socket.Mute() // its events would go to the next connection of the conn
	done := &h.client.handshakes
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
func (h *handshake) read(b []byte) (int, error) {
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
func (h *handshake) write(b []byte) (int, error) {
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

func (h *handshake) wait() error {
	select {
	case <-h.event:
		return nil
	case <-h.abandoned:
		return net.ErrClosed
	}
}

// secured hands on the connections whose handshake is over.
func (c *Client) secured() {
	if !c.handshakes.some.Load() {
		return
	}
	c.handshakes.mu.Lock()
	over := c.handshakes.over
	c.handshakes.over = nil
	c.handshakes.some.Store(false)
	c.handshakes.mu.Unlock()
	for _, h := range over {
		if h.left {
			continue
		}
		cn := h.conn
		cn.handshake = nil
		c.opening--
		if h.err != nil {
			c.unopened(cn, h.err, targets.ClassOther)
			continue
		}
		// What came with the handshake was an event of the conn too: readable is right.
		cn.secure, cn.tls, cn.messages = h.secure, h.tls, h.messages
		c.opened(cn)
	}
}
