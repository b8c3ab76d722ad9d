package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"
)

// Locals returns nil if this machine can connect from each of these IP addresses. Else the error is one line that says
// what to do.
func Locals(addresses []string) error {
	for _, a := range addresses {
		l, err := net.Listen("tcp", net.JoinHostPort(a, "0"))
		if err != nil {
			if e, ok := errors.AsType[*os.SyscallError](err); ok {
				err = e.Err // without the part about listening
			}
			return fmt.Errorf("connect from %s: %w; give an address of this machine", a, err)
		}
		l.Close()
	}
	return nil
}

// Broadcast tells whether an address is a broadcast address. The system lets one bind to it, but not connect from it.
func Broadcast(ip net.IP) bool {
	networks, err := net.InterfaceAddrs()
	if err != nil {
		networks = nil // connecting will fail then, with a better error
	}
	return ip.Equal(net.IPv4bcast) || slices.ContainsFunc(networks, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		if !ok || !network.Contains(ip) || ip.To4() == nil {
			return false
		}
		own, all := network.Mask.Size()
		last := ip.Mask(network.Mask)
		for i := range last {
			last[i] |= ^network.Mask[i]
		}
		return all-own > 1 && last.Equal(ip) // a network of one or two addresses has no broadcast address
	})
}

// lookupPatience bounds the lookup of the host. If it fails, connecting gives a better error.
const lookupPatience = 5 * time.Second

// Reaching counts the local addresses that can reach host:port: those of the same address family. None is an error.
func Reaching(locals []string, hostport string) (int, error) {
	if len(locals) == 0 {
		return 0, nil
	}
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return 0, fmt.Errorf("look up %s: %w", hostport, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupPatience)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host) // an IP address resolves to itself
	if err != nil {
		return len(locals), nil
	}
	n := 0
	for _, text := range locals {
		v4 := net.ParseIP(text).To4() != nil
		if slices.ContainsFunc(ips, func(ip netip.Addr) bool { return ip.Unmap().Is4() == v4 }) {
			n++
		}
	}
	if n > 0 {
		return n, nil
	}
	if ips[0].Unmap().Is4() {
		return 0, fmt.Errorf("--laddr: %s has only IPv4 addresses; give an IPv4 address of this machine too", host)
	}
	return 0, fmt.Errorf("--laddr: %s has only IPv6 addresses; give an IPv6 address of this machine too", host)
}
