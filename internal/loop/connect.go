package loop

import (
	"errors"
	"net"

	"github.com/loadctl/loadctl/targets"
)

// connectInTurn is connect for a request that was begun, so that Send cannot refuse it any more. It waits until the address
// of its host is known, and another connection may be opened.
func (c *Client) connectInTurn(p *place) {
	if p.host.names.known.Load() == nil || !c.mayOpen() {
		p.state = awaiting
		c.awaiting = append(c.awaiting, p)
		return
	}
	c.connect(p)
}

// connectAwaiting opens the connections that had to wait, as far as that is possible now.
func (c *Client) connectAwaiting() {
	if len(c.awaiting) == 0 {
		return
	}
	all := c.awaiting
	c.awaiting = nil
	for _, p := range all {
		c.connectInTurn(p)
	}
}

// connect opens a connection for a place, and for its request if it has one. It tries the first address not tried yet
// that does not refuse at once. The request is written when the connection is open.
func (c *Client) connect(p *place) {
	if p.wire.Three {
		c.dial(p)
		return
	}
	known := p.host.names.known.Load()
	for p.tried < len(known.peers) {
		to := known.peers[(p.first+p.tried)%len(known.peers)]
		p.tried++
		switch err := c.open(p, to); {
		case err == nil:
			c.opening++
			c.established(p)
			return
		case errors.Is(err, errPending):
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
	if err := p.conn.connected(); err != nil {
		c.opening--
		p.refused(err)
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

// open starts to connect a place.
func (c *Client) open(p *place, to peer) (err error) {
	p.conn, err = connect(&c.poller, p.index, p.host.network, to, &c.locals)
	return err
}
