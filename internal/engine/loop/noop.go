package loop

import (
	"math"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// place is Send for requests without a connection of ours. Each takes the place of one, so there are no more at a time than
// of others.
func (c *Client) place(now, due int64, call targets.Call, wire *wire.Wire, h *host) bool {
	cn := c.vacant()
	if cn == nil {
		c.wanted = true
		return false
	}
	cn.wire = wire
	r := targets.Result{Call: call, Due: due, Sent: now}
	if wire.Own() {
		return c.ask(cn, r, h)
	}
	return c.rest(cn, r, h)
}

// rest begins a request of noop: it sends nothing, and ends after its latency.
func (c *Client) rest(cn *conn, r targets.Result, h *host) bool {
	latency, _ := cn.wire.Rests()
	cn.state = resting
	cn.begin(r, r.Sent+int64(latency), h)
	c.inFlight.insert(cn)
	if latency == 0 {
		c.rested(cn)
	}
	return true
}

// rested ends a request of noop. It is never late: its deadline is its end.
func (c *Client) rested(cn *conn) {
	cn.deadline = math.MaxInt64
	c.end(cn, nil, "", true)
}

// Connects reports whether requests use connections, of ours or of a Sender. A wait for noop is not a wait for a connection.
func (c *Client) Connects() bool { return len(c.hosts) > 0 || c.askings != nil }
