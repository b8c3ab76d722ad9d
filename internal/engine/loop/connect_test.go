//go:build linux

package loop

import (
	"bufio"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/targets"
)

// Names are looked up. A refusing address before a working one: the working one is found once, then remembered.
func TestNames(t *testing.T) {
	url := serve(t, func(c *net.TCPConn) {
		for br := bufio.NewReader(c); request(br); {
			c.Write([]byte(ok))
		}
	})
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	_, port, _ := net.SplitHostPort(address)
	expect(t, newRig(t, targets.Spec{URL: "http://localhost:" + port + "/"}, targets.Local{}, 3).do(), 200, "")

	startNames(t, "127.0.0.77", "127.0.0.1")
	r := newRig(t, targets.Spec{URL: "http://two.test:" + port + "/"}, targets.Local{}, 3)
	if h := r.c.hosts[0]; len(h.names.Known().Peers) != 2 || h.peer != 0 {
		t.Fatalf("address %d of %d is tried first", h.peer, len(h.names.Known().Peers))
	}
	for range 3 {
		r.mustSend()
	}
	r.pollFor(3)
	for _, x := range r.got {
		expect(t, x.Outcome, 200, "")
	}
	if h := r.c.hosts[0]; h.peer%2 != 1 {
		t.Errorf("address %d of 2 is tried first, the last one answered", h.peer%2)
	}
}

func TestNoSuchName(t *testing.T) {
	startNames(t)
	expect(t, newRig(t, targets.Spec{URL: "http://nobody.invalid/"}, targets.Local{}, 1).do(), 0, targets.ClassDNS)
}

// Local addresses are used in turn; if none fits there is no connection.
func TestLocalAddresses(t *testing.T) {
	var mu sync.Mutex
	from := map[string]int{}
	url := serve(t, func(c *net.TCPConn) {
		mu.Lock()
		from[c.RemoteAddr().(*net.TCPAddr).IP.String()]++
		mu.Unlock()
		answer(ok)(c)
	})
	spec := targets.Spec{URL: url, NoKeepAlive: true}
	r := newRig(t, spec, targets.Local{Addresses: []string{"127.0.0.2", "127.0.0.3"}}, 1)
	for range 6 {
		expect(t, r.do(), 200, "")
	}
	mu.Lock()
	if from["127.0.0.2"] != 3 || from["127.0.0.3"] != 3 {
		t.Errorf("connections from %v", from)
	}
	mu.Unlock()
	expect(t, newRig(t, spec, targets.Local{Addresses: []string{"::1"}}, 1).do(), 0, targets.ClassConnect)
	// An address that this machine does not have.
	expect(t, newRig(t, spec, targets.Local{Addresses: []string{"192.0.2.1"}}, 1).do(), 0, targets.ClassPorts)
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Logf("no IPv6 here: %v", err)
		return
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			answer(ok)(c.(*net.TCPConn))
			c.Close()
		}
	}()
	expect(t, newRig(t, targets.Spec{URL: "http://" + l.Addr().String()}, targets.Local{}, 1).do(), 200, "")
}

// deaf returns an address at which connections are neither accepted nor refused.
func deaf(t *testing.T) netip.AddrPort {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, _ := unix.Getsockname(fd)
	address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port))
	for range 2 { // the backlog is full: more get no answer
		c, err := net.DialTimeout("tcp", address.String(), 50*time.Millisecond)
		if err == nil {
			t.Cleanup(func() { c.Close() })
		}
	}
	return address
}

// A connection that is neither accepted nor refused times out; the next one uses the next address.
func TestConnectTimeout(t *testing.T) {
	address := deaf(t)
	r := newRig(t, targets.Spec{URL: "http://" + address.String(), Timeout: 100 * time.Millisecond}, targets.Local{}, 1)
	expect(t, r.do(), 0, targets.ClassTimeout)
	if r.c.hosts[0].peer != 1 {
		t.Errorf("address %d is tried next", r.c.hosts[0].peer)
	}
	expect(t, r.do(), 0, targets.ClassTimeout)
}

// Without a free descriptor the request fails with that outcome, and later requests succeed again.
func TestDescriptors(t *testing.T) {
	s, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := newRig(t, targets.Spec{URL: s.URL()}, targets.Local{}, 2)
	r.poll(0)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	// No new descriptor can be opened; open ones stay open.
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	got := r.do()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	expect(t, got, 0, targets.ClassDescriptors)
	expect(t, r.do(), 200, "")
}

// 1,024 connections at once, each used twice; after Close all are gone.
func TestManyConnections(t *testing.T) {
	const connections = 1024
	s := startTiny(t, -1)
	before := descriptors(t)
	c := open(t, targets.Spec{URL: s.url}, targets.Local{}, connections)
	r := &rig{t: t, c: c}
	if n := c.Preconnect(t.Context(), 2*connections, 0); n != connections {
		t.Fatalf("%d connections", n)
	}
	for i := range 2 {
		for range connections {
			r.mustSend()
		}
		if r.send() {
			t.Error("more requests than connections")
		}
		r.pollFor((i + 1) * connections)
	}
	for _, x := range r.got {
		expect(t, x.Outcome, 200, "")
	}
	r.mustSend() // and is abandoned
	r.close()
	r.close() // does nothing
	// The server closes its half in its own time.
	await.True(t, "the end of all sockets", func() bool { return descriptors(t) <= before })
}

// descriptors returns how many this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
