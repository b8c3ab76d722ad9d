package loop

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/loadctl/loadctl/targets"
)

// A shake is the handshake of TLS on one connection, that of WebSocket, and the login of Redis, in a goroutine of its own: it takes a
// millisecond of CPU, and requests that are due must not wait for it. The goroutine alone uses the socket until the
// handshake is over. The socket stays registered with the loop, which says when something happened.
type shake struct {
	client *Client
	place  *place
	wire   *targets.Wire
	call   targets.Call
	conn   socket
	event  chan struct{} // room for one: there may be something to read, or room to write
	gone   chan struct{} // closed when nobody waits for the handshake any more

	// Guarded by the lock of shakes.
	over bool // the goroutine is done
	left bool // gone is closed: who of both is last closes the socket

	// Valid when it is over.
	stream *stream
	secure *tls.Conn
	socket *targets.Socket // of WebSocket
	err    error
}

// shakes are the handshakes that are over, until the loop takes them.
type shakes struct {
	mu   sync.Mutex
	over []*shake
	some atomic.Bool // spares the loop the lock
}

// secure begins the handshake on a connection that was just opened.
func (c *Client) secure(p *place) {
	s := &shake{client: c, place: p, wire: p.wire, call: p.result.Call, conn: p.conn, event: make(chan struct{}, 1), gone: make(chan struct{})}
	p.state, p.shake = securing, s
	go s.run()
}

// run performs the handshake.
func (s *shake) run() {
	s.stream = &stream{place: s.place, shake: s}
	s.err = s.open()
	s.stream.shake = nil
	done := &s.client.shakes
	done.mu.Lock()
	s.over = true
	left := s.left
	if !left {
		done.over = append(done.over, s)
		done.some.Store(true)
	}
	done.mu.Unlock()
	if left {
		s.conn.close()
		return
	}
	s.client.wakeup.signal()
}

// open makes TLS, and the handshake of WebSocket or a login, as far as the wire wants them.
func (s *shake) open() (err error) {
	var c io.ReadWriter = s.stream
	if s.wire.Name != "" {
		if s.secure, err = s.wire.Secure(s.stream); err != nil {
			return err
		}
		c = s.secure
	}
	if s.wire.Opens() {
		s.socket, err = s.wire.Open(c, s.call)
	}
	return err
}

// signal passes an event on. It never blocks.
func (s *shake) signal() {
	select {
	case s.event <- struct{}{}:
	default: // it has been told already
	}
}

// leave gives the handshake up, and leaves the socket to it.
func (s *shake) leave() {
	s.conn.mute() // its events would go to the next connection of the place
	done := &s.client.shakes
	done.mu.Lock()
	s.left = true
	over := s.over
	done.mu.Unlock()
	close(s.gone)
	if over {
		s.conn.close()
	}
}

// read waits for data.
func (s *shake) read(b []byte) (int, error) {
	for {
		n, err := s.conn.receive(b)
		switch {
		case err == nil && n == 0:
			return 0, io.EOF
		case !blocked(err):
			return n, err
		}
		if err := s.wait(); err != nil {
			return 0, err
		}
	}
}

// write waits until the peer has taken all of b.
func (s *shake) write(b []byte) (int, error) {
	sent := 0
	for sent < len(b) {
		n, err := s.conn.send(b[sent:])
		sent += n
		if blocked(err) {
			err = s.wait()
		}
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

func (s *shake) wait() error {
	select {
	case <-s.event:
		return nil
	case <-s.gone:
		return net.ErrClosed
	}
}

// secured hands on the connections whose handshake is over.
func (c *Client) secured() {
	if !c.shakes.some.Load() {
		return
	}
	c.shakes.mu.Lock()
	over := c.shakes.over
	c.shakes.over = nil
	c.shakes.some.Store(false)
	c.shakes.mu.Unlock()
	for _, s := range over {
		if s.left {
			continue
		}
		p := s.place
		p.shake = nil
		c.opening--
		if s.err != nil {
			c.unopened(p, s.err, targets.ClassOther)
			continue
		}
		// What came with the handshake was an event of the place too: readable is right.
		p.secure, p.stream, p.socket = s.secure, s.stream, s.socket
		c.opened(p)
	}
}
