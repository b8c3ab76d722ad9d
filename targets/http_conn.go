package targets

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"time"
)

// Limits of a connection and of the head of an answer.
const (
	readBuffer   = 4 << 10          // bytes
	headLimit    = 1 << 20          // bytes of a head; up to a buffer more may be read
	interimLimit = 8                // answers 1xx before the real one
	idleLimit    = 90 * time.Second // beyond it firewalls have forgotten a connection
)

// Errors of answers that are not of HTTP as we take it.
var (
	errHead    = errors.New("the head of the answer is too long")
	errInterim = errors.New("too many interim answers")
)

// A conn is a connection that carries one request at a time. It belongs to
// one goroutine at a time and needs no lock.
type conn struct {
	to        endpoint
	raw       net.Conn // TCP or unix
	wire      net.Conn // what HTTP goes over: raw, or TLS on it
	br        *bufio.Reader
	hungUp    func() bool // whether the peer closed it or sent what nobody asked for
	in, out   int64       // bytes of this request so far
	mayRead   int64       // what in must not pass
	idleSince time.Time
}

// A reply is what came of one request on one connection.
type reply struct {
	status   int
	location string // of a redirect
	err      error
	phase    string // the class of an err that does not tell
	in, out  int64
	keep     bool // the connection can carry another request
}

// newConn wraps a connection that was just opened.
func newConn(to endpoint, raw, wire net.Conn) *conn {
	c := &conn{to: to, raw: raw, wire: wire, hungUp: hangUpCheck(raw)}
	c.br = bufio.NewReaderSize(c, readBuffer)
	return c
}

// Read reads for the bufio.Reader and counts.
func (c *conn) Read(p []byte) (int, error) {
	if c.in >= c.mayRead {
		return 0, errHead
	}
	n, err := c.wire.Read(p)
	c.in += int64(n)
	return n, err
}

// roundTrip writes m and reads the answer to its end; the body, through buf,
// up to limit. The deadline of the connection is set. The end of ctx ends it.
func (c *conn) roundTrip(ctx context.Context, m *message, limit int64, buf []byte) reply {
	c.in, c.out = 0, 0
	release := func() bool { return true }
	if ctx.Done() != nil {
		// A deadline in the past wakes whoever reads or writes, and unlike
		// closing it cannot hit another connection that got the descriptor.
		release = context.AfterFunc(ctx, func() { _ = c.raw.SetDeadline(time.Unix(1, 0)) })
	}
	n, writeErr := c.wire.Write(m.wire)
	c.out = int64(n)
	r := reply{out: c.out}
	if writeErr != nil && (n == 0 || isTimeout(writeErr)) {
		r.err, r.phase = writeErr, ClassOther
	} else {
		// A server may answer and hang up before it read all of a body. Its
		// answer tells more than our broken pipe.
		c.receive(m, limit, buf, &r)
		if r.err != nil && writeErr != nil {
			r.err = writeErr
		}
	}
	// What was read beyond the answer is not of this request.
	r.in = c.in - int64(c.br.Buffered())
	r.keep = release() && r.keep && writeErr == nil && c.br.Buffered() == 0 && !m.close
	return r
}

// receive reads the answer into r.
func (c *conn) receive(m *message, limit int64, buf []byte, r *reply) {
	r.phase = ClassProtocol
	// Close would read a long body to its end, past the limit.
	resp, err := c.receiveHead(m) //nolint:bodyclose // drained, or the connection is closed
	if err != nil {
		r.err = err
		return
	}
	r.status = resp.StatusCode
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		r.location = resp.Header.Get("Location")
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return // what follows is of another protocol: no body, and no reuse
	}
	r.err = drain(resp.Body, limit, buf)
	r.keep = r.err == nil && !resp.Close
}

// receiveHead reads heads until one that is not interim (100 Continue, 103
// Early Hints).
func (c *conn) receiveHead(m *message) (*http.Response, error) {
	c.mayRead = headLimit
	defer func() { c.mayRead = math.MaxInt64 }()
	for range interimLimit {
		resp, err := http.ReadResponse(c.br, m.request)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= http.StatusOK || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, nil
		}
	}
	return nil, errInterim
}

// drain reads body to its end, so that the connection can carry the next
// request; errBodyLimit if it is longer than limit.
func drain(body io.Reader, limit int64, buf []byte) error {
	for left := limit; ; {
		n, err := body.Read(buf[:min(int64(len(buf)-1), left)+1])
		left -= int64(n)
		switch {
		case left < 0:
			return errBodyLimit
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// usable reports whether an idle connection can carry a request to another
// endpoint by deadline, which it gets. Servers close idle connections as they
// like; to find out only after writing would count as a failed request what
// is none.
func (c *conn) usable(to endpoint, deadline time.Time) bool {
	if c.to != to || time.Since(c.idleSince) > idleLimit {
		return false
	}
	return c.raw.SetDeadline(deadline) == nil && !c.hungUp()
}

// close closes the connection. A clean one says farewell as TLS wants it; of
// others the peer may not read, and the farewell could wait for seconds.
func (c *conn) close(clean bool) {
	if clean {
		c.wire.Close()
		return
	}
	c.raw.Close()
}

// isTimeout reports whether err is an expired deadline.
func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}
