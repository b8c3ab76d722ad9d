// Package quic carries requests of HTTP/3 (RFC 9114): it opens connections, and performs each request on a stream of its
// own, in a goroutine.
//
//	d := quic.NewDialer(quic.Options{TLS: config, Timeout: time.Minute, Idle: time.Minute})
//	c, err := d.Dial(ctx, address, nil, "example.org", func() { … })
//	var s quic.Stream
//	s.Begin(c, quic.Request{Frames: frames}, func(s *quic.Stream) { … })
//
// The QUIC is that of quic-go, and the HTTP/3 on it is package http3: a stream is written once, so nothing is sent twice.
// QUIC itself repeats packets that were lost, and a server sees their bytes once. There is no 0-RTT, because others can
// repeat its requests.
//
// Bytes are those of the frames on the streams of requests, without the overhead of QUIC and UDP.
//
// Not here: which connection a request gets, and whether it moves to another one (package loop).
package quic

import (
	"context"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"

	"github.com/loadctl/loadctl/targets/http3"
)

// A Conn carries several requests at the same time, each on a Stream. It is safe for concurrent use.
type Conn struct {
	conn    *quic.Conn
	control *quic.SendStream
	shared  bool          // it carries several requests at a time
	patient time.Duration // for how long a request waits before the server is asked for a sign of life
	goAway  atomic.Int64  // from this stream on the server handles no requests; -1 = it has not said so
	known   atomic.Bool   // the control stream of the server has come
	over    atomic.Bool   // a stream has failed because the connection has ended
	stop    context.CancelFunc
	changed func()
	buffers *sync.Pool // *[]byte, for long answers

	mu  sync.Mutex
	all map[*Stream]bool // with a stream of QUIC

	probe  sync.Mutex
	probed time.Time // when the server was last asked for a sign of life
	before uint64    // packets that had come then
}

// newConn begins HTTP/3 on a connection.
func newConn(conn *quic.Conn, d *Dialer, changed func()) (*Conn, error) {
	c := &Conn{
		conn: conn, shared: d.options.Shared, patient: min(d.options.Timeout/2, mostPatient), changed: changed, buffers: &d.buffers,
		all: map[*Stream]bool{},
	}
	c.goAway.Store(-1)
	control, err := conn.OpenUniStream()
	if err == nil {
		_, err = control.Write(http3.Preface())
	}
	if err != nil {
		return nil, err
	}
	var ctx context.Context
	c.control = control
	ctx, c.stop = context.WithCancel(conn.Context())
	context.AfterFunc(conn.Context(), changed)
	go c.accept(ctx)
	return c, nil
}

// accept reads what the server sends beside answers, until the connection ends.
func (c *Conn) accept(ctx context.Context) {
	for {
		stream, err := c.conn.AcceptUniStream(ctx)
		if err != nil {
			return
		}
		go c.read(stream)
	}
}

// read reads a stream of the server (RFC 9114, section 6.2). Those of QPACK have nothing for a client without a dynamic
// table, and are left unread: what a server may send on them is bounded by the window.
func (c *Conn) read(stream *quic.ReceiveStream) {
	kind, err := quicvarint.Read(quicvarint.NewReader(stream))
	switch {
	case err != nil, kind == http3.StreamEncoder, kind == http3.StreamDecoder:
	case kind == http3.StreamControl && c.known.CompareAndSwap(false, true):
		c.readControl(stream)
	case kind == http3.StreamControl:
		c.refuseAll(http3.CodeStreamCreation) // there is one already
	case kind == http3.StreamPush:
		c.refuseAll(http3.CodeID) // pushes were not allowed
	default:
		stream.CancelRead(http3.CodeStreamCreation)
	}
}

// readControl reads the control stream, which lasts as long as the connection.
func (c *Conn) readControl(stream io.Reader) {
	var control http3.Control
	buf := make([]byte, 256)
	for {
		n, err := stream.Read(buf)
		if code, wrong := control.Feed(buf[:n]); wrong != nil {
			c.refuseAll(code)
			return
		}
		if from, ok := control.GoAway(); ok && c.goAway.Swap(int64(from)) != int64(from) {
			c.refuse(int64(from))
			c.changed()
		}
		if err != nil {
			c.refuseAll(http3.CodeClosedCritical) // has no effect if the connection has ended
			return
		}
	}
}

// refuseAll ends the connection, because the server breaks the rules.
func (c *Conn) refuseAll(code uint64) {
	_ = c.conn.CloseWithError(quic.ApplicationErrorCode(code), "")
}

// refuse ends the requests that the server will not handle.
func (c *Conn) refuse(from int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.all {
		if int64(s.stream.StreamID()) >= from {
			abandon(s.stream, http3.CodeCanceled)
		}
	}
}

// refused reports whether the server has said that it does not handle a stream.
func (c *Conn) refused(stream *quic.Stream) bool {
	from := c.goAway.Load()
	return from >= 0 && int64(stream.StreamID()) >= from
}

// add notes a stream, and remove forgets it.
func (c *Conn) add(s *Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[s] = true
}

func (c *Conn) remove(s *Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, s)
}

// Leaving reports whether the connection takes no more requests: it has ended, or the server goes away.
func (c *Conn) Leaving() bool {
	return c.goAway.Load() >= 0 || c.over.Load() || c.conn.Context().Err() != nil
}

// Room returns how many more requests may begin: any number. Those that the server does not allow yet wait.
func (c *Conn) Room() int { return math.MaxInt }

// Kept returns how many streams stay open without a request: none.
func (c *Conn) Kept() int { return 0 }

// Address returns that of the server.
func (c *Conn) Address() net.Addr { return c.conn.RemoteAddr() }

// State returns what the connection has of QUIC and TLS.
func (c *Conn) State() quic.ConnectionState { return c.conn.ConnectionState() }

// Allows returns how many of n requests the server allows at a time. It opens streams for them and sends nothing, so the server
// does not learn of them. The connection is good for nothing else afterwards.
func (c *Conn) Allows(n int) (allowed int64) {
	for range n {
		if _, err := c.conn.OpenStream(); err != nil {
			break
		}
		allowed++
	}
	return allowed
}

// Close closes the connection, and notifies the server. Requests on it end.
func (c *Conn) Close() {
	c.stop()
	_ = c.conn.CloseWithError(http3.CodeNoError, "")
}

// received returns how many packets came so far.
func (c *Conn) received() uint64 { return c.conn.ConnectionStats().PacketsReceived }

// probeServer asks the server for a sign of life, unless that was done a moment ago. It returns how many packets had come before;
// false if the server does not take the question.
func (c *Conn) probeServer() (before uint64, ok bool) {
	c.probe.Lock()
	defer c.probe.Unlock()
	if time.Since(c.probed) >= c.patient/2 {
		now := c.received()
		if c.control.TryWriteAll(http3.Padding()) != nil {
			return 0, false
		}
		c.probed, c.before = time.Now(), now
	}
	return c.before, true
}
