package loop

import (
	"errors"
	"syscall"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"github.com/loadctl/loadctl/targets"
)

// sent ends a request that expects no reply, once it is written.
func (c *Client) sent(cn *conn) {
	err, readable := cn.writeErr, cn.Readable
	if err == nil {
		err = cn.earlier
	}
	c.end(cn, err, targets.ClassOther, err == nil && !cn.HungUp && !cn.wire.Close)
	if readable && cn.Socket.IsOpen() && !c.discard(cn) {
		cn.close()
	}
}

// discards reports whether what comes while no request is under way is thrown away: no reply is expected.
func (cn *conn) discards() bool { return cn.wire.Raw() && !cn.wire.Replies() }

// discard throws away what came, so that the server can go on sending. It reports false if the connection has ended. An
// error of an earlier datagram waits for the next request on the socket.
func (c *Client) discard(cn *conn) bool {
	for range readsInARow {
		n, err := cn.Socket.Receive(c.buf)
		switch {
		case sockets.Blocked(err):
			cn.Readable = false
			return true
		case errors.Is(err, syscall.ECONNREFUSED) && cn.wire.Datagrams():
			cn.earlier = err
		case err != nil, n == 0 && !cn.wire.Datagrams():
			return false
		}
	}
	c.readOn(cn) // others get their turn
	return true
}
