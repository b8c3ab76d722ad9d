package loop

import (
	"math"

	"github.com/loadctl/loadctl/targets"
)

// rest is Send for noop: the request sends nothing, and ends after its latency. It takes the place of a connection, so
// there are no more at a time than other requests.
func (c *Client) rest(now, due int64, call targets.Call, wire *targets.Wire, h *host) bool {
	p := c.vacant()
	if p == nil {
		c.wanted = true
		return false
	}
	latency, _ := wire.Rests()
	p.wire, p.state = wire, resting
	p.begin(targets.Result{Call: call, Due: due, Sent: now}, now+int64(latency), h)
	c.inFlight.insert(p)
	if latency == 0 {
		c.rested(p)
	}
	return true
}

// rested ends a request of noop. It is never late: its deadline is its end.
func (c *Client) rested(p *place) {
	p.deadline = math.MaxInt64
	c.end(p, nil, "", true)
}

// Connects tells whether requests use connections. A wait for noop is not a wait for a connection.
func (c *Client) Connects() bool { return len(c.hosts) > 0 }
