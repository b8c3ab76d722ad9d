package loop

import (
	"errors"
	"syscall"

	"github.com/loadctl/loadctl/targets"
)

// sent ends a request that expects no reply, once it is written.
func (c *Client) sent(p *place) {
	err, readable := p.writeErr, p.readable
	if err == nil {
		err = p.earlier
	}
	c.end(p, err, targets.ClassOther, err == nil && !p.hungUp && !p.wire.Close)
	if readable && p.conn.open() && !c.discard(p) {
		p.hangUp()
	}
}

// discards tells whether what comes while no request is under way is thrown away: no reply is expected.
func (p *place) discards() bool { return p.wire.Raw() && !p.wire.Replies() }

// discard throws away what came, so that the server can go on sending. It reports false if the connection has ended. An
// error of an earlier datagram waits for the next request on the socket.
func (c *Client) discard(p *place) bool {
	for range readsInARow {
		n, err := p.conn.receive(c.buf)
		switch {
		case blocked(err):
			p.readable = false
			return true
		case errors.Is(err, syscall.ECONNREFUSED) && p.wire.Datagrams():
			p.earlier = err
		case err != nil, n == 0 && !p.wire.Datagrams():
			return false
		}
	}
	c.readOn(p) // others get their turn
	return true
}
