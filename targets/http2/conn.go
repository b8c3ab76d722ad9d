package http2

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/loadctl/loadctl/targets/http1"
)

// A Conn is the client side of one connection. It is for one goroutine at a time.
type Conn struct {
	// At is the caller's time of what Feed gets next, ns. It is for Stream.First alone.
	At int64

	limits http1.Limits
	err    error // the connection has ended

	open   []*Stream // in flight, in the order of their ids
	next   uint32    // id
	ended  []*Stream // not yet returned by Ended, from index taken on
	taken  int
	resets []reset // streams that we reset, and of which frames may still arrive

	kept      []*Stream // of open: those that stay open, and carry no request now; the one that was used last comes last
	finishing int       // of open: those that were kept, and of which only the server's side is open

	replied []*Stream // whose request is over, and not yet returned by Replied
	parting []*Stream // whose message is in the output, and whose request is over when that was written, in order

	lost    uint32 // streams up to this id may have been reset and forgotten
	leaving bool   // GOAWAY came
	last    uint32 // stream that the peer processes, once it is leaving

	peer    settings
	greeted bool      // they have come
	window  int64     // bytes of bodies that we may send
	sending []*Stream // with bytes to send and a window of their own
	credit  int64     // bytes of bodies that the peer may send
	unasked int64     // bytes that it has sent since we last gave it more

	out     []byte // from index written on not yet written
	written int
	total   int64 // bytes of output so far, as of the end of out
	shown   int64 // bytes of output so far that may have been written: Output returned them, and Wrote took none back
	replies int   // bytes of out that the peer asked for

	reader  reader
	block   block
	decoder *hpack.Decoder
	idle    int // frames in a row that brought no request forward
}

// A reset is a stream that we ended with RST_STREAM. The peer may not know yet.
type reset struct {
	id     uint32
	credit int64 // bytes that it may still send
}

// mostResets bounds the streams of which we remember that we reset them.
const mostResets = 4096

// NewConn returns a connection whose output begins with the preface and our settings. The limits are those of a header
// block: the peer is notified of them, and a longer one ends the connection.
func NewConn(l http1.Limits) *Conn {
	c := &Conn{limits: l.InEffect(), next: 1, last: lastID, window: firstWindow, credit: connWindow}
	c.peer = settings{streams: streamsAtOnce, window: firstWindow, frame: frameSize, table: tableSize}
	c.decoder = hpack.NewDecoder(tableSize, c.field)
	c.decoder.SetMaxStringLength(c.limits.Head)
	c.append([]byte(http2.ClientPreface))
	c.greet()
	return c
}

// Greeted reports whether the server has said that it speaks HTTP/2.
func (c *Conn) Greeted() bool { return c.reader.greeted }

// Streams is the number of streams in flight, without those that are kept or were.
func (c *Conn) Streams() int { return len(c.open) - len(c.kept) - c.finishing }

// Room is how many streams may be opened now. It is 0 after the end, while the server leaves, and while too much output
// is unwritten. Until the server has said how many it allows, there is room for one: RFC 9113, 5.1.2 allows any number,
// but servers end connections on which more come than they say a moment later.
func (c *Conn) Room() int {
	if c.Leaving() || c.unwritten() >= maxUnwritten {
		return 0
	}
	most := min(int64(c.peer.streams), int64(lastID-c.next)/2+1)
	if !c.greeted {
		most = 1
	}
	return int(max(0, most-int64(len(c.open)-len(c.kept))))
}

// Allows returns how many streams the server allows at the same time, and whether it has said so. If it names no number,
// it is that of streams that we open at most.
func (c *Conn) Allows() (streams int64, said bool) { return int64(c.peer.streams), c.greeted }

// Leaving reports whether the connection takes no more streams, ever: it ended, the server sent GOAWAY, or no ids are
// left. Close it when Streams is 0.
func (c *Conn) Leaving() bool { return c.err != nil || c.leaving || c.next > lastID }

// Open begins a request. The caller has checked Room. r must stay as it is until s has ended or was canceled. s must not
// be in use.
func (c *Conn) Open(s *Stream, r *Request, l http1.Limits) {
	s.begin(c.next, r, l)
	s.at, s.window = c.total, int64(c.peer.window)
	if c.Leaving() {
		c.end(s, cmp.Or(c.err, ErrUnprocessed))
		return
	}
	if len(c.kept) > 0 && int64(len(c.open)) >= int64(c.peer.streams) {
		c.abort(c.kept[0], errCanceled)
	}
	c.next, c.idle = c.next+2, 0
	c.open = append(c.open, s)
	s.at = c.total
	s.ask()
	c.sendHead(s, r)
	c.queue(s)
}

// find returns the stream of a frame. It returns nil without an error if frames of it are ignored, because we reset it.
func (c *Conn) find(id uint32) (*Stream, error) {
	if i, ok := c.index(id); ok {
		return c.open[i], nil
	}
	switch {
	case id%2 == 0 || id >= c.next:
		return nil, violated(http2.ErrCodeProtocol, "sent a frame of a stream that is not open")
	case id <= c.lost || c.reset(id) != nil:
		return nil, nil
	}
	return nil, violated(http2.ErrCodeStreamClosed, "sent a frame of a stream that has ended")
}

// index returns where a stream in flight is.
func (c *Conn) index(id uint32) (int, bool) {
	if len(c.open) > 0 && c.open[0].id == id {
		return 0, true // usually the first to begin is the first to end
	}
	return slices.BinarySearchFunc(c.open, id, func(s *Stream, id uint32) int { return cmp.Compare(s.id, id) })
}

// reset returns the entry of a stream that we reset; nil if there is none.
func (c *Conn) reset(id uint32) *reset {
	for i := range c.resets {
		if c.resets[i].id == id {
			return &c.resets[i]
		}
	}
	return nil
}

// Cancel ends a stream without an answer. Ended does not return it. It has no effect on a stream that Ended has returned.
func (c *Conn) Cancel(s *Stream) {
	if i, ok := c.index(s.id); ok && c.open[i] == s {
		c.abort(s, errCanceled)
	}
	c.forgetEnd(s)
}

// forgetEnd makes Ended and Replied not return a stream.
func (c *Conn) forgetEnd(s *Stream) {
	if i := slices.Index(c.ended[c.taken:], s); i >= 0 {
		c.ended = slices.Delete(c.ended, c.taken+i, c.taken+i+1)
	}
	c.replied = without(c.replied, s)
}

// Ended returns a stream that has ended, each once; nil if there is none now.
func (c *Conn) Ended() *Stream {
	if c.taken == len(c.ended) {
		return nil
	}
	s := c.ended[c.taken]
	c.ended[c.taken] = nil
	if c.taken++; c.taken == len(c.ended) {
		c.ended, c.taken = c.ended[:0], 0
	}
	return s
}

// Fail informs c that the transport ended: all streams in flight end with err, or io.ErrUnexpectedEOF instead of
// io.EOF.
func (c *Conn) Fail(err error) {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	c.fail(err)
}

// fail ends the connection. Only the first error counts.
func (c *Conn) fail(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	if v, ok := errors.AsType[violation](err); ok {
		c.sendGoAway(v.code)
	}
	for len(c.open) > 0 {
		c.close(c.open[0], err)
	}
	c.resets, c.sending = nil, nil
}

// close ends a stream in flight, without notifying the peer.
func (c *Conn) close(s *Stream, err error) {
	if i, ok := c.index(s.id); ok {
		c.open = slices.Delete(c.open, i, i+1)
	}
	if s.queued {
		s.queued = false
		i := slices.Index(c.sending, s)
		c.sending = slices.Delete(c.sending, i, i+1)
	}
	if c.reader.stream == s {
		c.reader.stream = nil
	}
	c.end(s, err)
}

// end gives a stream to Ended. One that carries no request just ends.
func (c *Conn) end(s *Stream, err error) {
	s.err, s.body = err, nil
	if s.longLived.kind != nil && c.endLasting(s) {
		return
	}
	if c.shown <= s.at {
		s.out = 0
	}
	c.ended = append(c.ended, s)
}

// abort ends a stream in flight with an error of ours, and notifies the peer.
func (c *Conn) abort(s *Stream, err error) {
	c.sendReset(s, codeOf(err))
	c.close(s, err)
	if len(c.resets) == mostResets {
		c.lost = max(c.lost, c.resets[0].id)
		c.resets = slices.Delete(c.resets, 0, 1)
	}
	c.resets = append(c.resets, reset{s.id, s.credit})
}
