//go:build !linux || portable

package sockets

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Limits of a portable socket.
const (
	pipeBuffer   = 16 << 10    // bytes of a stream, in each direction
	mostDatagram = 64 << 10    // bytes
	closeTimeout = time.Second // for what was sent before a socket was closed
)

// A Socket is a connection of package net. It behaves like one of the system that does not block: what is sent waits in a
// buffer until its goroutine has written it, and what is received was read by another goroutine before.
type Socket struct{ *pipe }

// A pipe is the state of a socket. Its fields are guarded by the lock of the poller, except for those that never change.
type pipe struct {
	poller    *Poller
	index     int32 // of its conn
	datagrams bool
	cancel    context.CancelFunc // ends the attempt to connect
	changed   sync.Cond          // its goroutines may go on

	events Event // that no look has taken
	muted  bool  // nobody wants events
	closed bool

	conn net.Conn // nil until it is open
	err  error    // why it could not be opened

	in       []byte // received, and not yet taken
	full     bool   // there is something in in, which may be an empty datagram, or an error of a datagram
	inErr    error  // of a datagram; or why a stream has ended
	inEnded  bool   // a stream has ended
	out      []byte // to be written next
	writing  bool   // something is being written
	refused  bool   // a send found no room
	writeErr error
}

// None is a socket without a connection.
func None() Socket { return Socket{} }

// IsOpen reports whether there is a connection, or an attempt to open one.
func (s Socket) IsOpen() bool { return s.pipe != nil }

// Connect starts to connect, and returns ErrPending.
func Connect(p *Poller, index int32, network string, to Peer, from *Locals) (Socket, error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &pipe{poller: p, index: index, datagrams: network == "udp", cancel: cancel}
	s.changed.L = &p.mu
	d := net.Dialer{KeepAlive: -1}
	switch ip := from.Next(to.v4); {
	case ip == nil || network == "unix":
	case s.datagrams:
		d.LocalAddr = &net.UDPAddr{IP: ip}
	default:
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	go s.run(ctx, d, network, to.address)
	return Socket{s}, ErrPending
}

// run opens the connection and reads it.
func (s *pipe) run(ctx context.Context, d net.Dialer, network, address string) {
	conn, err := d.DialContext(ctx, network, address)
	p := s.poller
	p.mu.Lock()
	defer p.mu.Unlock()
	s.cancel()
	if s.closed {
		if err == nil {
			conn.Close()
		}
		return
	}
	if err != nil {
		s.err = cause(err)
		p.post(s, CanWrite|CanRead|PeerClosed)
		return
	}
	s.conn = conn
	p.post(s, CanWrite)
	if !s.datagrams {
		go s.write()
	}
	s.read()
}

// cause returns the error of the system, without what package net says about it.
func cause(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

// read reads until the connection ends, one buffer at a time. The lock is held, but not while it reads.
func (s *pipe) read() {
	size := pipeBuffer
	if s.datagrams {
		size = mostDatagram
	}
	buf := make([]byte, size)
	for !s.closed {
		s.poller.mu.Unlock()
		n, err := s.conn.Read(buf)
		s.poller.mu.Lock()
		if s.full = n > 0 || s.datagrams; s.full {
			if s.in = buf[:n]; s.datagrams && err != nil {
				s.inErr = cause(err)
			}
			s.poller.post(s, CanRead)
			for s.full && !s.closed {
				s.changed.Wait()
			}
		}
		if err != nil && !s.datagrams {
			for s.writing && errors.Is(err, io.EOF) && !s.closed {
				// If the write finds a reset, the read finds an end in order. A peer that closed its side reads on, or resets.
				s.changed.Wait()
			}
			if s.inEnded = true; !errors.Is(err, io.EOF) {
				s.inErr = cause(err)
			} else if errors.Is(s.writeErr, syscall.ECONNRESET) {
				s.inErr = s.writeErr
			}
			s.poller.post(s, CanRead|PeerClosed)
			return
		}
	}
}

// write writes what is sent, until the connection ends.
func (s *pipe) write() {
	s.poller.mu.Lock()
	defer s.poller.mu.Unlock()
	var taken []byte
	for s.writeErr == nil {
		for len(s.out) == 0 && !s.closed {
			s.changed.Wait()
		}
		if len(s.out) == 0 {
			break
		}
		taken, s.out, s.writing = s.out, taken[:0], true
		if s.refused {
			s.refused = false
			s.poller.post(s, CanWrite)
		}
		s.poller.mu.Unlock()
		_, err := s.conn.Write(taken)
		s.poller.mu.Lock()
		if s.writing = false; err != nil {
			s.writeErr = cause(err)
			s.poller.post(s, CanWrite|CanRead|PeerClosed)
		}
		s.changed.Broadcast()
	}
	if s.closed {
		s.conn.Close()
	}
}

// Connected returns the result of an attempt to connect.
func (s *pipe) Connected() error {
	s.poller.mu.Lock()
	defer s.poller.mu.Unlock()
	return s.err
}

// Send takes as much of b as there is room for.
func (s *pipe) Send(b []byte) (int, error) {
	if s.datagrams {
		n, err := s.conn.Write(b) // a datagram does not wait
		return n, cause(err)
	}
	s.poller.mu.Lock()
	defer s.poller.mu.Unlock()
	switch {
	case s.writeErr != nil:
		return 0, s.writeErr
	case s.inErr != nil: // it was reset
		return 0, s.inErr
	case len(s.out) == pipeBuffer:
		s.refused = true
		return 0, WouldBlock{}
	}
	n := min(len(b), pipeBuffer-len(s.out))
	s.out = append(s.out, b[:n]...)
	s.changed.Broadcast()
	return n, nil
}

// Receive returns what was read: 0 bytes at the end of a stream.
func (s *pipe) Receive(b []byte) (n int, err error) {
	s.poller.mu.Lock()
	defer s.poller.mu.Unlock()
	switch {
	case s.full:
		if s.datagrams {
			err, s.inErr = s.inErr, nil
		}
		n = copy(b, s.in)
		if s.in = s.in[n:]; s.datagrams || len(s.in) == 0 {
			s.full = false
			s.changed.Broadcast()
		}
		return n, err
	case s.inEnded:
		return 0, s.inErr
	}
	return 0, WouldBlock{}
}

// Mute ends the events of a socket that stays open.
func (s *pipe) Mute() {
	s.poller.mu.Lock()
	defer s.poller.mu.Unlock()
	s.poller.forget(s)
}

// Close closes the socket. What was sent before still leaves, if the peer takes it soon.
func (s *pipe) Close() {
	s.poller.mu.Lock()
	defer s.poller.mu.Unlock()
	s.poller.forget(s)
	s.cancel()
	s.closed = true
	s.changed.Broadcast()
	switch {
	case s.conn == nil:
	case s.writing || len(s.out) > 0 && s.writeErr == nil:
		_ = s.conn.SetDeadline(time.Now().Add(closeTimeout))
	default:
		s.conn.Close()
	}
}

// A Peer is an address to connect to.
type Peer struct {
	address string
	v4      bool
}

// ofUnix returns the peer at the path of a Unix socket.
func ofUnix(path string) Peer { return Peer{address: path} }

// String returns the address: HOST:PORT, or the path of a Unix socket.
func (p Peer) String() string { return p.address }

// newPeer returns the peer at a port of an address.
func newPeer(ip netip.Addr, port int) Peer {
	return Peer{net.JoinHostPort(ip.String(), strconv.Itoa(port)), ip.Is4()}
}
