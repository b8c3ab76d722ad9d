package loop

import (
	"errors"
	"io"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"github.com/loadctl/loadctl/targets"
)

// unsent returns what has to be written next; nothing if the request is written.
func (cn *conn) unsent() ([]byte, error) {
	if !cn.Secure() {
		return cn.request[cn.out:], nil
	}
	if b := cn.Sealed(); len(b) > 0 {
		return b, nil
	}
	cn.out += cn.sealed
	cn.sealed = 0
	if cn.out < len(cn.request) {
		n, err := cn.Seal(cn.request[cn.out:])
		if err != nil {
			return nil, err
		}
		cn.sealed = n
	}
	return cn.Sealed(), nil
}

// wrote notes that the peer took n more bytes.
func (cn *conn) wrote(n int) {
	cn.begun = true
	if cn.Secure() {
		cn.Wrote(n)
	} else {
		cn.out += n
	}
}

// readSecure is read with TLS. Data may be there that no event will announce, because TLS has read it already: so it
// reads until TLS finds nothing.
func (c *Client) readSecure(cn *conn) {
	for range readsInARow {
		n, err := cn.Receive(c.buf)
		if n > 0 {
			c.stamp(cn)
			used, complete, bad := cn.reply.Feed(c.buf[:n])
			cn.in += used
			if complete || bad != nil {
				c.keepLast(c.buf[:n])
				keep := bad == nil && (err == nil || sockets.Blocked(err)) && c.reusable(cn) && c.settled(cn)
				c.end(cn, bad, targets.ClassProtocol, keep)
				return
			}
			c.keepPart(cn, c.buf[:n])
		}
		switch {
		case err == nil:
		case sockets.Blocked(err):
			cn.Flush()
			return
		case errors.Is(err, io.EOF): // TLS' closing message, or the end of the stream
			c.end(cn, cn.reply.EOF(), targets.ClassProtocol, false)
			return
		default:
			cn.Flush() // why we refuse it
			c.end(cn, err, targets.ClassProtocol, false)
			return
		}
	}
	c.readOn(cn)
}

// settled reports whether a connection without a request has no data, and is open.
func (c *Client) settled(cn *conn) bool {
	switch {
	case cn.messages != nil:
		return c.attend(cn)
	case cn.discards():
		return c.discard(cn)
	}
	return cn.Settled(c.scratch())
}

// closeGracefully closes a connection that carries no request. With TLS it says so, if there is room for that.
func (cn *conn) closeGracefully() {
	cn.sendClose()
	cn.CloseWrite()
	cn.close()
}
