package transport

import (
	"errors"
	"net"
	"testing"

	"github.com/loadctl/loadctl/internal/engine/sockets"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/targets/wire"
)

// When a handshake is given up, its goroutine may keep the socket for a moment. The events of that must not reach the next
// connection of the same index.
func TestAbandonedSocketHasNoEvents(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var poller sockets.Poller
	if err := poller.Open(); err != nil {
		t.Fatal(err)
	}
	defer poller.Close()
	locals := sockets.NewLocals(nil)
	names, err := sockets.NewNames(&wire.Wire{Network: "tcp", Address: l.Addr().String()}, locals.Fits, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer names.Close()
	c := &Conn{Socket: sockets.None()}
	if c.Socket, err = sockets.Connect(&poller, 0, "tcp", names.Known().Peers[0], &locals); err != nil && !errors.Is(err, sockets.ErrPending) {
		t.Fatal(err)
	}
	socket := c.Socket
	defer socket.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c.handshake = newHandshake(new(Handshakes), c, 0) // whose goroutine is slow
	c.Close()
	if c.Socket.IsOpen() {
		t.Error("the connection is still open")
	}
	if _, err := server.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	await.True(t, "what the server said", func() bool {
		n, err := socket.Receive(make([]byte, 1))
		return n > 0 || !sockets.Blocked(err)
	})
	if n, err := poller.Look(); n != 0 || err != nil {
		t.Errorf("%d events, %v", n, err)
	}
}

// What waits for a peer is bounded, and so is the room for it, though a peer takes a part of it again and again.
func TestSealedIsBounded(t *testing.T) {
	const record = 27
	s := &tlsSocket{}
	c := &Conn{tls: s}
	for n := 1; ; n++ {
		switch _, err := s.Write(make([]byte, record)); {
		case err == nil && len(c.Sealed()) == n*record && n*record <= mostUnsent:
			continue
		case !errors.Is(err, errReplies) || n*record <= mostUnsent:
			t.Fatalf("reply %d: %v, %d bytes wait", n, err, len(c.Sealed()))
		}
		break
	}
	for range 10_000 {
		c.Wrote(record)
		if _, err := s.Write(make([]byte, record)); err != nil {
			t.Fatal(err)
		}
		if cap(s.out) > 2*mostUnsent { // it grows in steps
			t.Fatalf("room for %d bytes", cap(s.out))
		}
	}
}
