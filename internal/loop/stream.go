package loop

import (
	"errors"
	"io"
	"net"
	"time"
)

// sealAtOnce is how much of a request is encrypted before it is written, in bytes: the size of the largest record. So a
// long body takes no second copy of itself.
const sealAtOnce = 16 << 10

// mostUnsent is how much a stream holds, in bytes: a part of a request with the overhead of its records, or replies to a
// peer that asks for new keys again and again, and does not read them.
const mostUnsent = 2 * sealAtOnce

var errReplies = errors.New("the peer does not read the replies that it asks for")

// A stream is the connection below TLS. During the handshake the goroutine of its shake uses it, and waits for events
// that the loop passes on. From then on the loop uses it, and never waits.
type stream struct {
	place *place
	shake *shake // nil after the handshake
	out   []byte // encrypted; the peer has taken sent bytes of it
	sent  int
	plain int // bytes of the request that are in out
}

// Read implements net.Conn.
func (s *stream) Read(b []byte) (int, error) {
	if s.shake != nil {
		return s.shake.read(b)
	}
	return s.place.receive(b)
}

// receive reads from the socket; wouldBlock if there is nothing. As in Client.read, a read that does not fill b has emptied
// the socket.
func (p *place) receive(b []byte) (int, error) {
	for p.readable {
		n, err := p.conn.receive(b)
		switch {
		case blocked(err):
			p.readable = false
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		if n < len(b) && !p.hungUp {
			p.readable = false
		}
		return n, nil
	}
	return 0, wouldBlock{}
}

// Write implements net.Conn. After the handshake it only adds to what is to be written.
func (s *stream) Write(b []byte) (int, error) {
	if s.shake != nil {
		return s.shake.write(b)
	}
	if len(s.out)-s.sent+len(b) > mostUnsent {
		return 0, errReplies
	}
	if len(s.out)+len(b) > cap(s.out) { // a peer that always leaves a rest must not make it grow
		s.out, s.sent = append(s.out[:0], s.out[s.sent:]...), 0
	}
	s.out = append(s.out, b...)
	return len(b), nil
}

// flush writes what TLS has to say beside requests, as far as the peer takes it. An error shows in the next read too.
func (s *stream) flush() {
	for s.sent < len(s.out) {
		n, err := s.place.conn.send(s.out[s.sent:])
		if err != nil {
			return
		}
		s.sent += n
	}
	s.out, s.sent = s.out[:0], 0
}

// Close implements net.Conn. The loop closes the socket itself.
func (s *stream) Close() error { return nil }

// LocalAddr and RemoteAddr implement net.Conn. Nobody asks for the addresses.
func (s *stream) LocalAddr() net.Addr  { return &net.UnixAddr{} }
func (s *stream) RemoteAddr() net.Addr { return &net.UnixAddr{} }

// SetDeadline, SetReadDeadline and SetWriteDeadline implement net.Conn. The loop has the deadlines.
func (s *stream) SetDeadline(time.Time) error      { return nil }
func (s *stream) SetReadDeadline(time.Time) error  { return nil }
func (s *stream) SetWriteDeadline(time.Time) error { return nil }
