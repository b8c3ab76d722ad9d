package mux

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// stream is a connection for a client. Like one it has one reader goroutine at a time, and one writer.
type stream struct {
	trunk *trunk
	out   []byte        // requests that are not complete yet
	ready chan struct{} // something has changed for the reader

	mu    sync.Mutex
	in    []byte // replies not read yet
	err   error
	read  time.Time // deadlines; zero = none
	write time.Time
}

// Write implements net.Conn. Requests leave as soon as the last one is complete, all together: no request of another
// stream comes between.
func (s *stream) Write(p []byte) (int, error) {
	s.out = append(s.out, p...)
	n, whole, err := countRequests(s.out)
	if err != nil || !whole {
		return len(p), err
	}
	s.mu.Lock()
	err, deadline := s.err, s.write
	s.mu.Unlock()
	if err != nil {
		return 0, err
	}
	requests := s.out
	s.out = nil
	if err := s.trunk.send(s, requests, n, deadline); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Read implements net.Conn.
func (s *stream) Read(p []byte) (int, error) {
	for {
		n, deadline, err := s.taken(p)
		if n > 0 || err != nil {
			return n, err
		}
		var late <-chan time.Time
		if !deadline.IsZero() {
			late = time.After(time.Until(deadline))
		}
		select {
		case <-s.ready:
		case <-late:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// taken returns what can be read now.
func (s *stream) taken(p []byte) (n int, deadline time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = copy(p, s.in)
	if s.in = s.in[n:]; len(s.in) == 0 {
		s.in = nil
	}
	if n == 0 {
		err = s.err
	}
	return n, s.read, err
}

// feed adds a reply.
func (s *stream) feed(reply []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.in = append(s.in, reply...)
		s.wake()
	}
}

// fail ends the stream.
func (s *stream) fail(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = why
		s.wake()
	}
}

func (s *stream) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Close implements net.Conn. The socket stays open.
func (s *stream) Close() error {
	s.fail(net.ErrClosed)
	s.trunk.leave(s)
	return nil
}

// SetDeadline implements net.Conn.
func (s *stream) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn. It applies from the next Read on.
func (s *stream) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = t
	return nil
}

// SetWriteDeadline implements net.Conn.
func (s *stream) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write = t
	return nil
}

// LocalAddr implements net.Conn.
func (s *stream) LocalAddr() net.Addr { return s.trunk.socket.LocalAddr() }

// RemoteAddr implements net.Conn.
func (s *stream) RemoteAddr() net.Addr { return s.trunk.socket.RemoteAddr() }

// SyscallConn implements syscall.Conn. A client uses it to check whether a connection was closed before it reuses it.
func (s *stream) SyscallConn() (syscall.RawConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return alive{}, s.err
}

// alive reports that the connection is good, and has nothing to read.
type alive struct{}

// Control implements syscall.RawConn.
func (alive) Control(func(uintptr)) error { return nil }

// Read implements syscall.RawConn.
func (alive) Read(func(uintptr) bool) error { return nil }

// Write implements syscall.RawConn.
func (alive) Write(func(uintptr) bool) error { return nil }
