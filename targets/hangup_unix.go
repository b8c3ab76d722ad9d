//go:build unix

package targets

import (
	"cmp"
	"io"
	"net"
	"syscall"
)

// A socket is a connection that can tell whether its peer hung up. The check also saves a system call: after a write,
// an ordinary read nearly always tries too early first. Here the check, the write and the wait for the answer are one:
//
//	without   check, write, try, wait, read
//	with      check, write, wait, read
//
// A socket is for one goroutine at a time, except for deadlines and Close.
type socket struct {
	net.Conn
	raw     syscall.RawConn // nil = no checks
	request bool            // the next Write is a whole request, and an answer follows
	tickets bool            // received data need not be a hang-up, see greeted

	// State of a Write of a request.
	out    []byte
	n      int  // bytes written so far
	looked bool // the check is done
	quiet  bool // the check found nothing
	spare  [1]byte

	lookOnly, exchange func(fd uintptr) bool // made once: method values allocate
}

// newSocket wraps a connection that was just opened.
func newSocket(c net.Conn) *socket {
	s := &socket{Conn: c}
	s.lookOnly, s.exchange = s.look, s.send
	if sc, ok := c.(syscall.Conn); ok {
		s.raw, _ = sc.SyscallConn()
	}
	return s
}

// hungUp reports whether the peer of an idle connection closed it or sent something, which on an idle connection is
// always wrong. It is one system call that neither blocks nor allocates. The connection's deadline must lie in the
// future.
func (s *socket) hungUp() bool {
	return s.raw != nil && (s.raw.Read(s.lookOnly) != nil || !s.quiet)
}

// drain throws away what arrived on an idle connection, up to a bound, so that the peer can go on sending. Its error is
// io.EOF if the peer closed a stream, or that of the system. buf is overwritten.
func (s *socket) drain(buf []byte, datagrams bool) (err error) {
	if s.raw == nil {
		return nil
	}
	failed := s.raw.Read(func(fd uintptr) bool {
		for range mostDrained {
			n, e := syscall.Read(int(fd), buf)
			switch {
			case e == syscall.EAGAIN || e == syscall.EINTR:
				return true
			case e != nil:
				err = e
				return true
			case n == 0 && !datagrams:
				err = io.EOF
				return true
			}
		}
		return true
	})
	return cmp.Or(err, failed)
}

// mostDrained is how often drain reads at most.
const mostDrained = 64

// greeted says that TLS is established on this connection. A TLS 1.3 server then sends tickets, which nobody reads
// before the first answer. Until that answer (see answered) only the end of the stream is a hang-up.
func (s *socket) greeted() { s.tickets = true }

func (s *socket) answered() { s.tickets = false }

// expect says that the next Write is a whole request on a connection that was idle. If the peer hung up, that Write
// fails and writes nothing. Else it returns when an answer begins to arrive, or at the deadline.
func (s *socket) expect() { s.request = s.raw != nil }

// Write writes like any other, except after expect.
func (s *socket) Write(b []byte) (int, error) {
	if !s.request {
		return s.Conn.Write(b)
	}
	s.request, s.looked, s.out, s.n = false, false, b, 0
	err := s.raw.Read(s.exchange)
	s.out = nil
	switch {
	case s.looked && !s.quiet:
		return 0, errHungUp
	case s.n == len(b):
		return s.n, nil // reading returns what ended the wait
	case !s.looked:
		return 0, err // the deadline had passed before
	}
	n, err := s.Conn.Write(b[s.n:])
	return s.n + n, err
}

// send checks and writes. It is called again when there is something to read. Data that arrives after the check is
// noticed, because the check also starts the wait.
func (s *socket) send(fd uintptr) (done bool) {
	if s.looked {
		return true
	}
	s.looked = true
	if s.look(fd); !s.quiet {
		return true
	}
	n, err := syscall.Write(int(fd), s.out)
	if err == nil {
		s.n = n
	}
	return s.n < len(s.out) // the rest may have to wait; an error will occur again
}

// look sets quiet if nothing arrived, not even the end of the stream.
func (s *socket) look(fd uintptr) (done bool) {
	var n int
	var err error
	if s.tickets {
		n, _, err = syscall.Recvfrom(int(fd), s.spare[:], syscall.MSG_PEEK)
	} else {
		_, err = syscall.Read(int(fd), s.spare[:]) // a byte read is lost, but so is the connection
	}
	s.quiet = err == syscall.EAGAIN || err == syscall.EINTR || n > 0
	return true // do not wait for data
}
