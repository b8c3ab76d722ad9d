package loop

import (
	"time"

	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/wire"
)

// An answer that comes in pieces has events. The protocols give its bytes to a Reader as they read them.
//
// An event may say that it is the last one. Then the end of the answer usually comes at once, in a read of its own, and the
// connection can be kept. So the request lingers for it, but not for long: a server may stay silent, or send on.

// mostLinger is how long the end of an answer is waited for after its last event; the timeout, if that is shorter.
const mostLinger = time.Second

// Gaps tells g of the times between events. Call it before the first Send.
func (c *Client) Gaps(g events.Gaps) { c.gaps = g }

// beginEvents prepares to read the events of the answer to a request; nil if it has none.
func (c *Client) beginEvents(cn *conn, gaps events.Gaps) http1.Sink {
	rules := cn.wire.Events
	if rules == nil {
		return nil
	}
	if cn.events == nil {
		cn.events, cn.over = new(events.Reader), func() { c.linger(cn) }
	}
	cn.events.Begin(rules, cn.result.Call.Step, gaps)
	cn.events.Over = cn.over
	cn.result.Events = &cn.events.Events
	return cn.events
}

// lingers returns how long a request lingers.
func (c *Client) lingers() time.Duration { return min(mostLinger, c.wire.Timeout) }

// linger makes a request linger from now on.
func (c *Client) linger(cn *conn) {
	c.inFlight.remove(cn)
	cn.lingers, cn.deadline = true, c.clock.Now()+int64(c.lingers())
	c.lingering.insert(cn)
}

// leave takes a request that ends from the others.
func (c *Client) leave(cn *conn) {
	if !cn.lingers {
		c.inFlight.remove(cn)
		return
	}
	cn.lingers = false
	c.lingering.remove(cn)
}

// stay makes a request that has another answer to come linger no more.
func (c *Client) stay(cn *conn) {
	if cn.lingers {
		c.leave(cn)
		cn.deadline = cn.result.Sent + int64(c.wire.Timeout)
		c.inFlight.insert(cn)
	}
}

// stamp notes when bytes of an answer were read, if it has events. The first byte has the time of the event that it is of.
func (c *Client) stamp(cn *conn) {
	if cn.result.Events == nil {
		return
	}
	now := c.clock.Now()
	if cn.result.First == 0 {
		cn.result.First = now
	}
	if cn.answer.At = now; cn.messages != nil {
		cn.messages.At = now
	}
}

// lasts returns until when a request may wait for the next event, ns; 0 = none has come. The timeout of an answer in pieces is
// that of each.
func (cn *conn) lasts() int64 {
	e := cn.result.Events
	if e == nil {
		return 0
	}
	var last int64
	if cn.state == streaming && cn.stream.h3 != nil {
		cn.stream.h3.Look(func() { last = e.Last }) // another goroutine reads the answer
	} else {
		last = e.Last
	}
	if last == 0 {
		return 0
	}
	return last + int64(cn.wire.Timeout)
}

// done returns when a request was over that ends now: its answer may have been before its end came.
func (cn *conn) done(now int64) int64 {
	if cn.asking != nil {
		return cn.asking.Ended
	}
	if cn.result.Events == nil || cn.events.Done == 0 {
		return now
	}
	return cn.events.Done
}

// meaning returns what the end of a request means for an answer in pieces. err is why it has ended.
func (cn *conn) meaning(err error) error {
	if cn.result.Events == nil {
		return err
	}
	return wire.EndEvents(cn.events, err, cn.currentAnswer())
}
