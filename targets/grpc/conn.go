package grpc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/net/http2/hpack"
)

// Errors of calls.
var (
	ErrLimit = errors.New("a message is longer than the limit")
	ErrHead  = fmt.Errorf("metadata and trailers are longer than %d bytes", maxHead)
	ErrReset = errors.New("the server ended the call without a status") // of gRPC, by RST_STREAM or GOAWAY

	errCompressed = errors.New("a message is compressed, and nobody asked for it")
	errNoStatus   = errors.New("the answer has no status of gRPC")
	errCut        = errors.New("the last message is cut off")
	errCount      = errors.New("the answer to a call without a stream is one message")
	errFrame      = errors.New("the server does not follow HTTP/2")
	errHTTP1      = errors.New("the server speaks HTTP/1.1, and gRPC needs HTTP/2")
)

// Bounds of a connection.
const (
	maxHead     = 64 << 10 // bytes of metadata and trailers of one call
	maxFrame    = 16 << 10 // bytes of a frame, those we send too if the server allows no more
	ourWindow   = 1 << 20  // bytes that a server may send ahead
	firstWindow = 65535    // of every connection at its begin (RFC 9113, 6.9.2)
	lastStream  = 1 << 30  // then a connection is not used again
)

// Frames and flags (RFC 9113, 6).
const (
	frameData = iota
	frameHeaders
	framePriority
	frameReset
	frameSettings
	framePush
	framePing
	frameGoaway
	frameWindow
	frameContinuation

	flagAck        = 0x1
	flagEndStream  = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// A Conn is our end of an HTTP/2 connection that carries one call at a time. It does no input and output: Begin and Feed
// take what was asked and what has come, and Output returns what has to be written. Its memory is bounded, whatever a
// server sends. It is for one goroutine at a time.
type Conn struct {
	out     []byte
	decoder *hpack.Decoder

	window  int64 // bytes that we may send
	initial int64 // the same of a new stream
	frames  int   // bytes of a frame that we send
	taken   int64 // bytes that came since our last update of the connection's window
	came    int64 // the same of the stream
	greeted bool  // the server's settings have come
	leaving bool  // the server takes no more calls

	head    [9]byte // of the frame that comes in
	have    int
	left    int
	padding int    // bytes at its end
	prelude int    // bytes at its begin
	small   []byte // payload of a short frame

	block     int // bytes of the block of headers that comes in, as it comes and as it is read; -1 = none does
	blockOf   uint32
	blockEnds bool // its stream ends

	id     uint32 // of the last stream
	answer *Answer
	send   int64  // bytes that we may send on the stream
	rest   []byte // of the request, which the server does not take yet
	open   bool   // the answer is not complete
	in     int64  // bytes of the frames of the answer
	failed error
}

// preface is what a client sends first (RFC 9113, 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// NewConn returns the state of a connection that was just opened. Its first Output is the greeting.
func NewConn() *Conn {
	c := &Conn{window: firstWindow, initial: firstWindow, frames: maxFrame, block: -1}
	c.decoder = hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if c.block += len(f.Name) + len(f.Value); c.open && c.blockOf == c.id && c.block <= 2*maxHead {
			c.answer.field(f.Name, f.Value)
		}
	})
	c.decoder.SetMaxStringLength(maxHead)
	c.out = append(c.out, preface...)
	c.out = appendHead(c.out, 18, frameSettings, 0, 0)
	for _, s := range [][2]uint32{{2, 0}, {4, ourWindow}, {6, maxHead}} { // ENABLE_PUSH, INITIAL_WINDOW_SIZE, MAX_HEADER_LIST_SIZE
		c.out = binary.BigEndian.AppendUint16(c.out, uint16(s[0]))
		c.out = binary.BigEndian.AppendUint32(c.out, s[1])
	}
	c.out = appendWindow(c.out, 0, ourWindow-firstWindow)
	return c
}

// Greeted reports whether the server's settings have come: it speaks HTTP/2.
func (c *Conn) Greeted() bool { return c.greeted }

// Reusable reports whether the connection can carry another call.
func (c *Conn) Reusable() bool { return !c.leaving && !c.open && c.failed == nil && c.id < lastStream }

// In returns how many bytes of frames the answer has had so far.
func (c *Conn) In() int64 { return c.in }

// Begin begins a call: a block of headers, and the body, both in the form in which they are sent. The body must not
// change until the answer is complete. The answer gets what comes.
func (c *Conn) Begin(block, body []byte, a *Answer) {
	if c.id == 0 {
		c.id = 1
	} else {
		c.id += 2
	}
	c.answer, c.send, c.rest, c.open, c.in, c.came = a, c.initial, body, true, 0, 0
	kind, flags := byte(frameHeaders), byte(0)
	for first := true; first || len(block) > 0; first = false {
		n := min(len(block), maxFrame)
		if n == len(block) {
			flags = flagEndHeaders
		}
		c.out = append(appendHead(c.out, n, kind, flags, c.id), block[:n]...)
		block, kind = block[n:], frameContinuation
	}
	c.push()
}

// push sends as much of the request as the server takes.
func (c *Conn) push() {
	for c.open && len(c.rest) > 0 && c.window > 0 && c.send > 0 {
		n := int(min(int64(len(c.rest)), int64(c.frames), c.window, c.send))
		flags := byte(0)
		if n == len(c.rest) {
			flags = flagEndStream
		}
		c.out = append(appendHead(c.out, n, frameData, flags, c.id), c.rest[:n]...)
		c.rest, c.window, c.send = c.rest[n:], c.window-int64(n), c.send-int64(n)
	}
}

// Output returns what has to be written now. It is valid until the next call.
func (c *Conn) Output() []byte {
	b := c.out
	c.out = c.out[:0]
	if cap(c.out) > keptBuffer {
		c.out = nil
	}
	return b
}

// Feed takes bytes that have come, and reports whether the answer is complete. After an error the connection is of no
// use.
func (c *Conn) Feed(b []byte) (done bool, err error) {
	for len(b) > 0 && c.failed == nil {
		if c.have < len(c.head) {
			n := copy(c.head[c.have:], b)
			c.have, b = c.have+n, b[n:]
			if c.have < len(c.head) {
				break
			}
			c.failed = c.begins()
		} else {
			n := min(len(b), c.left)
			c.failed = c.payload(b[:n])
			c.left, b = c.left-n, b[n:]
		}
		if c.failed == nil && c.have == len(c.head) && c.left == 0 {
			c.have = 0
			c.failed = c.ends()
		}
	}
	return !c.open && c.answer != nil, c.failed
}

// stream and flags are those of the frame that comes in.
func (c *Conn) stream() uint32       { return binary.BigEndian.Uint32(c.head[5:]) & (1<<31 - 1) }
func (c *Conn) kind() byte           { return c.head[3] }
func (c *Conn) flag(flag byte) bool  { return c.head[4]&flag != 0 }
func (c *Conn) ours() bool           { return c.open && c.stream() == c.id }
func (c *Conn) length() int          { return int(c.head[0])<<16 | int(c.head[1])<<8 | int(c.head[2]) }
func (c *Conn) carries() bool        { return c.kind() == frameData || c.kind() == frameHeaders }
func (c *Conn) isBlock() bool        { return c.kind() == frameHeaders || c.kind() == frameContinuation }
func (c *Conn) field(at int) uint32  { return binary.BigEndian.Uint32(c.small[at:]) }
func (c *Conn) holds(least int) bool { return len(c.small) >= least }

// begins looks at the head of a frame.
func (c *Conn) begins() error {
	c.left, c.padding, c.prelude, c.small = c.length(), 0, 0, c.small[:0]
	kind := c.kind()
	switch {
	case !c.greeted && string(c.head[:5]) == "HTTP/":
		return errHTTP1
	case c.left > maxFrame,
		kind == framePush,
		!c.greeted && kind != frameSettings,
		(c.block >= 0) != (kind == frameContinuation), // a block of headers comes in one piece
		kind == frameContinuation && c.stream() != c.blockOf:
		return errFrame
	case kind == frameHeaders:
		c.block, c.blockOf, c.blockEnds = 0, c.stream(), c.flag(flagEndStream)
	}
	if c.carries() && c.flag(flagPadded) {
		c.prelude++
	}
	if kind == frameHeaders && c.flag(flagPriority) {
		c.prelude += 5
	}
	if c.prelude > c.left {
		return errFrame
	}
	if c.ours() && (kind == frameData || c.isBlock()) {
		c.in += int64(len(c.head) + c.left)
	}
	return nil
}

// payload takes bytes of a frame, of which left have not come before.
func (c *Conn) payload(b []byte) error {
	if c.kind() == frameData {
		c.taken, c.came = c.taken+int64(len(b)), c.came+int64(len(b))
	}
	left := c.left
	for ; c.prelude > 0 && len(b) > 0; c.prelude-- {
		if c.flag(flagPadded) && c.padding == 0 && left == c.length() {
			if c.padding = int(b[0]); c.padding > left-c.prelude {
				return errFrame
			}
		}
		b, left = b[1:], left-1
	}
	b = b[:max(0, min(len(b), left-c.padding))]
	switch {
	case len(b) == 0:
	case c.kind() == frameData && c.ours():
		return c.answer.feed(b)
	case c.isBlock():
		c.block += len(b)
		if _, err := c.decoder.Write(b); err != nil {
			return errFrame
		}
		if c.block > 2*maxHead {
			return ErrHead
		}
	case c.kind() >= frameReset && c.kind() <= frameWindow:
		c.small = append(c.small, b...)
	}
	return nil
}

// ends does what a frame asks for.
func (c *Conn) ends() error {
	switch c.kind() {
	case frameData:
		return c.data()
	case frameHeaders, frameContinuation:
		return c.headers()
	case frameReset:
		if c.ours() {
			return ErrReset
		}
	case frameSettings:
		return c.settings()
	case framePing:
		if len(c.small) != 8 {
			return errFrame
		}
		if !c.flag(flagAck) {
			c.out = append(appendHead(c.out, 8, framePing, flagAck, 0), c.small...)
		}
	case frameGoaway:
		if c.leaving = true; !c.holds(8) || c.open && c.field(0)&(1<<31-1) < c.id {
			return ErrReset
		}
	case frameWindow:
		return c.update()
	}
	return nil
}

// data ends a frame of data: the server may send as much again.
func (c *Conn) data() error {
	if c.taken > ourWindow/2 {
		c.out = appendWindow(c.out, 0, uint32(c.taken))
		c.taken = 0
	}
	switch {
	case !c.ours():
	case c.flag(flagEndStream):
		return c.complete()
	case c.came > ourWindow/2:
		c.out = appendWindow(c.out, c.id, uint32(c.came))
		c.came = 0
	}
	return nil
}

// headers ends a part of a block of headers.
func (c *Conn) headers() error {
	if !c.flag(flagEndHeaders) {
		return nil
	}
	if c.decoder.Close() != nil {
		return errFrame
	}
	long := c.block > 2*maxHead
	c.block = -1
	switch {
	case long:
		return ErrHead
	case c.open && c.blockOf == c.id && c.blockEnds:
		return c.complete()
	}
	return nil
}

// complete ends the call. A request that the server did not want whole leaves the stream half open: the connection is
// not used again.
func (c *Conn) complete() error {
	c.open = false
	if len(c.rest) > 0 {
		c.leaving, c.rest = true, nil
	}
	return c.answer.ends()
}

// settings takes the server's settings (RFC 9113, 6.5.2).
func (c *Conn) settings() error {
	if c.greeted = true; c.flag(flagAck) {
		return nil
	}
	if len(c.small)%6 != 0 {
		return errFrame
	}
	for at := 0; at < len(c.small); at += 6 {
		value := c.field(at + 2)
		switch binary.BigEndian.Uint16(c.small[at:]) {
		case 4: // INITIAL_WINDOW_SIZE
			if value > 1<<31-1 {
				return errFrame
			}
			c.send += int64(value) - c.initial
			c.initial = int64(value)
		case 5: // MAX_FRAME_SIZE
			c.frames = min(max(maxFrame, int(value)), 64<<10)
		}
	}
	c.out = appendHead(c.out, 0, frameSettings, flagAck, 0)
	c.push()
	return nil
}

// update takes an update of a window.
func (c *Conn) update() error {
	if len(c.small) != 4 {
		return errFrame
	}
	n := int64(c.field(0) & (1<<31 - 1))
	switch {
	case c.stream() == 0:
		c.window += n
	case c.ours():
		c.send += n
	}
	if c.window > 1<<31-1 || c.send > 1<<31-1 {
		return errFrame
	}
	c.push()
	return nil
}

// appendHead appends the head of a frame.
func appendHead(b []byte, length int, kind, flags byte, stream uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, byte(length>>16), byte(length>>8), byte(length), kind, flags), stream)
}

// appendWindow appends an update of a window.
func appendWindow(b []byte, stream, n uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, frameWindow, 0, stream), n)
}
