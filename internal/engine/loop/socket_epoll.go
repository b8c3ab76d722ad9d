//go:build linux && !portable

package loop

import (
	"net"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A socket is a descriptor that is registered with a poller.
type socket struct {
	fd     int
	poller *poller
}

// noSocket is a socket without a connection.
func noSocket() socket { return socket{fd: -1} }

// open reports whether there is a connection, or an attempt to open one.
func (s socket) open() bool { return s.fd >= 0 }

// connect starts to connect; over TCP, errPending is the usual result. The socket is registered only afterwards, because
// an unconnected socket reports a close. The socket is open even if there is an error.
func connect(p *poller, index int32, network string, to peer, from *locals) (socket, error) {
	kind := unix.SOCK_STREAM
	if network == "udp" {
		kind = unix.SOCK_DGRAM
	}
	fd, err := unix.Socket(to.family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return noSocket(), os.NewSyscallError("socket", err)
	}
	s := socket{fd, p}
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
		return s, errPending
	}
	return s, nil
}

// connected returns the result of an attempt to connect.
func (s socket) connected() error {
	code, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	return os.NewSyscallError("connect", err)
}

// send writes as much of b as there is room for.
func (s socket) send(b []byte) (int, error) {
	for {
		n, errno := sendNow(s.fd, b)
		switch errno {
		case 0:
			return n, nil
		case unix.EAGAIN:
			return 0, wouldBlock{}
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// receive reads what has come.
func (s socket) receive(b []byte) (int, error) {
	for {
		n, errno := receiveNow(s.fd, b)
		switch errno {
		case 0:
			return n, nil
		case unix.EAGAIN:
			return 0, wouldBlock{}
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// mute ends the events of a socket that stays open.
func (s socket) mute() { s.poller.remove(s.fd) }

// close closes the socket. The kernel then forgets its events.
func (s socket) close() { _ = unix.Close(s.fd) }

// A peer is an address to connect to.
type peer struct {
	family  int
	address unix.Sockaddr
}

// ofUnix returns the peer at the path of a Unix socket.
func ofUnix(path string) peer { return peer{unix.AF_UNIX, &unix.SockaddrUnix{Name: path}} }

// newPeer returns the peer at a port of an address.
func newPeer(ip netip.Addr, port int) peer {
	if ip.Is4() {
		return peer{unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: ip.As4()}}
	}
	return peer{unix.AF_INET6, &unix.SockaddrInet6{Port: port, Addr: ip.As16(), ZoneId: zone(ip.Zone())}}
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
func (l *locals) bind(fd, family int) error {
	ip := l.next(family == unix.AF_INET)
	if ip == nil {
		return nil
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	if v4 := ip.To4(); v4 != nil {
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte(v4)})
	}
	return unix.Bind(fd, &unix.SockaddrInet6{Addr: [16]byte(ip)})
}
