package loop

import (
	"context"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// Preconnect opens n connections before the first request, one in each interval every. It returns how many are open,
// when all have opened or failed, or ctx has ended. Each is tried once; the others are opened when requests need them.
//
// It blocks until ctx ends at the latest, and MUST be called before the first Send and Poll. If the server closes a
// connection in the meantime, it is not opened again.
func (c *Client) Preconnect(ctx context.Context, n int, every time.Duration) int {
	defer context.AfterFunc(ctx, c.Wake)()
	n = max(0, min(n, c.max-c.connections))
	steps := c.wire.Ahead(n)
	for next := c.clock.Now(); ctx.Err() == nil && (n > 0 || c.opening > 0); {
		now := c.clock.Now()
		for ; n > 0 && now >= next && c.opening < c.wire.Opening; n-- {
			c.openAhead(steps[len(steps)-n])
			next += int64(every)
		}
		wait := int64(time.Second) // for connections being opened
		if n > 0 && c.opening < c.wire.Opening {
			wait = next - now
		}
		if err := c.serve(wait); err != nil {
			break // Poll will report it
		}
		c.wakeup.Consume()
	}
	c.Wake() // replaces the wake-ups consumed here
	return c.settle()
}

// openAhead starts to open a connection without a request, to the host of a step.
func (c *Client) openAhead(step int) {
	wire, h := c.step(step)
	if h.names == nil {
		return
	}
	if wire.Streams > 0 {
		cn := c.newSession(c.clock.Now(), h, wire)
		cn.ahead = true
		c.connect(cn)
		return
	}
	cn := c.vacant()
	cn.wire = wire
	cn.begin(targets.Result{}, 0, h)
	cn.ahead = true
	c.connect(cn)
}

// settle gives up connections that are still being opened ahead, and returns how many are open.
func (c *Client) settle() int {
	open := 0
	for _, cn := range c.conns {
		switch {
		case cn.ahead:
			cn.ahead = false
			c.opening--
			if cn.session != nil {
				c.closeSession(cn)
				continue
			}
			c.drop(cn)
		case cn.state == idle, cn.state == sharing:
			open++
		}
	}
	return open
}
