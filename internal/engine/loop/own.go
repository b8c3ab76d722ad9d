package loop

import (
	"github.com/loadctl/loadctl/internal/engine/transport"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// Requests of schemes that are not ours: a goroutine blocks in the Sender, and its answer wakes the loop. All else is as with
// other requests.

// openAskings prepares for requests of schemes that are not ours, if there are such.
func (c *Client) openAskings() {
	for _, w := range c.wire.Steps() {
		if w.Own() && c.askings == nil {
			c.askings = transport.NewAskings(&c.wakeup, c.clock.Now)
		}
	}
}

// ask begins a request of a scheme that is not ours. It is filled here, because a session is not for other goroutines.
func (c *Client) ask(cn *conn, r targets.Result, h *host) bool {
	cn.state = asking
	cn.begin(r, r.Sent+int64(c.wire.Timeout), h)
	asked := wire.Asked{Request: cn.wire.Asked(r.Call)}
	cn.own = &asked
	cn.asking = c.askings.Begin(cn.index, cn.wire, asked, cn.deadline)
	c.inFlight.insert(cn)
	return true
}

// takeAskings ends the requests whose answers have come. A place that was given up becomes free.
func (c *Client) takeAskings() {
	if c.askings == nil {
		return
	}
	for _, a := range c.askings.Take() {
		if a.Left {
			// Send is tried again. The goroutine's signal may have ended an earlier Poll, before the place was free.
			c.connections, c.freed = c.connections-1, c.freed || c.wanted
		} else {
			cn := c.conns[a.Index]
			cn.own.Answer = a.Answer
			c.end(cn, a.Answer.Err, targets.ClassOther, true)
			cn.asking, cn.own = nil, nil
		}
		c.askings.Rest(a)
	}
}

// leaveAsking gives up waiting for the answer to a request. Its place stays taken until the Sender returns.
func (c *Client) leaveAsking(cn *conn) {
	cn.asking.Leave()
	cn.asking, cn.counted = nil, false
}
