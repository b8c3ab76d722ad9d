//go:build linux

package epoll

import (
	"errors"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// sealAtOnce is how much of a request is encrypted before it is written, in bytes: the size of the largest record. So a
// long body takes no second copy of itself.
const sealAtOnce = 16 << 10

// mostUnsent is how much a stream holds, in bytes: a part of a request with the overhead of its records, or replies to a
// peer that asks for new keys again and again, and does not read them.
const mostUnsent = 2 * sealAtOnce

// wouldBlock is the error of a read that finds nothing. Package tls keeps all other errors and fails with them from then
// on; a temporary one it hands on, and the read can be repeated.
type wouldBlock struct{}

func (wouldBlock) Error() string   { return "nothing to read yet" }
func (wouldBlock) Timeout() bool   { return true }
func (wouldBlock) Temporary() bool { return true }

// blocked tells whether a read of TLS found nothing.
func blocked(err error) bool {
	return err == error(wouldBlock{}) //nolint:errorlint // package tls wraps an error that it keeps
}

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
		n, errno := receive(p.fd, b)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			p.readable = false
			continue
		case errno != 0:
			return 0, errno
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
	s.out = append(s.out, b...)
	return len(b), nil
}

// flush writes what TLS has to say beside requests, as far as the peer takes it. An error shows in the next read too.
func (s *stream) flush() {
	for s.sent < len(s.out) {
		n, errno := send(s.place.fd, s.out[s.sent:])
		if errno != 0 && errno != unix.EINTR {
			return
		}
		s.sent += max(0, n)
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
