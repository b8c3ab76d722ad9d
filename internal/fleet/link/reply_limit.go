package link

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/mux"
)

// Bounds of what a reply may announce. The client allocates what is announced before it arrives, so a header of ten
// bytes can cost it gigabytes. All announcements of a reply together may cost maxAnnounced, plus perByte for each
// byte of it that has arrived. An element costs elementCost at most. A string of 64 MiB, or a million elements at
// once, is far more than any run has in one place. ScanHash reads what may be larger.
const (
	maxAnnounced = 64 << 20
	elementCost  = 64
	perByte      = 16
	maxDepth     = 64       // aggregates within each other; the client uses a stack frame for each
	maxStatus    = 64 << 10 // bytes of a line without a length
	maxHeader    = 32       // bytes of a line with a length
)

// Errors of replies end their connection.
var (
	errReply    = errors.New("the reply is not of the Redis protocol; check that the URL is that of a Redis server")
	errReplyBig = errors.New("the reply announces more than a run can have, 64 MB; check that the URL is that of a Redis server you trust")
)

// replyLimit checks each connection of a client with replies.
type replyLimit struct{}

// DialHook implements redis.Hook.
func (replyLimit) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return limitReplies(&answering{Conn: c}), nil
	}
}

// answering is a connection that one call uses at a time. A server without room for another client says so and closes it
// at once. The library takes that for the answer to its greeting, and fails in the next call. Then the reason is what the
// server said.
type answering struct {
	net.Conn
	refused error
}

// Read implements net.Conn.
func (c *answering) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.refused == nil {
		c.refused = mux.Refusal(p[:n])
	}
	return n, c.reason(err)
}

// Write implements net.Conn.
func (c *answering) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.reason(err)
}

// reason returns why a call has failed; nil if it has not.
func (c *answering) reason(err error) error {
	if err == nil {
		return nil
	}
	return cmp.Or(c.refused, err)
}

// NetConn returns the connection below, where the client looks for a socket.
func (c *answering) NetConn() net.Conn { return c.Conn }

// ProcessHook implements redis.Hook.
func (replyLimit) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (replyLimit) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// limitReplies wraps a connection to a server. The client looks at a socket directly to see whether it was closed. It
// must not do so with TLS.
func limitReplies(c net.Conn) net.Conn {
	checked, below := &replies{Conn: c}, c
	if a, ok := c.(*answering); ok {
		below = a.Conn
	}
	if socket, ok := below.(syscall.Conn); ok {
		return socketReplies{checked, socket}
	}
	return checked
}

type socketReplies struct {
	*replies
	syscall.Conn
}

// replies is a connection on which the client sees no announcement that is out of bounds. It follows the replies from
// header to header, so it never takes bytes in a string for a header. It passes all data through as it comes.
type replies struct {
	net.Conn
	err error // of a reply that was out of bounds

	line   []byte // the beginning of a line whose end has not come
	length int    // of line
	body   int64  // bytes of a string still to come, with its CR LF
	// Elements still to come: the reply itself, then the aggregates that have begun, each within the one before.
	open      []int64
	received  int64 // bytes of the reply
	announced int64 // cost of what it has announced
}

// NetConn returns the connection below, where the client looks for a socket.
func (c *replies) NetConn() net.Conn { return c.Conn }

// Read implements net.Conn.
func (c *replies) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.Conn.Read(p)
	good, bad := c.follow(p[:n])
	if bad != nil {
		c.err = bad
		return good, bad
	}
	return n, err
}

// follow goes through the next bytes. With an error it returns how many come before the wrong line.
func (c *replies) follow(b []byte) (good int, err error) {
	for i := 0; i < len(b); {
		if c.body > 0 {
			n := min(c.body, int64(len(b)-i))
			c.body, c.received, i = c.body-n, c.received+n, i+int(n)
			if c.body == 0 {
				c.element()
			}
			continue
		}
		n := bytes.IndexByte(b[i:], '\n') + 1
		ends := n > 0
		if !ends {
			n = len(b) - i
		}
		c.line = append(c.line, b[i:i+min(n, maxHeader-len(c.line))]...)
		if c.length += n; c.length > maxHeader && !status(c.line[0]) || c.length > maxStatus {
			return i, errReply
		}
		if ends {
			c.received += int64(c.length)
			if err := c.header(); err != nil {
				return i, err
			}
			c.line, c.length = c.line[:0], 0
		}
		i += n
	}
	return len(b), nil
}

// header handles a complete line.
func (c *replies) header() error {
	if len(c.open) == 0 {
		c.open = append(c.open, 1)
	}
	if status(c.line[0]) {
		c.element()
		return nil
	}
	n, err := parseLength(c.line[1:])
	if err != nil {
		return err
	}
	switch c.line[0] {
	case '$', '=', '!':
		if n < 0 {
			c.element()
			return nil
		}
		c.body = n + int64(len("\r\n"))
		return c.announce(n)
	case '*', '~', '>':
		return c.aggregate(n)
	case '%':
		return c.aggregate(2 * n)
	case '|': // comes before an element, and is none
		c.open[len(c.open)-1]++
		return c.aggregate(2 * n)
	}
	return errReply
}

// status reports whether a line of this kind is an element by itself, and announces nothing.
func status(kind byte) bool {
	switch kind {
	case '+', '-', ':', '_', ',', '#', '(':
		return true
	}
	return false
}

// parseLength parses a number of elements or bytes, with its CR LF. A number below zero stands for nothing.
func parseLength(text []byte) (int64, error) {
	text, whole := bytes.CutSuffix(text, []byte("\r\n"))
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case !whole || err != nil && !errors.Is(err, strconv.ErrRange) || n < -1:
		return 0, errReply
	case n > maxAnnounced*perByte:
		return 0, errReplyBig
	}
	return n, nil
}

// announce adds to the cost of what the reply has announced.
func (c *replies) announce(cost int64) error {
	if c.announced += cost; c.announced > maxAnnounced+perByte*c.received {
		return errReplyBig
	}
	return nil
}

// aggregate begins an aggregate of n elements.
func (c *replies) aggregate(n int64) error {
	if n <= 0 {
		c.element()
		return nil
	}
	if len(c.open) == maxDepth {
		return errReplyBig
	}
	c.open = append(c.open, n)
	return c.announce(n * elementCost)
}

// element ends an element, and all aggregates of which it is the last.
func (c *replies) element() {
	for len(c.open) > 0 {
		last := len(c.open) - 1
		if c.open[last]--; c.open[last] > 0 {
			return
		}
		c.open = c.open[:last]
	}
	c.received, c.announced = 0, 0 // the next reply
}
