//go:build linux

package loop

import (
	"net"
	"net/netip"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// limitBuffer makes the system take no more than some bytes that the server has not taken, on the connection of ours that a
// server sees as coming from client.
func limitBuffer(t *testing.T, client net.Addr, size int) {
	t.Helper()
	if err := unix.SetsockoptInt(descriptorOf(t, client), unix.SOL_SOCKET, unix.SO_SNDBUF, size); err != nil {
		t.Fatal(err)
	}
}

// descriptorOf returns this process's descriptor of the socket at a local address of IPv4.
func descriptorOf(t *testing.T, local net.Addr) int {
	t.Helper()
	want := netip.MustParseAddrPort(local.String())
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range all {
		fd, _ := strconv.Atoi(entry.Name())
		name, _ := unix.Getsockname(fd) // an error: it is no socket
		if at, ok := name.(*unix.SockaddrInet4); ok && netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port)) == want {
			return fd
		}
	}
	t.Fatalf("no socket at %v", local)
	return -1
}
