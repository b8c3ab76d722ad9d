//go:build !unix

package targets

import "net"

// A socket would tell whether its peer hung up. On this system there is no cheap way to know, so a request on such a
// connection fails. Nor can it read without waiting: what a WebSocket gets while it is idle waits for the next request.
type socket struct {
	net.Conn
	instant bool // Read and Write do nothing
}

func newSocket(c net.Conn) *socket { return &socket{Conn: c} }

// Read reads like any other, unless it is instant.
func (s *socket) Read(b []byte) (int, error) {
	if s.instant {
		return 0, errNotYet{}
	}
	return s.Conn.Read(b)
}

// Write writes like any other, unless it is instant.
func (s *socket) Write(b []byte) (int, error) {
	if s.instant {
		return 0, errNotYet{}
	}
	return s.Conn.Write(b)
}

func (s *socket) hungUp() bool { return false }

func (s *socket) drain([]byte, bool) error { return nil }

func (s *socket) greeted() {}

func (s *socket) answered() {}

func (s *socket) expect() {}
