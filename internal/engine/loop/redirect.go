package loop

import (
	"slices"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// mostRedirected is how many servers that redirects led to are known, unless more are needed at the same time.
const mostRedirected = 64

// redirected returns the request that the answer to the one of a conn asks for, and where it goes; nil if there is none.
// err is why there is no whole answer.
func (c *Client) redirected(cn *conn, err error) (*wire.Wire, *host) {
	if err != nil || cn.wire.Redirects == 0 {
		return nil, nil
	}
	next, err := cn.wire.Follow(cn.currentAnswer(), cn.result.Call.Session)
	if next == nil && err == nil {
		return nil, nil
	}
	if err == nil && cn.hops < cn.wire.Redirects {
		to, err := c.hostOf(next, c.wakeup.Signal)
		if err == nil {
			cn.hops++
			return next, to
		}
	}
	cn.result.Outcome.Class = targets.ClassRedirect
	return nil, nil
}

// follow goes on with the request that a redirect asks for. The conn has the connection of the answer, if that was kept.
// The deadline stays.
func (c *Client) follow(cn *conn, next *wire.Wire, to *host) {
	if cn.state == streaming {
		cn.wire, cn.host, cn.stream.on, cn.stream.begun, cn.stream.moved, cn.stream.resumed = next, to, nil, false, false, false
		cn.restart()
		c.unassigned = append(c.unassigned, cn) // Poll finds it a connection
		return
	}
	if to != cn.host && cn.Socket.IsOpen() {
		cn = c.elsewhere(cn, to)
	}
	cn.wire, cn.host, cn.request = next, to, next.Request
	cn.restart()
	c.beginReply(cn)
	if cn.reused = cn.Socket.IsOpen(); cn.reused {
		if c.write(cn) {
			return
		}
		cn.close()
		cn.reused, cn.writeErr = false, nil
	}
	c.connectInTurn(cn)
}

// elsewhere moves a request to a conn that leads to another host, or has no connection. If there is none, it closes the
// connection of its own conn.
func (c *Client) elsewhere(cn *conn, to *host) *conn {
	held := c.held
	q := c.take(c.clock.Now(), to)
	c.held = held // it is about Send
	if q == nil {
		cn.closeGracefully()
		return cn
	}
	q.result, q.deadline, q.hops = cn.result, cn.deadline, cn.hops
	c.inFlight.remove(cn)
	c.inFlight.insert(q)
	c.park(cn)
	return q
}

// forget makes room for one more server that a redirect leads to: a server may send requests to any port. If there are many,
// it forgets one that no request needs.
func (c *Client) forget() {
	if len(c.hosts)-c.steps < mostRedirected {
		return
	}
	needed := map[*host]bool{}
	for _, cn := range c.conns {
		if cn.state != free && cn.state != idle && (cn.state != sharing || cn.session.streams > 0) {
			needed[cn.host] = true
		}
	}
	for i, h := range c.hosts[c.steps:] {
		if needed[h] {
			continue
		}
		for cn := h.idle.first; cn != nil; cn = h.idle.first {
			c.retire(cn)
		}
		h.names.Close()
		c.hosts = slices.Delete(c.hosts, c.steps+i, c.steps+i+1)
		return
	}
}
