package sockets

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets/wire"
)

// A lookup that fails, or finds only what cannot be reached, keeps the addresses that were known. Without any, it says why.
func TestNamesKeepWhatTheyKnow(t *testing.T) {
	v4 := netip.Addr.Is4
	gone := errors.New("gone")
	n, err := NewNames(&wire.Wire{Network: "tcp", Address: "[::1]:80", Timeout: time.Second}, v4, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for _, step := range []struct {
		what  string
		found []netip.Addr
		err   error
		peers int
		want  error
	}{
		{"the address is of the other kind", []netip.Addr{netip.IPv6Loopback()}, nil, 0, wire.ErrNoLocal},
		{"the lookup fails", nil, gone, 0, gone},
		{"it finds two", []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.77"), netip.MustParseAddr("127.0.0.1")}, nil, 2, nil},
		{"it fails again", nil, gone, 2, nil},
		{"it finds one of the other kind", []netip.Addr{netip.IPv6Loopback()}, nil, 2, nil},
		{"it finds another one", []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil, 1, nil},
	} {
		n.learn(step.found, step.err)
		if got := n.Known(); len(got.Peers) != step.peers || !errors.Is(got.Err, step.want) {
			t.Errorf("%s: %d addresses, %v; want %d, %v", step.what, len(got.Peers), got.Err, step.peers, step.want)
		}
	}
}

// Addresses for UDP begin with those of IPv4, in the order of the lookup.
func TestAddressesBeginWithIPv4(t *testing.T) {
	n, err := NewNames(&wire.Wire{Network: "udp", Address: "127.0.0.1:80"}, func(netip.Addr) bool { return true }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	var found, want []netip.AddrPort
	for _, a := range []string{"[::1]:80", "127.0.0.3:80", "[::2]:80", "127.0.0.2:80"} {
		found = append(found, netip.MustParseAddrPort(a))
	}
	n.learn([]netip.Addr{found[0].Addr(), found[1].Addr(), found[2].Addr(), found[3].Addr()}, nil)
	want = []netip.AddrPort{found[1], found[3], found[0], found[2]}
	if got := n.Known().Addresses; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
