//go:build linux

package epoll

import (
	"net"

	"golang.org/x/sys/unix"
)

// locals are the addresses to connect from, in turn. Without any, the system chooses.
type locals struct {
	v4, v6 []unix.Sockaddr
	turn   int
}

func newLocals(ips []net.IP) locals {
	var l locals
	for _, ip := range ips {
		if v4 := ip.To4(); v4 != nil {
			l.v4 = append(l.v4, &unix.SockaddrInet4{Addr: [4]byte(v4)})
		} else {
			l.v6 = append(l.v6, &unix.SockaddrInet6{Addr: [16]byte(ip.To16())})
		}
	}
	return l
}

// of returns the addresses of a family.
func (l *locals) of(family int) []unix.Sockaddr {
	if family == unix.AF_INET {
		return l.v4
	}
	return l.v6
}

// fits tells whether peers of a family can be reached.
func (l *locals) fits(family int) bool {
	return len(l.v4)+len(l.v6) == 0 || len(l.of(family)) > 0
}

// bind gives a socket the next address. The system chooses the port when it knows the peer, so one port can serve
// several peers. Old kernels choose it now; that error is ignored.
func (l *locals) bind(fd, family int) error {
	all := l.of(family)
	if len(all) == 0 {
		return nil
	}
	l.turn++
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	return unix.Bind(fd, all[l.turn%len(all)])
}
