package loop

import (
	"slices"

	"github.com/loadctl/loadctl/targets"
)

// mostRedirected is how many servers that redirects led to are known, unless more are needed at the same time.
const mostRedirected = 64

// redirected returns the request that the answer to the one of a place asks for, and where it goes; nil if there is none.
// err is why there is no whole answer.
func (c *Client) redirected(p *place, err error) (*targets.Wire, *host) {
	if err != nil || p.wire.Redirects == 0 {
		return nil, nil
	}
	next, err := p.wire.Follow(p.heard(), p.result.Call.Session)
	if next == nil && err == nil {
		return nil, nil
	}
	if err == nil && p.hops < p.wire.Redirects {
		to, err := c.hostOf(next, c.wakeup.signal)
		if err == nil {
			p.hops++
			return next, to
		}
	}
	p.result.Outcome.Class = targets.ClassRedirect
	return nil, nil
}

// follow goes on with the request that a redirect asks for. The place has the connection of the answer, if that was kept.
// The deadline stays.
func (c *Client) follow(p *place, next *targets.Wire, to *host) {
	if p.state == riding {
		p.wire, p.host, p.rider.on, p.rider.begun, p.rider.moved = next, to, nil, false, false
		p.restart()
		c.stranded = append(c.stranded, p) // Poll finds it a connection
		return
	}
	if to != p.host && p.conn.open() {
		p = c.elsewhere(p, to)
	}
	p.wire, p.host, p.request = next, to, next.Request
	p.restart()
	p.beginReply()
	if p.reused = p.conn.open(); p.reused {
		if c.write(p) {
			return
		}
		p.hangUp()
		p.reused, p.writeErr = false, nil
	}
	c.connectInTurn(p)
}

// elsewhere moves a request to a place that leads to another host, or has no connection. If there is none, it closes the
// connection of its own place.
func (c *Client) elsewhere(p *place, to *host) *place {
	held := c.held
	q := c.take(c.clock.Now(), to)
	c.held = held // it tells of Send
	if q == nil {
		p.leave()
		return p
	}
	q.result, q.deadline, q.hops = p.result, p.deadline, p.hops
	c.inFlight.remove(p)
	c.inFlight.insert(q)
	c.park(p)
	return q
}

// forget makes room for one more server that a redirect leads to: a server may send requests to any port. If there are many,
// it forgets one that no request needs.
func (c *Client) forget() {
	if len(c.hosts)-c.steps < mostRedirected {
		return
	}
	needed := map[*host]bool{}
	for _, p := range c.places {
		if p.state != free && p.state != idle && (p.state != carrying || p.carrier.riders > 0) {
			needed[p.host] = true
		}
	}
	for i, h := range c.hosts[c.steps:] {
		if needed[h] {
			continue
		}
		for p := h.idle.first; p != nil; p = h.idle.first {
			c.retire(p)
		}
		h.names.close()
		c.hosts = slices.Delete(c.hosts, c.steps+i, c.steps+i+1)
		return
	}
}
