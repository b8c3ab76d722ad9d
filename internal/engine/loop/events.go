package loop

import (
	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/http1"
)

// An answer that comes in pieces has events. The protocols give its bytes to a Reader as they read them.

// Gaps tells g of the times between events. Call it before the first Send.
func (c *Client) Gaps(g events.Gaps) { c.gaps = g }

// beginEvents prepares to read the events of the answer to a request; nil if it has none.
func (c *Client) beginEvents(cn *conn, gaps events.Gaps) http1.Sink {
	rules := cn.wire.Events
	if rules == nil {
		return nil
	}
	if cn.events == nil {
		cn.events = new(events.Reader)
	}
	cn.events.Begin(rules, cn.result.Call.Step, gaps)
	cn.result.Events = &cn.events.Events
	return cn.events
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
	last := e.Last
	if cn.state == streaming && cn.stream.h3 != nil {
		cn.stream.h3.Look(func() { last = e.Last })
	}
	if last == 0 {
		return 0
	}
	return last + int64(cn.wire.Timeout)
}

// meaning returns what the end of a request means for an answer in pieces. err is why it has ended.
func (cn *conn) meaning(err error) error {
	if cn.result.Events == nil {
		return err
	}
	return cn.events.End(err, cn.currentAnswer().Field)
}
