package http2

import (
	"errors"
	"slices"

	"golang.org/x/net/http2"

	"github.com/loadctl/loadctl/targets/http1"
)

// ErrOver says that the server ended a stream that stays open, and with it the request that it carried. Its trailers
// say why.
var ErrOver = errors.New("the server ended the stream")

// A LongLived is a kind of streams that stay open: each carries one request after the other, and a request is a message.
// The first one opens its stream, with Conn.Open. Later ones take a stream of their kind that is kept, with Conn.Resume.
// Conn.Replied returns a stream when its request is over, and Conn.Keep keeps it for the next one. It never changes.
type LongLived struct {
	// Fits reports whether the message that came last, the n-th since the request, is its reply; n counts from 1. All
	// other messages are pushes, and thrown away. nil = no reply is expected: then a request is over when it was written.
	Fits func(s *Stream, n int) bool
}

// longLived is what a stream that stays open has more than others.
type longLived struct {
	kind   *LongLived // nil = the stream carries one request
	kept   bool       // it is in Conn.kept
	ours   bool       // our side has ended, and nobody waits for the server's
	asks   bool       // the request waits for its reply
	writes bool       // the request waits until it was written
	end    int64      // how much output there was with it
	seen   int        // messages since the request
	size   int64      // bytes of the reply
	over   bool       // the stream has ended
}

// StaysOpen reports whether the stream stays open after a request.
func (s *Stream) StaysOpen() bool { return s.longLived.kind != nil }

// Size is how many bytes the reply of a stream that stays open has.
func (s *Stream) Size() int64 { return s.longLived.size }

// ask begins a request on a stream that stays open.
func (s *Stream) ask() {
	if l := &s.longLived; l.kind != nil {
		l.asks, l.writes, l.seen, l.size = l.kind.Fits != nil, l.kind.Fits == nil, 0, 0
		s.first = 0
	}
}

// awaits reports whether a message that begins now may be the reply: nobody answers what was not sent.
func (s *Stream) awaits() bool { return s.longLived.asks && len(s.body) == 0 }

// Resume begins a request on the stream of its kind that was used last; nil if none is kept. Of l only Content and Hold count.
// Its owner is for the caller to set. The body of r must stay as it is until the request is over, or was canceled.
func (c *Conn) Resume(r *Request, l http1.Limits) *Stream {
	if r.LongLived == nil || c.Leaving() {
		return nil
	}
	for i, s := range slices.Backward(c.kept) {
		if s.longLived.kind != r.LongLived {
			continue
		}
		c.kept = slices.Delete(c.kept, i, i+1)
		s.longLived.kept, s.at, s.body, s.limits.Content, s.limits.Hold, s.limits.Sink = false, c.total, r.body, l.Content, l.Hold, l.Sink
		s.ask()
		c.queue(s)
		return s
	}
	return nil
}

// Replied returns a stream that stays open and whose request is over, each once; nil if there is none now. Look for it
// before Ended: the stream may have ended after the reply.
func (c *Conn) Replied() *Stream {
	if len(c.replied) == 0 {
		return nil
	}
	s := c.replied[0]
	c.replied = slices.Delete(c.replied, 0, 1)
	return s
}

// Keep keeps a stream that Replied has returned for other requests of its kind, and forgets the reply. If it has ended in
// the meantime, Ended does not return it.
func (c *Conn) Keep(s *Stream) {
	s.Owner, s.in, s.out, s.messages.count, s.content = nil, 0, 0, 0, s.content[:0]
	if cap(s.content) > keptContent {
		s.content = nil
	}
	if s.longLived.over {
		c.forgetEnd(s)
		return
	}
	s.longLived.kept = true
	c.kept = append(c.kept, s)
}

// Kept is how many streams stay open without a request.
func (c *Conn) Kept() int { return len(c.kept) }

// Finish ends our side of the streams that are kept, so that the server knows that no message follows. Servers may throw
// messages away that they have not looked at when the connection ends, so give them time to end their side: see Finishing.
func (c *Conn) Finish() {
	for _, s := range c.kept {
		s.longLived.kept, s.longLived.ours = false, true
		c.appendFrame(http2.FrameData, http2.FlagDataEndStream, s.id, 0)
	}
	c.finishing += len(c.kept)
	c.kept = nil
}

// Finishing is how many streams the server has not ended yet, of those that Finish has.
func (c *Conn) Finishing() int { return c.finishing }

// received notes a message that may be the reply.
func (c *Conn) received(s *Stream) {
	l := &s.longLived
	if !l.asks {
		return
	}
	l.seen++
	l.size = s.messages.size()
	if l.asks = !l.kind.Fits(s, l.seen); !l.asks {
		c.replied = append(c.replied, s)
	}
}

// part ends the requests that expect no reply, and of which all was written.
func (c *Conn) part() {
	for written := c.total - int64(c.unwritten()); len(c.parting) > 0 && c.parting[0].longLived.end <= written; {
		s := c.parting[0]
		c.parting = slices.Delete(c.parting, 0, 1)
		s.longLived.writes = false
		c.replied = append(c.replied, s)
	}
}

// endLasting notes that a stream that stays open has ended. It reports whether nobody has to know.
func (c *Conn) endLasting(s *Stream) bool {
	l := &s.longLived
	l.over = true
	switch {
	case l.kept:
		l.kept = false
		c.kept = without(c.kept, s)
		return true
	case l.ours:
		l.ours = false
		c.finishing--
		return true
	}
	c.parting = without(c.parting, s)
	if s.err == nil && (l.asks || l.writes) {
		s.err = ErrOver
	}
	return false
}

// without removes a stream from a list, if it is there.
func without(list []*Stream, s *Stream) []*Stream {
	if i := slices.Index(list, s); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
