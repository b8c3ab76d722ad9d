//go:build linux

package loop

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/targets"
)

// A nameServer answers over UDP that every name has one IPv4 address.
type nameServer struct {
	address atomic.Pointer[netip.Addr]
	asked   atomic.Int64 // for addresses of IPv4
}

// startNames makes this process use this name server until the test ends.
func startNames(t *testing.T, address string) *nameServer {
	t.Helper()
	s := &nameServer{}
	s.point(address)
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.serve(socket)
	usual := net.DefaultResolver
	var asks sync.Mutex // a question may be under way when the test ends
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		asks.Lock()
		defer asks.Unlock()
		return (&net.Dialer{Resolver: usual}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
	t.Cleanup(func() {
		asks.Lock()
		defer asks.Unlock()
		net.DefaultResolver = usual
		socket.Close()
	})
	return s
}

func (s *nameServer) point(address string) {
	a := netip.MustParseAddr(address)
	s.address.Store(&a)
}

// serve answers as RFC 1035 has it: a header of 12 bytes, the question (a name, its type and class), the answer.
func (s *nameServer) serve(socket net.PacketConn) {
	buf := make([]byte, 512)
	for {
		n, from, err := socket.ReadFrom(buf)
		if err != nil {
			return
		}
		end := 12 + bytes.IndexByte(buf[12:n], 0) + 1 + 4
		reply := bytes.Clone(buf[:end])
		answers := byte(0)
		if binary.BigEndian.Uint16(reply[end-4:]) == 1 {
			s.asked.Add(1)
			answers = 1
			ip := s.address.Load().As4()
			reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
			reply = append(reply, ip[:]...)
		}
		copy(reply[2:], []byte{0x81, 0x80, 0, 1, 0, answers, 0, 0, 0, 0})
		_, _ = socket.WriteTo(reply, from)
	}
}

// If the address of a name refuses, the name is looked up again: at once, and at most once a second.
func TestNameMoves(t *testing.T) {
	server, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Addr())
	names := startNames(t, "127.0.0.1")
	r := newRig(t, targets.Spec{URL: "http://moves.test:" + port + "/", NoKeepAlive: true}, targets.Local{}, 10)
	expect(t, r.do(), 200, "")

	// Nobody listens at the known address; the name server has no better one for a while.
	began, asked := time.Now(), names.asked.Load()
	names.point("127.0.0.77")
	r.c.hosts[0].names.learn([]netip.Addr{netip.MustParseAddr("127.0.0.77")}, nil)
	await.True(t, "three lookups", func() bool {
		expect(t, r.do(), 0, targets.ClassConnect)
		return names.asked.Load() >= asked+3
	})
	if took := time.Since(began); took < 2*lookupRetry {
		t.Errorf("looked up 3 times within %v", took)
	}

	// The endpoint is at another address.
	names.point("127.0.0.1")
	moved := time.Now()
	asked = names.asked.Load()
	await.True(t, "the use of the new address", func() bool { return r.do().Class == "" })
	await.Soon(t, "the use of the new address", time.Since(moved), 5*lookupRetry)
	// One lookup may have been under way, and one may be now. More of them take their time.
	if n, took := names.asked.Load()-asked, time.Since(moved); took < time.Duration(n-3)*lookupRetry {
		t.Errorf("the new address is used after %d lookups in %v", n, took)
	}
	// While it answers nobody asks for a lookup.
	doubted := func() bool { return len(r.c.hosts[0].names.wrong) > 0 }
	r.pollUntil("a lookup that was asked for", func() bool { return !doubted() })
	for range 50 {
		if expect(t, r.do(), 200, ""); doubted() {
			t.Fatal("a lookup is asked for although the endpoint answers")
		}
	}
}

// An address that neither accepts nor refuses connections is wrong too.
func TestNameMovesFromSilence(t *testing.T) {
	silent := deaf(t)
	names := startNames(t, silent.Addr().String())
	r := newRig(t, targets.Spec{URL: "http://moves.test:" + portOf(silent), Timeout: 100 * time.Millisecond}, targets.Local{}, 1)
	asked := names.asked.Load()
	await.True(t, "another lookup", func() bool {
		expect(t, r.do(), 0, targets.ClassTimeout)
		return names.asked.Load() > asked
	})
}

func portOf(a netip.AddrPort) string {
	_, port, _ := net.SplitHostPort(a.String())
	return port
}
