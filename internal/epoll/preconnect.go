//go:build linux

package epoll

import (
	"context"
	"time"

	"github.com/loadctl/loadctl/internal/worker"
)

// Preconnect opens n connections before there is a request, one each time that every has passed. It returns how many are
// open, once all are or have failed, or ctx has ended. Each is tried once: what is not open by then is opened for a
// request.
//
// It blocks, at the longest until ctx ends, and MUST be called before the first Send and Poll. A connection that the server closes
// meanwhile is not opened again.
func (c *Client) Preconnect(ctx context.Context, n int, every time.Duration) int {
	defer context.AfterFunc(ctx, c.Wake)()
	n = min(n, c.max-len(c.places))
	for next := c.clock.Now(); ctx.Err() == nil && (n > 0 || c.opening > 0); {
		now := c.clock.Now()
		for ; n > 0 && now >= next && c.opening < c.wire.Opening; n-- {
			c.openAhead()
			next += int64(every)
		}
		wait := int64(time.Second) // for what is being opened
		if n > 0 && c.opening < c.wire.Opening {
			wait = next - now
		}
		if err := c.serve(wait); err != nil {
			break // Poll will say so
		}
		c.bell.heard()
	}
	c.Wake() // instead of the wakes that were heard
	return c.settle()
}

// openAhead begins to open a connection that no request waits for.
func (c *Client) openAhead() {
	p := c.vacant()
	p.begin(worker.Result{}, 0, c.peer)
	p.ahead = true
	c.connect(p)
}

// settle gives up what is still being opened ahead, and returns how many connections are open.
func (c *Client) settle() int {
	open := 0
	for _, p := range c.places {
		switch {
		case p.ahead:
			p.ahead = false
			c.opening--
			c.drop(p)
		case p.state == idle:
			open++
		}
	}
	return open
}
