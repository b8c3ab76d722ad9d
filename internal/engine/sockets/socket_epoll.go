//go:build linux && !portable

package sockets

import (
	"net"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A Socket is a descriptor that is registered with a poller.
type Socket struct {
	fd     int
	poller *Poller
}

// None is a socket without a connection.
func None() Socket { return Socket{fd: -1} }

// IsOpen reports whether there is a connection, or an attempt to open one.
func (s Socket) IsOpen() bool { return s.fd >= 0 }

// Connect starts to connect; over TCP, ErrPending is the usual result. The socket is registered only afterwards, because
// an unconnected socket reports a close. The socket is open even if there is an error.
func Connect(p *Poller, index int32, network string, to Peer, from *Locals) (Socket, error) {
	kind := unix.SOCK_STREAM
	if network == "udp" {
		kind = unix.SOCK_DGRAM
	}
	fd, err := unix.Socket(to.family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return None(), os.NewSyscallError("socket", err)
	}
	s := Socket{fd, p}
	if network == "tcp" {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return s, os.NewSyscallError("setsockopt", err)
		}
	}
	if network != "unix" {
		if err := from.bind(fd, to.family); err != nil {
			return s, os.NewSyscallError("bind", err)
		}
	}
	pending := unix.Connect(fd, to.address)
	if pending != nil && pending != unix.EINPROGRESS && pending != unix.EINTR {
		return s, os.NewSyscallError("connect", pending)
	}
	if err := p.add(fd, index, connectEvents); err != nil {
		return s, err
	}
	if pending != nil {
		return s, ErrPending
	}
	return s, nil
}

// Connected returns the result of an attempt to connect.
func (s Socket) Connected() error {
	code, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	return os.NewSyscallError("connect", err)
}

// Send writes as much of b as there is room for.
func (s Socket) Send(b []byte) (int, error) {
	for {
		n, errno := sendNow(s.fd, b)
		switch errno {
		case 0:
			return n, nil
		case unix.EAGAIN:
			return 0, WouldBlock{}
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// Receive reads what has come.
func (s Socket) Receive(b []byte) (int, error) {
	for {
		n, errno := receiveNow(s.fd, b)
		switch errno {
		case 0:
			return n, nil
		case unix.EAGAIN:
			return 0, WouldBlock{}
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// Mute ends the events of a socket that stays open.
func (s Socket) Mute() { s.poller.remove(s.fd) }

// Close closes the socket. The kernel then forgets its events.
func (s Socket) Close() { _ = unix.Close(s.fd) }

// A Peer is an address to connect to.
type Peer struct {
	family  int
	address unix.Sockaddr
}

// ofUnix returns the peer at the path of a Unix socket.
func ofUnix(path string) Peer { return Peer{unix.AF_UNIX, &unix.SockaddrUnix{Name: path}} }

// String returns the address: HOST:PORT, or the path of a Unix socket.
func (p Peer) String() string {
	switch a := p.address.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)).String()
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port)).String()
	case *unix.SockaddrUnix:
		return a.Name
	}
	return ""
}

// newPeer returns the peer at a port of an address.
func newPeer(ip netip.Addr, port int) Peer {
	if ip.Is4() {
		return Peer{unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: ip.As4()}}
	}
	return Peer{unix.AF_INET6, &unix.SockaddrInet6{Port: port, Addr: ip.As16(), ZoneId: zone(ip.Zone())}}
}

// zone returns the index of a network interface, given by name or number; 0 = none.
func zone(name string) uint32 {
	if i, err := net.InterfaceByName(name); err == nil {
		return uint32(i.Index)
	}
	i, _ := strconv.ParseUint(name, 10, 32)
	return uint32(i)
}

// bind gives a socket the next local address. The system chooses the port when it knows the peer, so one port can serve
// several peers. Old kernels choose it now; that error is ignored.
func (l *Locals) bind(fd, family int) error {
	ip := l.Next(family == unix.AF_INET)
	if ip == nil {
		return nil
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	if v4 := ip.To4(); v4 != nil {
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte(v4)})
	}
	return unix.Bind(fd, &unix.SockaddrInet6{Addr: [16]byte(ip)})
}
