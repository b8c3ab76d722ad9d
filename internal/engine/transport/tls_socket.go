package transport

import (
	"errors"
	"net"
	"time"
)

// sealAtOnce is how much of a request is encrypted before it is written, in bytes: the size of the largest record. So a
// long body takes no second copy of itself.
const sealAtOnce = 16 << 10

// mostUnsent is how much a tlsSocket holds, in bytes: a part of a request with the overhead of its records, or replies to a
// peer that asks for new keys again and again, and does not read them.
const mostUnsent = 2 * sealAtOnce

var errReplies = errors.New("the peer does not read the replies that it asks for")

// A tlsSocket is the connection below TLS. During the handshake its goroutine uses it, and waits for events
// that the loop passes on. From then on the loop uses it, and never waits.
type tlsSocket struct {
	conn      *Conn
	handshake *Handshake // nil after the handshake
	out       []byte     // encrypted; the peer has taken sent bytes of it
	sent      int
}

// Read implements net.Conn.
func (t *tlsSocket) Read(b []byte) (int, error) {
	if t.handshake != nil {
		return t.handshake.read(b)
	}
	return t.conn.receive(b)
}

// Write implements net.Conn. After the handshake it only adds to what is to be written.
func (t *tlsSocket) Write(b []byte) (int, error) {
	if t.handshake != nil {
		return t.handshake.write(b)
	}
	if len(t.out)-t.sent+len(b) > mostUnsent {
		return 0, errReplies
	}
	if len(t.out)+len(b) > cap(t.out) { // a peer that always leaves a rest must not make it grow
		t.out, t.sent = append(t.out[:0], t.out[t.sent:]...), 0
	}
	t.out = append(t.out, b...)
	return len(b), nil
}

// flush writes what TLS has to say beside requests, as far as the peer takes it. An error shows in the next read too.
func (t *tlsSocket) flush() {
	for t.sent < len(t.out) {
		n, err := t.conn.Socket.Send(t.out[t.sent:])
		if err != nil {
			return
		}
		t.sent += n
	}
	t.out, t.sent = t.out[:0], 0
}

// Close implements net.Conn. The loop closes the socket itself.
func (t *tlsSocket) Close() error { return nil }

// LocalAddr and RemoteAddr implement net.Conn. Nobody asks for the addresses.
func (t *tlsSocket) LocalAddr() net.Addr  { return &net.UnixAddr{} }
func (t *tlsSocket) RemoteAddr() net.Addr { return &net.UnixAddr{} }

// SetDeadline, SetReadDeadline and SetWriteDeadline implement net.Conn. The loop has the deadlines.
func (t *tlsSocket) SetDeadline(time.Time) error      { return nil }
func (t *tlsSocket) SetReadDeadline(time.Time) error  { return nil }
func (t *tlsSocket) SetWriteDeadline(time.Time) error { return nil }
