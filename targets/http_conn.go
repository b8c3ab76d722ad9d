package targets

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/loadctl/loadctl/targets/http1"
)

// Limits of a connection. Heads have the default limits of package http1.
const (
	readBuffer = 4 << 10          // bytes, for each connection
	longBuffer = 32 << 10         // bytes, for longer answers, from a pool
	idleLimit  = 90 * time.Second // firewalls forget connections that are idle for longer
)

// lookAfter is how long a connection may have been idle and still be taken without a check. For a shorter idle time the
// check at the start of each request is enough. That check costs nothing extra; but if it finds a hang-up, another
// connection is needed that late.
const lookAfter = 10 * time.Millisecond

// mostDrained is how often an idle connection is read at most, to throw away what has come.
const mostDrained = 64

// oneRecord is the largest size in bytes up to which a request is one write on any connection: TLS begins with records
// that fill a packet of 1208 bytes.
const oneRecord = 1000

// errHungUp says that nothing was written to an idle connection, because the server closed it or sent unexpected data.
var errHungUp = fmt.Errorf("the server hung up: %w", io.EOF)

// A conn is a connection that carries one request at a time. It belongs to one goroutine at a time and needs no lock.
type conn struct {
	to        endpoint
	raw       *socket  // TCP or unix
	wire      net.Conn // carries HTTP: raw, or TLS on it
	watch     watch
	buf       []byte
	answer    http1.Response
	memo      http1.Memo
	hungUp    func() bool // whether the peer closed it or sent unexpected data
	session   *session    // of HTTP/2; else nil
	idleSince time.Time
	socket    *keptSocket // of WebSocket; nil for all others

	// Of the pool.
	riders  int  // requests that have it
	listed  bool // it is among the idle ones
	drained bool // it takes no further requests
	aged    bool // it was idle for too long
}

// A reply is the result of one request on one connection.
type reply struct {
	status   int
	location string // of a redirect
	failed   string // the class if the answer is not as expected
	err      error
	phase    string // the class if err does not determine it
	in, out  int64
	messages int64 // that came
	keep     bool  // the connection can carry another request
	again    bool  // the server says that it did not process the request, so it may be sent on another connection
}

// newConn wraps a connection that was just opened.
func newConn(to endpoint, raw *socket, wire net.Conn) *conn {
	c := &conn{to: to, raw: raw, wire: wire, buf: make([]byte, readBuffer), hungUp: raw.hungUp, idleSince: time.Now()}
	// A deadline in the past wakes readers and writers. Unlike closing, it cannot hit another connection that got the
	// same descriptor.
	c.watch.interrupt = func() { _ = raw.SetDeadline(time.Unix(1, 0)) }
	c.answer.Remember(&c.memo)
	return c
}

// An asking is one call of Do: what is the same for all its requests.
type asking struct {
	session *Session  // gets what the step takes; may be nil
	began   time.Time // of the request
	expect  *expectation
	long    *sync.Pool // buffers for long answers

	// For HTTP/2 and HTTP/3.
	deadline time.Time
	halted   func() bool
	riders   *sync.Pool // *rider, for HTTP/2
}

// roundTrip writes m, and reads and checks the whole answer. The connection's deadline must be set. The end of ctx ends
// the exchange. reused says that the connection was idle.
func (c *conn) roundTrip(ctx context.Context, m *message, reused bool, e *asking) reply {
	if c.session != nil {
		return c.session.roundTrip(ctx, m, e)
	}
	c.watch.begin(ctx)
	n, writeErr := c.write(m, reused)
	r := reply{out: int64(n)}
	if writeErr != nil && (n == 0 || isTimeout(writeErr)) {
		r.err, r.phase = writeErr, ClassOther
	} else {
		// A server may answer and hang up before it has read the whole body. Its answer says more than our broken pipe.
		c.receive(m, e, &r)
		if r.err != nil && writeErr != nil {
			r.err = writeErr
		}
	}
	r.keep = !c.watch.finish() && r.keep && writeErr == nil && !m.close
	return r
}

// write writes m. It checks a reused connection first.
func (c *conn) write(m *message, reused bool) (int, error) {
	switch {
	case !reused:
	case len(m.wire) <= oneRecord:
		c.raw.expect()
	case c.hungUp():
		return 0, errHungUp
	}
	return c.wire.Write(m.wire)
}

// receive reads the answer into r, and checks it.
func (c *conn) receive(m *message, e *asking, r *reply) {
	c.answer.Begin(e.expect.limits, m.head)
	r.phase = ClassProtocol
	r.in, r.keep, r.err = c.readAnswer(e.long)
	if errors.Is(r.err, http1.ErrBody) {
		r.err = errBodyLimit
	}
	r.status, r.location = c.answer.Status(), c.answer.Location()
	if r.err == nil {
		r.failed = e.expect.failed(&c.answer, time.Since(e.began), e.session)
	}
	c.answer.Release()
}

// readAnswer reads to the end of the answer. Bytes beyond it are ignored, but then keep is false: the connection is not
// reused.
func (c *conn) readAnswer(long *sync.Pool) (in int64, keep bool, err error) {
	buf := c.buf
	for {
		n, readErr := c.wire.Read(buf)
		used, done, err := c.answer.Feed(buf[:n])
		in += int64(used)
		switch {
		case err != nil:
			return in, false, err
		case errors.Is(readErr, io.EOF):
			return in, false, c.answer.EOF() // nil if the answer was complete
		case done:
			c.raw.answered()
			return in, readErr == nil && c.answer.KeepAlive() && !c.readAhead(), nil
		case readErr != nil:
			return in, false, readErr
		}
		if n == readBuffer && len(buf) == readBuffer && c.answer.Status() != 0 { // a head takes no larger buffer
			larger := long.Get().(*[]byte)
			defer long.Put(larger)
			buf = *larger
		}
	}
}

// readAhead reports whether TLS has more data than the answer, or knows that the connection has ended: a look at the socket
// finds nothing then.
func (c *conn) readAhead() bool {
	if _, secure := c.wire.(*tls.Conn); !secure {
		return false
	}
	n, err := c.readNow(c.buf[:1])
	return n > 0 || !errors.Is(err, errNotYet{})
}

// usable reports whether an idle connection can carry a request to another endpoint by deadline, and sets that
// deadline. Servers close idle connections at any time. To notice only after writing would count a failed request that
// is none. If the connection was idle for a moment only, write notices.
func (c *conn) usable(to endpoint, deadline time.Time) bool {
	if c.to != to || c.aged {
		return false
	}
	if c.session != nil {
		return c.session.usable()
	}
	idle := time.Since(c.idleSince)
	return c.raw.SetDeadline(deadline) == nil && (idle < lookAfter || !c.hungUp())
}

// old reports whether the connection was idle for too long. One that its keeper looks after never was, nor one whose
// streams stay open.
func (c *conn) old(idle time.Duration) bool {
	return idle > idleLimit && c.socket == nil && (c.session == nil || !c.session.talks.Load())
}

// rest notes when the connection became idle.
func (c *conn) rest() {
	// Like time.Now, but reads one clock instead of two.
	c.idleSince = c.idleSince.Add(time.Since(c.idleSince))
}

// close closes the connection. A clean connection gets TLS' closing message. On others the peer may not read, and that
// message could block for seconds.
func (c *conn) close(clean bool) {
	c.watch.close()
	if c.session != nil && c.session.part() {
		return
	}
	if clean && c.socket != nil {
		c.socket.mu.Lock()
		c.bye()
		c.socket.mu.Unlock()
	}
	if clean {
		c.wire.Close()
		return
	}
	c.raw.Close()
}

// errNotYet says that an instant Read or Write would have to wait. TLS can go on after it.
type errNotYet struct{}

func (errNotYet) Error() string   { return "it would have to wait" }
func (errNotYet) Timeout() bool   { return true }
func (errNotYet) Temporary() bool { return true }

// readNow and writeNow are the connection's Read and Write, and do not wait.
func (c *conn) readNow(b []byte) (int, error) {
	c.raw.instant = true
	n, err := c.wire.Read(b)
	c.raw.instant = false
	return n, err
}

func (c *conn) writeNow(b []byte) (int, error) {
	c.raw.instant = true
	n, err := c.wire.Write(b)
	c.raw.instant = false
	return n, err
}

// isTimeout reports whether err is an expired deadline.
func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}
