//go:build !unix

package targets

import "net"

// hangUpCheck returns a function that would report whether the peer hung up.
// Here there is no cheap way to know, so a request on such a connection fails.
func hangUpCheck(net.Conn) func() bool {
	return func() bool { return false }
}
