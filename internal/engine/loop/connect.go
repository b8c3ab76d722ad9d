package loop

import (
	"errors"
	"net"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"github.com/loadctl/loadctl/targets"
)

// connectInTurn is connect for a request that was begun, so that Send cannot refuse it any more. It waits until the address
// of its host is known, and another connection may be opened.
func (c *Client) connectInTurn(cn *conn) {
	if cn.host.names.Known() == nil || !c.mayOpen() {
		cn.state = awaiting
		c.awaiting = append(c.awaiting, cn)
		return
	}
	c.connect(cn)
}

// connectAwaiting opens the connections that had to wait, as far as that is possible now.
func (c *Client) connectAwaiting() {
	if len(c.awaiting) == 0 {
		return
	}
	all := c.awaiting
	c.awaiting = nil
	for _, cn := range all {
		c.connectInTurn(cn)
	}
}

// connect opens a connection for a conn, and for its request if it has one. It tries the first address not tried yet
// that does not refuse at once. The request is written when the connection is open.
func (c *Client) connect(cn *conn) {
	if cn.wire.Three {
		c.dial(cn)
		return
	}
	c.lookedUp(cn.host)
	known := cn.host.names.Known()
	for cn.tried < len(known.Peers) {
		to := known.Peers[(cn.first+cn.tried)%len(known.Peers)]
		cn.tried++
		cn.began, cn.peer = c.clock.Now(), to
		switch err := c.open(cn, to); {
		case err == nil:
			c.opening++
			c.established(cn)
			return
		case errors.Is(err, sockets.ErrPending):
			cn.state = connecting
			c.opening++
			return
		default:
			cn.refused(err)
		}
	}
	cn.host.names.Doubt()
	err := cn.connectErr
	if err == nil {
		err = known.Err
	}
	c.unopened(cn, &net.OpError{Op: "dial", Net: cn.host.network, Err: err}, targets.ClassConnect)
}

// connected handles the result of an attempt to connect.
func (c *Client) connected(cn *conn) {
	if err := cn.Socket.Connected(); err != nil {
		c.opening--
		cn.refused(err)
		c.connect(cn)
		return
	}
	c.established(cn)
}

// established goes on with a connection that a peer accepted. The next connections use the same address.
func (c *Client) established(cn *conn) {
	cn.host.peer = cn.first + cn.tried - 1
	c.numbered(cn)
	if cn.wire.Name != "" || cn.wire.Opens() {
		c.secure(cn)
		return
	}
	c.opening--
	c.opened(cn)
}

// secure begins the handshake on a connection that was just opened.
func (c *Client) secure(cn *conn) {
	cn.state = securing
	c.handshakes.Begin(&cn.Conn, cn.index, cn.wire, cn.result.Call)
}

// secured hands on the connections whose handshake is over.
func (c *Client) secured() {
	for _, h := range c.handshakes.Take() {
		if h.Left() {
			continue
		}
		cn := c.conns[h.Index]
		c.opening--
		if h.TLS > 0 && c.phases != nil {
			c.phases.Phase(targets.PhaseTLS, int64(h.TLS))
		}
		cn.securing = int64(h.TLS)
		messages, err := cn.Finish(h)
		if err != nil {
			c.unopened(cn, err, targets.ClassOther)
			continue
		}
		cn.messages = messages
		c.opened(cn)
	}
}

// opened writes the request, or keeps the connection for one.
func (c *Client) opened(cn *conn) {
	if cn.session != nil {
		c.openSession(cn)
		return
	}
	if !cn.ahead {
		if len(cn.request) > 0 && cn.messages != nil && !c.attend(cn) { // what came before the message is no reply
			c.end(cn, cn.messages.Settle(), targets.ClassProtocol, false)
			return
		}
		c.write(cn)
		return
	}
	cn.ahead = false
	if !c.settled(cn) { // the server has closed it, or speaks first
		c.drop(cn)
		return
	}
	cn.state, cn.idleSince = idle, c.clock.Now()
	cn.host.idle.push(cn)
}

// refused notes that an address refused the connection.
func (cn *conn) refused(err error) {
	cn.close()
	if cn.connectErr == nil {
		cn.connectErr = err
	}
}

// open starts to connect.
func (c *Client) open(cn *conn, to sockets.Peer) (err error) {
	cn.Socket, err = sockets.Connect(&c.poller, cn.index, cn.host.network, to, &c.locals)
	return err
}
