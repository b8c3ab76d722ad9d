//go:build linux

package epoll

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/targets"
)

// connectEvents are the events of a connection, registered once. Edge-triggered, they cost nothing unless something
// happens.
const connectEvents = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | edge

// connect opens a connection for a place, and for its request if it has one. It tries the first address not tried yet
// that does not refuse at once. The request is written when the connection is open.
func (c *Client) connect(p *place) {
	known := p.host.names.known.Load()
	for p.tried < len(known.peers) {
		to := known.peers[(p.first+p.tried)%len(known.peers)]
		p.tried++
		switch err := c.open(p, to); {
		case err == nil:
			c.opening++
			c.established(p)
			return
		case errors.Is(err, unix.EINPROGRESS):
			p.state = connecting
			c.opening++
			return
		default:
			p.refused(err)
		}
	}
	p.host.names.doubt()
	err := p.connectErr
	if err == nil {
		err = known.err
	}
	c.unopened(p, &net.OpError{Op: "dial", Net: p.host.network, Err: err}, targets.ClassConnect)
}

// connected handles the result of an attempt to connect.
func (c *Client) connected(p *place) {
	code, err := unix.GetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err != nil {
		c.opening--
		p.refused(os.NewSyscallError("connect", err))
		c.connect(p)
		return
	}
	c.established(p)
}

// established goes on with a connection that a peer accepted. The next connections use the same address.
func (c *Client) established(p *place) {
	p.host.peer = p.first + p.tried - 1
	if p.wire.Name != "" || p.wire.Opens() {
		c.secure(p)
		return
	}
	c.opening--
	c.opened(p)
}

// opened writes the request, or keeps the connection for one.
func (c *Client) opened(p *place) {
	if p.carrier != nil {
		c.carry(p)
		return
	}
	if !p.ahead {
		if len(p.request) > 0 && p.socket != nil && !c.attend(p) { // what came before the message is no reply
			c.end(p, p.socket.Settle(), targets.ClassProtocol, false)
			return
		}
		c.write(p)
		return
	}
	p.ahead = false
	if !c.settled(p) { // the server has closed it, or speaks first
		c.drop(p)
		return
	}
	p.state, p.idleSince = idle, c.clock.Now()
	p.host.idle.push(p)
}

// refused notes that an address refused the connection.
func (p *place) refused(err error) {
	p.hangUp()
	if p.connectErr == nil {
		p.connectErr = err
	}
}

// open starts to connect; over TCP, EINPROGRESS is the usual result. The socket is registered only afterwards, because an
// unconnected socket reports a hang-up.
func (c *Client) open(p *place, to peer) error {
	kind := unix.SOCK_STREAM
	if p.host.network == "udp" {
		kind = unix.SOCK_DGRAM
	}
	fd, err := unix.Socket(to.family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	p.fd = fd
	if p.host.network == "tcp" {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if p.host.network != "unix" {
		if err := c.locals.bind(fd, to.family); err != nil {
			return os.NewSyscallError("bind", err)
		}
	}
	pending := unix.Connect(fd, to.address)
	if pending == unix.EINTR {
		pending = unix.EINPROGRESS
	}
	if pending != nil && pending != unix.EINPROGRESS {
		return os.NewSyscallError("connect", pending)
	}
	if err := c.poller.add(fd, p.index, connectEvents); err != nil {
		return err
	}
	return pending
}
