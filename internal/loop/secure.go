package loop

import (
	"errors"
	"io"

	"github.com/loadctl/loadctl/targets"
)

// unsent returns what has to be written next; nothing if the request is written. With TLS, out counts the parts of the
// request that the peer has taken whole.
func (p *place) unsent() ([]byte, error) {
	if p.secure == nil {
		return p.request[p.out:], nil
	}
	s := p.stream
	if s.sent < len(s.out) {
		return s.out[s.sent:], nil
	}
	p.out += s.plain
	s.out, s.sent, s.plain = s.out[:0], 0, 0
	if p.out < len(p.request) {
		n, err := p.secure.Write(p.request[p.out:min(len(p.request), p.out+sealAtOnce)])
		if err != nil {
			return nil, err
		}
		s.plain = n
	}
	return s.out, nil
}

// took notes that the peer took n more bytes.
func (p *place) took(n int) {
	p.begun = true
	if p.secure == nil {
		p.out += n
	} else {
		p.stream.sent += n
	}
}

// readSecure is read with TLS. Data may be there that no event will announce, because TLS has read it already: so it
// reads until TLS finds nothing.
func (c *Client) readSecure(p *place) {
	for range readsInARow {
		n, err := p.secure.Read(c.buf)
		if n > 0 {
			used, complete, bad := p.reply.Feed(c.buf[:n])
			p.in += used
			if complete || bad != nil {
				keep := bad == nil && (err == nil || blocked(err)) && c.reusable(p) && c.settled(p)
				c.end(p, bad, targets.ClassProtocol, keep)
				return
			}
		}
		switch {
		case err == nil:
		case blocked(err):
			p.stream.flush()
			return
		case errors.Is(err, io.EOF): // TLS' closing message, or the end of the stream
			c.end(p, p.reply.EOF(), targets.ClassProtocol, false)
			return
		default:
			p.stream.flush() // why we refuse it
			c.end(p, err, targets.ClassProtocol, false)
			return
		}
	}
	c.readOn(p)
}

// settled tells whether a connection without a request has no data, and is open. With TLS it takes up messages that are
// not data, such as tickets for later connections.
func (c *Client) settled(p *place) bool {
	switch {
	case p.socket != nil:
		return c.attend(p)
	case p.discards():
		return c.discard(p)
	case p.secure == nil:
		return !p.readable
	}
	if n, err := p.secure.Read(c.buf); n > 0 || !blocked(err) {
		return false
	}
	p.stream.flush()
	return len(p.stream.out) == 0
}

// leave closes a connection that carries no request. With TLS it says so, if there is room for that.
func (p *place) leave() {
	p.bye()
	if p.secure != nil {
		_ = p.secure.CloseWrite() // cannot fail: it is only put into the stream
		p.stream.flush()
	}
	p.hangUp()
}
