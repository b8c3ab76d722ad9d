package http2

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/net/http2"
)

// A frame is the header of a frame (RFC 9113, 4.1).
type frame struct {
	size  int // of the payload
	kind  http2.FrameType
	flags http2.Flags
	id    uint32
}

// A reader is where in a frame the next byte is. DATA and unknown frames are read as they arrive, others when they are
// complete.
type reader struct {
	greeted bool   // the first frame has come
	held    []byte // of a frame that is not complete, from its header on
	frame   frame  // if begun
	begun   bool
	left    int // bytes of the payload that belong to a frame that is read as it arrives

	stream *Stream // of DATA; nil if the payload is ignored
	length bool    // the length of the padding comes next
	data   int     // bytes of the body in the frame; the rest is padding
}

// Feed reads the next bytes that arrived. It does not keep b. An error ends the connection, and all streams in flight
// with it; later calls return it again. The output then has a last frame for the peer, worth one attempt to write it.
func (c *Conn) Feed(b []byte) error {
	for len(b) > 0 && c.err == nil {
		n, err := c.read(b)
		if err != nil {
			c.fail(err)
		}
		b = b[n:]
	}
	return c.err
}

// read reads at least one byte of b.
func (c *Conn) read(b []byte) (n int, err error) {
	r := &c.reader
	switch {
	case r.left > 0:
		return c.readPart(b)
	case r.begun:
		return c.hold(b, frameHeader+r.frame.size)
	case len(r.held) > 0 || len(b) < frameHeader:
		return c.hold(b, frameHeader)
	}
	if err := c.begin(b); err != nil {
		return frameHeader, err
	}
	size := frameHeader + r.frame.size
	switch {
	case !r.begun:
		return frameHeader, nil
	case len(b) < size:
		return c.hold(b, size)
	}
	r.begun = false
	return size, c.dispatch(r.frame, b[frameHeader:size])
}

// hold keeps bytes of a frame, until there are size of them: then the header, or the frame, is read.
func (c *Conn) hold(b []byte, size int) (n int, err error) {
	r := &c.reader
	n = min(len(b), size-len(r.held))
	r.held = append(r.held, b[:n]...)
	if len(r.held) < size {
		return n, nil
	}
	if !r.begun {
		err = c.begin(r.held)
		if r.begun && r.frame.size > 0 {
			return n, err
		}
	}
	held := r.held
	r.held = kept(held)
	if r.begun && err == nil {
		r.begun = false
		err = c.dispatch(r.frame, held[frameHeader:])
	}
	return n, err
}

// begin reads the header of a frame, and decides how its payload is read.
func (c *Conn) begin(b []byte) error {
	r := &c.reader
	n := binary.BigEndian.Uint32(b)
	r.frame = frame{
		size: int(n >> 8), kind: http2.FrameType(n), flags: http2.Flags(b[4]),
		id: binary.BigEndian.Uint32(b[5:]) & lastID,
	}
	f := r.frame
	if !r.greeted && (f.kind != http2.FrameSettings || f.flags.Has(http2.FlagSettingsAck)) {
		if bytes.HasPrefix(b, []byte("HTTP/")) {
			return violated(http2.ErrCodeProtocol, "answers in HTTP/1")
		}
		return violated(http2.ErrCodeProtocol, "does not begin as HTTP/2 does")
	}
	r.greeted = true
	if err := c.allowed(f); err != nil {
		return err
	}
	switch {
	case f.kind == http2.FrameData:
		return c.beginData(f)
	case f.kind > http2.FrameContinuation || f.kind == http2.FramePriority:
		r.left = f.size
	default:
		r.begun = true
	}
	return nil
}

// allowed checks what the header of a frame alone can show: its size, its stream, and its place between others.
func (c *Conn) allowed(f frame) error {
	if c.idle++; c.idle > maxIdle {
		return violated(http2.ErrCodeEnhanceYourCalm, "sends many frames that carry nothing")
	}
	var fits, connection, stream bool // its size, and whether it must belong to the connection or a stream
	switch f.kind {
	case http2.FrameData, http2.FrameHeaders, http2.FrameContinuation:
		fits, stream = true, true
	case http2.FramePriority:
		fits, stream = f.size == 5, true
	case http2.FrameRSTStream:
		fits, stream = f.size == 4, true
	case http2.FrameSettings:
		fits, connection = f.size%6 == 0 && (f.size == 0 || !f.flags.Has(http2.FlagSettingsAck)), true
	case http2.FramePing:
		fits, connection = f.size == 8, true
	case http2.FrameGoAway:
		fits, connection = f.size >= 8, true
	case http2.FrameWindowUpdate:
		fits = f.size == 4
	default:
		fits = true
	}
	switch {
	case f.size > frameSize || !fits:
		return violated(http2.ErrCodeFrameSize, "sent a frame of a wrong size")
	case stream && f.id == 0, connection && f.id != 0:
		return violated(http2.ErrCodeProtocol, "sent a frame to a wrong stream")
	case (c.block.id != 0) != (f.kind == http2.FrameContinuation), c.block.id != 0 && f.id != c.block.id:
		return violated(http2.ErrCodeProtocol, "interrupted a header block, or continues none")
	case f.kind == http2.FramePushPromise:
		return violated(http2.ErrCodeProtocol, "pushes, though it must not")
	}
	return nil
}

// dispatch reads a complete frame.
func (c *Conn) dispatch(f frame, payload []byte) error {
	switch f.kind {
	case http2.FrameHeaders:
		return c.readHeaders(f, payload)
	case http2.FrameContinuation:
		return c.continueBlock(f, payload)
	case http2.FrameRSTStream:
		return c.readReset(f, payload)
	case http2.FrameSettings:
		return c.readSettings(f, payload)
	case http2.FramePing:
		return c.readPing(f, payload)
	case http2.FrameGoAway:
		return c.readGoAway(payload)
	default:
		return c.readWindowUpdate(f, payload)
	}
}

// readPing answers PING.
func (c *Conn) readPing(f frame, payload []byte) error {
	if f.flags.Has(http2.FlagPingAck) {
		return nil // we asked for none
	}
	c.appendFrame(http2.FramePing, http2.FlagPingAck, 0, len(payload))
	c.append(payload)
	return c.reply(len(payload))
}

// touched returns the stream of a frame that may come after the end of its stream. It is nil if there is none.
func (c *Conn) touched(f frame) (*Stream, error) {
	if f.id%2 == 0 || f.id >= c.next {
		return nil, violated(http2.ErrCodeProtocol, "sent a frame of a stream that is not open")
	}
	i, ok := c.index(f.id)
	if !ok {
		return nil, nil
	}
	if f.kind == http2.FrameRSTStream {
		c.open[i].in += frameHeader + f.size
	}
	return c.open[i], nil
}

// readReset ends a stream because the peer wants it.
func (c *Conn) readReset(f frame, payload []byte) error {
	s, err := c.touched(f)
	if s == nil || err != nil {
		c.forget(f.id)
		return err
	}
	c.close(s, ResetError{http2.ErrCode(binary.BigEndian.Uint32(payload))})
	return nil
}

// readGoAway ends the streams that the peer has not processed. It may come twice: first with the largest id, to say
// that the connection will end (RFC 9113, 6.8).
func (c *Conn) readGoAway(payload []byte) error {
	last := binary.BigEndian.Uint32(payload) & lastID
	if last > c.last {
		return violated(http2.ErrCodeProtocol, "takes back that it does not process a stream")
	}
	c.leaving, c.last = true, last
	for n := len(c.open); n > 0 && c.open[n-1].id > last; n-- {
		c.close(c.open[n-1], ErrUnprocessed)
	}
	return nil
}
