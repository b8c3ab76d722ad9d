package sockets

import (
	"net"
	"net/netip"
)

// Locals are the addresses to connect from, in turn. Without any, the system chooses.
type Locals struct {
	v4, v6 []net.IP
	turn   int
}

// NewLocals returns locals of these addresses.
func NewLocals(ips []net.IP) Locals {
	var l Locals
	for _, ip := range ips {
		if ip.To4() != nil {
			l.v4 = append(l.v4, ip)
		} else {
			l.v6 = append(l.v6, ip)
		}
	}
	return l
}

// of returns the addresses for peers of IPv4, or of IPv6.
func (l *Locals) of(v4 bool) []net.IP {
	if v4 {
		return l.v4
	}
	return l.v6
}

// Fits reports whether a peer can be reached.
func (l *Locals) Fits(peer netip.Addr) bool {
	return len(l.v4)+len(l.v6) == 0 || len(l.of(peer.Is4())) > 0
}

// Next returns the address for the next connection; nil if the system chooses.
func (l *Locals) Next(v4 bool) net.IP {
	all := l.of(v4)
	if len(all) == 0 {
		return nil
	}
	l.turn++
	return all[l.turn%len(all)]
}
