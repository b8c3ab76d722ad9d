package http2

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// settings are those of the peer (RFC 9113, 6.5.2).
type settings struct {
	streams uint32 // at most in flight
	window  uint32 // bytes that each stream may send at first
	frame   int    // largest payload
	table   uint32 // below tableSize if the next header block must say that its table is no larger
}

// readSettings reads SETTINGS, and confirms it.
func (c *Conn) readSettings(f frame, payload []byte) error {
	if f.flags.Has(http2.FlagSettingsAck) {
		return nil // ours hold from the beginning on: the peer can only have less from us than it may send
	}
	before := c.peer.window
	for ; len(payload) > 0; payload = payload[6:] {
		id := http2.SettingID(binary.BigEndian.Uint16(payload))
		if err := c.set(id, binary.BigEndian.Uint32(payload[2:])); err != nil {
			return err
		}
	}
	// Once for all of the frame: a peer may repeat the setting thousands of times, and there may be a thousand streams.
	if err := c.changeWindows(int64(c.peer.window) - int64(before)); err != nil {
		return err
	}
	c.greeted = true
	c.appendFrame(http2.FrameSettings, http2.FlagSettingsAck, 0, 0)
	return c.reply(0)
}

// set takes over a setting. Unknown ones are ignored.
func (c *Conn) set(id http2.SettingID, value uint32) error {
	switch id {
	case http2.SettingEnablePush:
		if value != 0 {
			return violated(http2.ErrCodeProtocol, "sent a wrong setting: only clients permit pushes")
		}
	case http2.SettingMaxConcurrentStreams:
		c.peer.streams = value
	case http2.SettingHeaderTableSize:
		c.peer.table = min(c.peer.table, value)
	case http2.SettingMaxFrameSize:
		if value < frameSize || value >= largestFrame {
			return violated(http2.ErrCodeProtocol, "sent a wrong setting: frames of an impossible size")
		}
		c.peer.frame = int(value)
	case http2.SettingInitialWindowSize:
		if value > largestWindow {
			return violated(http2.ErrCodeFlowControl, "sent a wrong setting: a window that is too large")
		}
		c.peer.window = value
	}
	return nil
}

// changeWindows changes the windows of the streams in flight. A window may become negative (RFC 9113, 6.9.2).
func (c *Conn) changeWindows(change int64) error {
	if change == 0 {
		return nil
	}
	for _, s := range c.open {
		if s.window += change; s.window > largestWindow {
			return violated(http2.ErrCodeFlowControl, "made the window of a stream too large")
		}
	}
	kept := c.sending[:0]
	for _, s := range c.sending {
		if s.queued = s.window > 0; s.queued {
			kept = append(kept, s)
		}
	}
	clear(c.sending[len(kept):])
	c.sending = kept
	for _, s := range c.open {
		c.queue(s)
	}
	return nil
}

// readWindowUpdate lets us send more (RFC 9113, 6.9).
func (c *Conn) readWindowUpdate(f frame, payload []byte) error {
	n := int64(binary.BigEndian.Uint32(payload) & largestWindow)
	if f.id == 0 {
		c.window += n
		switch {
		case n == 0:
			return violated(http2.ErrCodeProtocol, "enlarged a window by nothing")
		case c.window > largestWindow:
			return violated(http2.ErrCodeFlowControl, "made the window of the connection too large")
		}
		return nil
	}
	s, err := c.touched(f)
	if s == nil || err != nil {
		return err
	}
	s.window += n
	switch {
	case n == 0:
		c.abort(s, errNoWindow)
	case s.window > largestWindow:
		c.abort(s, errWindow)
	default:
		c.queue(s)
	}
	return nil
}

// restore gives the peer back what a frame of a body has used. It says so once half a window is used.
func (c *Conn) restore(s *Stream, size int64) {
	if c.unasked += size; c.unasked >= connWindow/2 {
		c.sendUint32(http2.FrameWindowUpdate, 0, uint32(c.unasked))
		c.credit, c.unasked = c.credit+c.unasked, 0
	}
	if s == nil {
		return
	}
	if s.taken += size; s.taken >= streamWindow/2 {
		c.sendUint32(http2.FrameWindowUpdate, s.id, uint32(s.taken))
		s.credit, s.taken = s.credit+s.taken, 0
	}
}
