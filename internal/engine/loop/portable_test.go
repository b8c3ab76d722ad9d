//go:build portable

package loop

import (
	"net"
	"testing"
)

// arrived reports whether there is something to read, even an end or an error.
func arrived(t *testing.T, s socket) bool {
	t.Helper()
	s.poller.mu.Lock()
	defer s.poller.mu.Unlock()
	return s.full || s.inEnded
}

// limitBuffer makes the system take no more than some bytes that the peer has not taken.
func limitBuffer(t *testing.T, s socket, size int) {
	t.Helper()
	if err := s.conn.(*net.TCPConn).SetWriteBuffer(size); err != nil {
		t.Fatal(err)
	}
}
