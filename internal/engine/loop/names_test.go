//go:build linux

package loop

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/targets"
)

// A nameServer answers over UDP that every name has the same addresses of IPv4. Without any, it says that there is no such
// name.
type nameServer struct {
	mu        sync.Mutex
	addresses []netip.Addr
	asked     map[string]int // for addresses of IPv4, by name
}

// startNames makes this process use this name server until the test ends.
func startNames(t *testing.T, addresses ...string) *nameServer {
	t.Helper()
	s := &nameServer{asked: map[string]int{}}
	s.point(addresses...)
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

// point changes the addresses.
func (s *nameServer) point(addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = nil
	for _, a := range addresses {
		s.addresses = append(s.addresses, netip.MustParseAddr(a))
	}
}

// lookups returns how often a name was asked for.
func (s *nameServer) lookups(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[name]
}

// answer returns the addresses for a question.
func (s *nameServer) answer(name string, kind uint16) (addresses []netip.Addr, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind != 1 {
		return nil, len(s.addresses) > 0
	}
	s.asked[name]++
	return s.addresses, len(s.addresses) > 0
}

// serve answers as RFC 1035 has it: a header of 12 bytes, the question (a name, its type and class), the answer.
func (s *nameServer) serve(socket net.PacketConn) {
	buf := make([]byte, 512)
	for {
		n, from, err := socket.ReadFrom(buf)
		if err != nil {
			return
		}
		var labels []string
		at := 12
		for size := int(buf[at]); size > 0; size = int(buf[at]) {
			labels = append(labels, string(buf[at+1:at+1+size]))
			at += 1 + size
		}
		end := min(n, at+1+4)
		reply := bytes.Clone(buf[:end])
		answers, exists := s.answer(strings.Join(labels, "."), binary.BigEndian.Uint16(reply[end-4:]))
		for _, a := range answers {
			ip := a.As4()
			reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
			reply = append(reply, ip[:]...)
		}
		code := byte(0)
		if !exists {
			code = 3 // NXDOMAIN
		}
		copy(reply[2:], []byte{0x81, 0x80 | code, 0, 1, 0, byte(len(answers)), 0, 0, 0, 0})
		_, _ = socket.WriteTo(reply, from)
	}
}

// If the address of a name refuses, the name is looked up again: at once, and at most once a second.
func TestNameMoves(t *testing.T) {
	const retry = time.Second
	server, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Addr())
	old, err := arrivals.Start(arrivals.Options{Addr: "127.0.0.77:" + port})
	if err != nil {
		t.Fatal(err)
	}
	names := startNames(t, "127.0.0.77")
	r := newRig(t, targets.Spec{URL: "http://moves.test:" + port + "/", NoKeepAlive: true}, targets.Local{}, 10)
	expect(t, r.do(), 200, "")

	// Nobody listens at the known address any more; the name server has no better one for a while.
	old.Close()
	began, asked := time.Now(), names.lookups("moves.test")
	await.True(t, "three lookups", func() bool {
		expect(t, r.do(), 0, targets.ClassConnect)
		return names.lookups("moves.test") >= asked+3
	})
	if took := time.Since(began); took < 2*retry {
		t.Errorf("looked up 3 times within %v", took)
	}

	// The endpoint is at another address.
	names.point("127.0.0.1")
	moved := time.Now()
	asked = names.lookups("moves.test")
	await.True(t, "the use of the new address", func() bool { return r.do().Class == "" })
	await.Soon(t, "the use of the new address", time.Since(moved), 5*retry)
	// One lookup may have been under way, and one may be now. More of them take their time.
	if n, took := names.lookups("moves.test")-asked, time.Since(moved); took < time.Duration(n-3)*retry {
		t.Errorf("the new address is used after %d lookups in %v", n, took)
	}
}

// While an endpoint answers, nobody asks for a lookup. A name that is wrong is looked up several times meanwhile.
func TestGoodNamesAreNotDoubted(t *testing.T) {
	server, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Addr())
	names := startNames(t, "127.0.0.1")
	good := newRig(t, targets.Spec{URL: "http://good.test:" + port + "/", NoKeepAlive: true}, targets.Local{}, 10)
	for range 50 {
		expect(t, good.do(), 200, "")
	}
	names.point("127.0.0.77")
	wrong := newRig(t, targets.Spec{URL: "http://wrong.test:" + port + "/"}, targets.Local{}, 1)
	await.True(t, "three lookups of another name", func() bool {
		expect(t, good.do(), 200, "")
		expect(t, wrong.do(), 0, targets.ClassConnect)
		return names.lookups("wrong.test") >= 3
	})
	if n := names.lookups("good.test"); n != 1 {
		t.Errorf("%d lookups of a name that answers, want the first", n)
	}
}

// An address that neither accepts nor refuses connections is wrong too.
func TestNameMovesFromSilence(t *testing.T) {
	silent := deaf(t)
	names := startNames(t, silent.Addr().String())
	r := newRig(t, targets.Spec{URL: "http://moves.test:" + portOf(silent), Timeout: 100 * time.Millisecond}, targets.Local{}, 1)
	await.True(t, "another lookup", func() bool {
		expect(t, r.do(), 0, targets.ClassTimeout)
		return names.lookups("moves.test") > 1
	})
}

func portOf(a netip.AddrPort) string {
	_, port, _ := net.SplitHostPort(a.String())
	return port
}
