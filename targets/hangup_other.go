//go:build !unix

package targets

import "net"

// A socket would tell whether its peer hung up. On this system there is no cheap way to know, so a request on such a
// connection fails.
type socket struct{ net.Conn }

func newSocket(c net.Conn) *socket { return &socket{c} }

func (s *socket) hungUp() bool { return false }

func (s *socket) drain([]byte, bool) error { return nil }

func (s *socket) greeted() {}

func (s *socket) answered() {}

func (s *socket) expect() {}
