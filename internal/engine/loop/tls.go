package loop

import (
	"errors"
	"io"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"github.com/loadctl/loadctl/targets"
)

// unsent returns what has to be written next; nothing if the request is written. With TLS, out counts the parts of the
// request that the peer has taken whole.
func (cn *conn) unsent() ([]byte, error) {
	if cn.secure == nil {
		return cn.request[cn.out:], nil
	}
	t := cn.tls
	if t.sent < len(t.out) {
		return t.out[t.sent:], nil
	}
	cn.out += t.plain
	t.out, t.sent, t.plain = t.out[:0], 0, 0
	if cn.out < len(cn.request) {
		n, err := cn.secure.Write(cn.request[cn.out:min(len(cn.request), cn.out+sealAtOnce)])
		if err != nil {
			return nil, err
		}
		t.plain = n
	}
	return t.out, nil
}

// wrote notes that the peer took n more bytes.
func (cn *conn) wrote(n int) {
	cn.begun = true
	if cn.secure == nil {
		cn.out += n
	} else {
		cn.tls.sent += n
	}
}

// readSecure is read with TLS. Data may be there that no event will announce, because TLS has read it already: so it
// reads until TLS finds nothing.
func (c *Client) readSecure(cn *conn) {
	for range readsInARow {
		n, err := cn.secure.Read(c.buf)
		if n > 0 {
			used, complete, bad := cn.reply.Feed(c.buf[:n])
			cn.in += used
			if complete || bad != nil {
				keep := bad == nil && (err == nil || sockets.Blocked(err)) && c.reusable(cn) && c.settled(cn)
				c.end(cn, bad, targets.ClassProtocol, keep)
				return
			}
		}
		switch {
		case err == nil:
		case sockets.Blocked(err):
			cn.tls.flush()
			return
		case errors.Is(err, io.EOF): // TLS' closing message, or the end of the stream
			c.end(cn, cn.reply.EOF(), targets.ClassProtocol, false)
			return
		default:
			cn.tls.flush() // why we refuse it
			c.end(cn, err, targets.ClassProtocol, false)
			return
		}
	}
	c.readOn(cn)
}

// settled reports whether a connection without a request has no data, and is open. With TLS it takes up messages that are
// not data, such as tickets for later connections.
func (c *Client) settled(cn *conn) bool {
	switch {
	case cn.messages != nil:
		return c.attend(cn)
	case cn.discards():
		return c.discard(cn)
	case cn.secure == nil:
		return !cn.readable
	}
	if n, err := cn.secure.Read(c.buf); n > 0 || !sockets.Blocked(err) {
		return false
	}
	cn.tls.flush()
	return len(cn.tls.out) == 0
}

// closeGracefully closes a connection that carries no request. With TLS it says so, if there is room for that.
func (cn *conn) closeGracefully() {
	cn.sendClose()
	if cn.secure != nil {
		_ = cn.secure.CloseWrite() // cannot fail: it is only put into the stream
		cn.tls.flush()
	}
	cn.close()
}
