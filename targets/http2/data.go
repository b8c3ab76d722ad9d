package http2

import (
	"errors"

	"golang.org/x/net/http2"

	"github.com/loadctl/loadctl/targets/http1"
)

// beginData reads the header of DATA. The whole payload counts for the windows, padding too (RFC 9113, 6.9.1).
func (c *Conn) beginData(f frame) error {
	r := &c.reader
	s, err := c.find(f.id)
	if err != nil {
		return err
	}
	padded := f.flags.Has(http2.FlagDataPadded)
	if padded && f.size == 0 {
		return violated(http2.ErrCodeFrameSize, "sent a frame of a wrong size")
	}
	c.credit -= int64(f.size)
	over := c.credit < 0
	if s != nil {
		s.credit -= int64(f.size)
		s.in += frameHeader + f.size
		s.begun(c.At)
		over = over || s.credit < 0
	} else if old := c.reset(f.id); old != nil {
		old.credit -= int64(f.size)
		over = over || old.credit < 0
	}
	if over {
		return violated(http2.ErrCodeFlowControl, "sent more than its window allows")
	}
	r.stream, r.left, r.length, r.data = s, f.size, padded, f.size
	if s != nil && s.status == 0 {
		c.abort(s, malformed("a body before its head"))
	}
	if f.size == 0 {
		c.endData()
	}
	return nil
}

// readPart reads a part of the payload of a frame that is read as it arrives.
func (c *Conn) readPart(b []byte) (n int, err error) {
	r := &c.reader
	if r.frame.kind != http2.FrameData {
		n = min(len(b), r.left)
		r.left -= n
		return n, nil
	}
	if r.length {
		r.length = false
		r.left--
		if r.data = r.left - int(b[0]); r.data < 0 {
			return 1, violated(http2.ErrCodeProtocol, "sent a frame with more padding than it is long")
		}
		n = 1
	}
	part := b[n:min(len(b), n+r.data)]
	c.take(part)
	n, r.data, r.left = n+len(part), r.data-len(part), r.left-len(part)
	if r.data == 0 {
		padding := min(len(b)-n, r.left)
		n, r.left = n+padding, r.left-padding
	}
	if r.left == 0 {
		c.endData()
	}
	return n, nil
}

// take counts the next bytes of a body, or those up to the first that exceeds a limit, and keeps them if wanted.
func (c *Conn) take(b []byte) {
	s := c.reader.stream
	if s == nil || len(b) == 0 {
		return
	}
	c.idle = 0
	if s.framed() {
		if s.got += int64(len(b)); s.length != unknown && s.got > s.length {
			c.abort(s, errLonger)
		} else if err := c.takeMessages(s, b); err != nil {
			c.abort(s, err)
		}
		return
	}
	most, err := s.most()
	if room := most - s.got; int64(len(b)) > room {
		s.keep(b[:room])
		s.got = most + 1
		c.abort(s, err)
		return
	}
	s.keep(b)
	s.got += int64(len(b))
	if s.limits.Sink == nil {
		return
	}
	if err := s.limits.Sink.Take(b, false, c.At); err != nil {
		c.abort(s, err)
	}
}

// keep keeps the next bytes of a body, as far as they are wanted.
func (s *Stream) keep(b []byte) {
	if wanted := s.limits.Content - len(s.content); wanted > 0 {
		s.content = append(s.content, b[:min(wanted, len(b))]...)
	}
}

// most returns how long the body may be, and the error if it is longer.
func (s *Stream) most() (int64, error) {
	switch {
	case s.bodiless():
		return 0, malformed("a body where there is none")
	case s.length != unknown && s.length <= s.limits.Body:
		return s.length, errLonger
	}
	return s.limits.Body, http1.ErrBody
}

// bodiless reports whether the answer has no body, whatever its length is said to be (RFC 9110, 6.4.1).
func (s *Stream) bodiless() bool { return s.toHead || s.status == 204 || s.status == 304 }

// endData reads the end of DATA.
func (c *Conn) endData() {
	r := &c.reader
	s, end := r.stream, r.frame.flags.Has(http2.FlagDataEndStream)
	r.stream = nil
	if s != nil && s.limits.Sink != nil && !s.framed() {
		err := s.limits.Sink.Take(nil, true, c.At)
		if end && errors.Is(err, http1.ErrEnough) {
			err = nil // there is no more
		}
		if err != nil {
			c.abort(s, err)
			s = nil
		}
	}
	switch {
	case s != nil && end:
		c.restore(nil, int64(r.frame.size))
		c.complete(s)
	case end:
		c.forget(r.frame.id)
		c.restore(nil, int64(r.frame.size))
	default:
		c.restore(s, int64(r.frame.size))
	}
}

// complete ends a stream whose answer has ended.
func (c *Conn) complete(s *Stream) {
	if s.length != unknown && !s.bodiless() && s.got != s.length {
		c.abort(s, errShorter)
		c.forget(s.id)
		return
	}
	if s.framed() && s.messages.have > 0 {
		c.abort(s, malformed("a message is cut off"))
		c.forget(s.id)
		return
	}
	if len(s.body) > 0 || s.longLived.kind != nil && !s.longLived.ours {
		c.sendReset(s, http2.ErrCodeCancel) // the server wants no more of the request
	}
	c.close(s, nil)
}

// forget says that no more frames come of a stream that we reset.
func (c *Conn) forget(id uint32) {
	for i := range c.resets {
		if c.resets[i].id == id {
			c.resets[i] = c.resets[len(c.resets)-1]
			c.resets = c.resets[:len(c.resets)-1]
			c.idle = 0
			return
		}
	}
}
