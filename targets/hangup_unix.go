//go:build unix

package targets

import (
	"net"
	"syscall"
)

// A socket is a connection that can tell whether its peer hung up, and with
// that look save another: who writes and then reads tries to read too early
// first, nearly always. Such a try is a system call, and what it finds out is
// what the look does. So a look, the write and the wait for an answer are one:
//
//	without   look, write, try, wait, read
//	with      look, write, wait, read
//
// It is for one goroutine at a time, but for deadlines and Close.
type socket struct {
	net.Conn
	raw     syscall.RawConn // nil = there are no looks
	request bool            // the next Write is a whole request, and an answer follows
	tickets bool            // what came need not be a hang-up, see greeted

	// Of a Write of a request.
	out    []byte
	n      int  // bytes that were written
	looked bool // the look is over
	quiet  bool // it found nothing
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

// hungUp reports whether the peer of an idle connection closed it, or sent
// something, which on an idle connection is never good. It is one system call
// that does not block and allocates nothing. It needs a deadline to come.
func (s *socket) hungUp() bool {
	return s.raw != nil && (s.raw.Read(s.lookOnly) != nil || !s.quiet)
}

// greeted says that the TLS of this connection is established: a server of
// TLS 1.3 then sends tickets, which nobody reads before the first answer.
// Until that has come, which answered says, only the end is a hang-up.
func (s *socket) greeted() { s.tickets = true }

func (s *socket) answered() { s.tickets = false }

// expect says that the next Write is a whole request on a connection that was
// idle. That Write fails, with nothing written, if the peer hung up, and it
// returns when an answer begins to come, or at the deadline.
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
		return s.n, nil // whatever ended the wait, reading tells
	case !s.looked:
		return 0, err // the deadline was over before
	}
	n, err := s.Conn.Write(b[s.n:])
	return s.n + n, err
}

// send looks and writes, and is called again when there is something to read.
// What comes after the look is noticed: to look also begins to wait.
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
	return s.n < len(s.out) // the rest may have to wait, and what is wrong is found once more
}

// look sets quiet: nothing came, not even the end.
func (s *socket) look(fd uintptr) (done bool) {
	var n int
	var err error
	if s.tickets {
		n, _, err = syscall.Recvfrom(int(fd), s.spare[:], syscall.MSG_PEEK)
	} else {
		_, err = syscall.Read(int(fd), s.spare[:]) // a byte read is lost, but so is the connection
	}
	s.quiet = err == syscall.EAGAIN || err == syscall.EINTR || n > 0
	return true // do not wait until there is something to read
}
