package http2

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

const frameHeader = 9 // bytes

// Output returns what must be written next. It moves bodies into the output as far as the peer allows, some frames at a
// time. The bytes stay as they are until Wrote, so they may be written while another goroutine calls other methods.
func (c *Conn) Output() []byte {
	c.sendBodies()
	c.shown = c.total
	return c.out[c.written:]
}

// Wrote says that the first n bytes of Output were written.
func (c *Conn) Wrote(n int) {
	c.written += n
	c.shown = c.total - int64(c.unwritten())
	c.replies = max(0, c.replies-n)
	c.part()
	switch {
	case c.written < len(c.out):
		if c.written >= maxUnwritten {
			c.out, c.written = append(c.out[:0], c.out[c.written:]...), 0
		}
	case cap(c.out) > 2*maxUnwritten:
		c.out, c.written = nil, 0
	default:
		c.out, c.written = c.out[:0], 0
	}
}

// unwritten is how much output waits, without bodies.
func (c *Conn) unwritten() int { return len(c.out) - c.written }

// append adds output.
func (c *Conn) append(b []byte) {
	c.total += int64(len(b))
	c.out = append(c.out, b...)
}

// appendFrame adds the header of a frame with a payload of a size.
func (c *Conn) appendFrame(kind http2.FrameType, flags http2.Flags, id uint32, size int) {
	var b [frameHeader]byte
	binary.BigEndian.PutUint32(b[:], uint32(size)<<8|uint32(kind))
	b[4] = byte(flags)
	binary.BigEndian.PutUint32(b[5:], id)
	c.append(b[:])
}

// greet sends our settings, and enlarges the window of the connection, which no setting does.
func (c *Conn) greet() {
	ours := []struct {
		id    http2.SettingID
		value uint32
	}{
		{http2.SettingEnablePush, 0},
		{http2.SettingInitialWindowSize, streamWindow},
		{http2.SettingMaxHeaderListSize, uint32(c.limits.Head)},
	}
	c.appendFrame(http2.FrameSettings, 0, 0, 6*len(ours))
	for _, s := range ours {
		b := binary.BigEndian.AppendUint16(nil, uint16(s.id))
		c.append(binary.BigEndian.AppendUint32(b, s.value))
	}
	c.sendUint32(http2.FrameWindowUpdate, 0, connWindow-firstWindow)
}

// sendUint32 sends a frame whose payload is a number.
func (c *Conn) sendUint32(kind http2.FrameType, id, n uint32) {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	c.appendFrame(kind, 0, id, len(b))
	c.append(b[:])
}

// sendHead sends the header block of a request, in as many frames as the peer wants.
func (c *Conn) sendHead(s *Stream, r *Request) {
	var prefix []byte
	if c.peer.table < tableSize {
		// A smaller table must be confirmed (RFC 7541, 4.2). We never fill it, so it may be empty for good.
		prefix, c.peer.table = []byte{noTable}, tableSize
	}
	flags := http2.Flags(0)
	if len(r.body) == 0 && r.LongLived == nil {
		flags = http2.FlagHeadersEndStream
	}
	kind, block := http2.FrameHeaders, r.block
	for begun := false; !begun || len(block) > 0; begun = true {
		n := min(len(block), c.peer.frame-len(prefix))
		if n == len(block) {
			flags |= http2.FlagHeadersEndHeaders
		}
		c.appendFrame(kind, flags, s.id, len(prefix)+n)
		c.append(prefix)
		c.append(block[:n])
		s.out += frameHeader + len(prefix) + n
		kind, flags, prefix, block = http2.FrameContinuation, 0, nil, block[n:]
	}
}

// queue lets a stream send of its body, if it has something to send and its window allows it.
func (c *Conn) queue(s *Stream) {
	if !s.queued && len(s.body) > 0 && s.window > 0 {
		s.queued = true
		c.sending = append(c.sending, s)
	}
}

// sendBodies moves parts of bodies into the output, a frame of each stream in turn.
func (c *Conn) sendBodies() {
	for len(c.sending) > 0 && c.window > 0 && c.unwritten() < maxUnwritten {
		s := c.sending[0]
		n := min(int64(len(s.body)), s.window, c.window, int64(c.peer.frame), frameSize)
		flags := http2.Flags(0)
		if n == int64(len(s.body)) && s.longLived.kind == nil {
			flags = http2.FlagDataEndStream
		}
		c.appendFrame(http2.FrameData, flags, s.id, int(n))
		c.append(s.body[:n])
		s.body, s.window = s.body[n:], s.window-n
		s.out += frameHeader + int(n)
		c.window, c.idle = c.window-n, 0
		copy(c.sending, c.sending[1:])
		c.sending = c.sending[:len(c.sending)-1]
		s.queued = false
		c.queue(s)
		if len(s.body) == 0 && s.longLived.writes {
			s.longLived.end = c.total
			c.parting = append(c.parting, s)
		}
	}
}

// reply notes that the output has a frame that the peer caused. A peer that causes many and reads none ends the
// connection.
func (c *Conn) reply(size int) error {
	if c.replies += frameHeader + size; c.replies > maxReplies {
		return violated(http2.ErrCodeEnhanceYourCalm, "asks for more than it reads")
	}
	return nil
}

// sendReset ends a stream.
func (c *Conn) sendReset(s *Stream, code http2.ErrCode) {
	c.sendUint32(http2.FrameRSTStream, s.id, uint32(code))
	s.out += frameHeader + 4
}

// sendGoAway says why the connection ends. No stream of the peer was processed: it may have none.
func (c *Conn) sendGoAway(code http2.ErrCode) {
	var b [8]byte
	binary.BigEndian.PutUint32(b[4:], uint32(code))
	c.appendFrame(http2.FrameGoAway, 0, 0, len(b))
	c.append(b[:])
}
