package loop

import (
	"math"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// rest is Send for noop: the request sends nothing, and ends after its latency. It takes the place of a connection, so
// there are no more at a time than other requests.
func (c *Client) rest(now, due int64, call targets.Call, wire *wire.Wire, h *host) bool {
	cn := c.vacant()
	if cn == nil {
		c.wanted = true
		return false
	}
	latency, _ := wire.Rests()
	cn.wire, cn.state = wire, resting
	cn.begin(targets.Result{Call: call, Due: due, Sent: now}, now+int64(latency), h)
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

// Connects reports whether requests use connections. A wait for noop is not a wait for a connection.
func (c *Client) Connects() bool { return len(c.hosts) > 0 }
