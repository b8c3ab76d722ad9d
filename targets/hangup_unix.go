//go:build unix

package targets

import (
	"net"
	"syscall"
)

// hangUpCheck returns a function that reports whether the peer of an idle
// connection closed it, or sent something, which on an idle connection is
// never good. It is one system call that does not block and allocates nothing.
// The function is for one goroutine at a time, and needs a deadline to come.
func hangUpCheck(c net.Conn) func() bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return func() bool { return false }
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return func() bool { return true }
	}
	var quiet bool
	buf := make([]byte, 1) // a byte read is lost, but so is the connection
	check := func(fd uintptr) bool {
		_, err := syscall.Read(int(fd), buf)
		quiet = err == syscall.EAGAIN || err == syscall.EINTR
		return true // done: do not wait until there is something to read
	}
	return func() bool { return rc.Read(check) != nil || !quiet }
}
