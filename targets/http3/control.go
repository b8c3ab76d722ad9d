package http3

// A Control reads the control stream of a server, behind its type. The zero value is ready. It is for one goroutine at a
// time.
type Control struct {
	number  []byte
	state   state
	frame   uint64
	left    uint64
	begun   bool
	goAway  []byte
	limit   uint64
	limited bool
}

// Feed reads the next bytes. An error ends the connection with the code.
func (c *Control) Feed(b []byte) (code uint64, err error) {
	for len(b) > 0 {
		if c.state == payload {
			n := int(min(c.left, uint64(len(b))))
			if c.frame == frameGoAway {
				c.goAway = append(c.goAway, b[:n]...)
			}
			c.left -= uint64(n)
			b = b[n:]
		} else {
			n, used, ok := number(&c.number, b)
			b = b[used:]
			if !ok {
				return 0, nil
			}
			if code, err := c.numbered(n); err != nil {
				return code, err
			}
		}
		if c.state == payload && c.left == 0 {
			c.end()
		}
	}
	return 0, nil
}

// numbered takes the type or the length of a frame. The first frame is SETTINGS, and it comes once.
func (c *Control) numbered(n uint64) (code uint64, err error) {
	if c.state == frameLength {
		c.left, c.state = n, payload
		if c.frame == frameGoAway && n > 8 {
			return CodeExcessiveLoad, errControl
		}
		return 0, nil
	}
	c.frame, c.state = n, frameLength
	first := !c.begun
	c.begun = true
	switch {
	case first && n != frameSettings:
		return CodeMissingSettings, errControl
	case !first && n == frameSettings, n == frameData, n == frameHeaders, n == framePushPromise, n == frameMaxPushID, ofHTTP2(n):
		return CodeFrameUnexpected, errControl
	}
	return 0, nil
}

// end is called at the end of a frame.
func (c *Control) end() {
	c.state = frameType
	if c.frame != frameGoAway {
		return
	}
	if id, _, ok := number(new([]byte), c.goAway); ok && (!c.limited || id < c.limit) {
		c.limit, c.limited = id, true
	}
	c.goAway = c.goAway[:0]
}

// GoAway returns from which stream on the server handles no requests; false if it has not said so.
func (c *Control) GoAway() (stream uint64, ok bool) { return c.limit, c.limited }
