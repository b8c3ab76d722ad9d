package targets

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http3"
)

// A threeSession is a connection of HTTP/3. Its pool owns the fields behind goAway.
type threeSession struct {
	to     endpoint
	conn   *quic.Conn
	shared bool         // it carries several requests at a time
	goAway atomic.Int64 // from this stream on the server handles no requests; -1 = it has not said so

	mu   sync.Mutex // guards all
	all  []*lane    // in use or not
	stop context.CancelFunc

	active    int // requests
	dead      bool
	free      []*lane
	idleSince time.Time
}

// A lane carries one request at a time on a session. It keeps what is expensive to make.
type lane struct {
	session *threeSession
	stream  *quic.Stream // of the present request
	number  atomic.Int64 // of that stream; -1 = there is none
	watch   watch
	answer  http3.Response
	buf     []byte
}

// newThreeSession begins HTTP/3 on a connection.
func newThreeSession(to endpoint, conn *quic.Conn, shared bool) (*threeSession, error) {
	s := &threeSession{to: to, conn: conn, shared: shared, idleSince: time.Now()}
	s.goAway.Store(-1)
	control, err := conn.OpenUniStream()
	if err == nil {
		_, err = control.Write(http3.Preface())
	}
	if err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(conn.Context())
	go s.accept(ctx)
	return s, nil
}

// accept reads what the server sends beside answers, until the connection ends.
func (s *threeSession) accept(ctx context.Context) {
	for {
		stream, err := s.conn.AcceptUniStream(ctx)
		if err != nil {
			return
		}
		go s.read(stream)
	}
}

// read reads a stream of the server. Those of QPACK have nothing for a client without a dynamic table, and are left
// unread: what a server may send on them is bounded by the window.
func (s *threeSession) read(stream *quic.ReceiveStream) {
	kind, err := quicvarint.Read(quicvarint.NewReader(stream))
	switch {
	case err != nil, kind == http3.StreamEncoder, kind == http3.StreamDecoder:
	case kind == http3.StreamControl:
		s.readControl(stream)
	default: // RFC 9114, section 6.2.3
		stream.CancelRead(http3.CodeStreamCreation)
	}
}

// readControl reads the control stream, which lasts as long as the connection.
func (s *threeSession) readControl(stream io.Reader) {
	var c http3.Control
	buf := make([]byte, 256)
	for {
		n, err := stream.Read(buf)
		if code, wrong := c.Feed(buf[:n]); wrong != nil {
			_ = s.conn.CloseWithError(quic.ApplicationErrorCode(code), "")
			return
		}
		if from, ok := c.GoAway(); ok && s.goAway.Swap(int64(from)) != int64(from) {
			s.refuse(int64(from))
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				_ = s.conn.CloseWithError(http3.CodeClosedCritical, "")
			}
			return
		}
	}
}

// refuse ends the requests that the server will not handle.
func (s *threeSession) refuse(from int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.all {
		l.watch.mu.Lock()
		if l.number.Load() >= from {
			l.stream.CancelRead(http3.CodeCanceled)
		}
		l.watch.mu.Unlock()
	}
}

// refuses reports whether the server has said that it will not handle a stream.
func (s *threeSession) refuses(stream *quic.Stream) bool {
	from := s.goAway.Load()
	return from >= 0 && int64(stream.StreamID()) >= from
}

// usable reports whether a session can take another request, as far as is known.
func (s *threeSession) usable() bool {
	return s.goAway.Load() < 0 && s.conn.Context().Err() == nil && (s.active > 0 || time.Since(s.idleSince) <= idleLimit)
}

// lane returns a lane that is free, or a new one. The lock of the pool is held.
func (s *threeSession) lane() *lane {
	if last := len(s.free) - 1; last >= 0 {
		l := s.free[last]
		s.free = s.free[:last]
		return l
	}
	l := &lane{session: s, buf: make([]byte, readBuffer)}
	l.number.Store(-1)
	// A deadline in the past wakes readers and writers.
	l.watch.interrupt = func() { _ = l.stream.SetDeadline(time.Unix(1, 0)) }
	s.mu.Lock()
	s.all = append(s.all, l)
	s.mu.Unlock()
	return l
}

// close closes the connection, and tells the server.
func (s *threeSession) close() {
	s.stop()
	_ = s.conn.CloseWithError(http3.CodeNoError, "")
	for _, l := range s.all {
		l.watch.close()
	}
}

// received returns how many packets came so far.
func (s *threeSession) received() uint64 { return s.conn.ConnectionStats().PacketsReceived }

// roundTrip writes the frames of m on a stream of its own, and reads and checks the answer. The end of ctx ends it.
func (l *lane) roundTrip(ctx context.Context, deadline time.Time, frames []byte, m *message, halted func() bool, a *asking) (r reply) {
	stream, err := l.session.open(ctx, deadline)
	if err != nil {
		return reply{err: err, phase: ClassOther}
	}
	if halted() {
		stream.CancelWrite(http3.CodeCanceled)
		stream.CancelRead(http3.CodeCanceled)
		return reply{err: context.Canceled, keep: true}
	}
	before := l.session.received()
	_ = stream.SetDeadline(deadline) // never fails
	l.begin(ctx, stream)
	if l.session.refuses(stream) { // it said so while we waited for the stream
		l.finish()
		stream.CancelWrite(http3.CodeCanceled)
		stream.CancelRead(http3.CodeCanceled)
		return reply{err: errGoAway}
	}
	n, writeErr := stream.Write(frames)
	r.out = int64(n)
	if writeErr == nil {
		writeErr = stream.Close()
	}
	if l.session.shared {
		// Go runs the goroutine woken last first: that of the connection, which would send a datagram for this request
		// alone. Behind this one it comes after the other requests that are ready, and sends them together.
		go func() {}()
	}
	if writeErr != nil && isTimeout(writeErr) {
		r.err, r.phase = writeErr, ClassOther
	} else {
		// A server may answer before it has read the whole body. Its answer says more than our broken stream.
		l.receive(m, a, &r)
		if r.err != nil && writeErr != nil {
			r.err = writeErr
		}
	}
	interrupted := l.finish()
	if r.err != nil || writeErr != nil {
		stream.CancelRead(http3.CodeCanceled)
		stream.CancelWrite(http3.CodeCanceled)
	}
	// The next request would wait in vain for a server that is gone: a QUIC connection ends only after a long silence.
	silent := r.err != nil && (isTimeout(r.err) || interrupted) && l.session.received() == before
	r.keep = !silent && !m.close
	r.err = l.told(r.err, stream)
	return r
}

// begin notes the present stream.
func (l *lane) begin(ctx context.Context, stream *quic.Stream) {
	l.watch.mu.Lock()
	l.stream = stream
	l.number.Store(int64(stream.StreamID()))
	l.watch.mu.Unlock()
	l.watch.begin(ctx)
}

// finish forgets it, and reports whether the request was interrupted.
func (l *lane) finish() bool {
	l.number.Store(-1)
	return l.watch.finish()
}

// open returns a stream, and waits until the server allows another one.
func (s *threeSession) open(ctx context.Context, deadline time.Time) (*quic.Stream, error) {
	stream, err := s.conn.OpenStream()
	if _, full := errors.AsType[*quic.StreamLimitReachedError](err); full {
		limit, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		stream, err = s.conn.OpenStreamSync(limit)
		if err != nil && limit.Err() != nil {
			return nil, limit.Err()
		}
	}
	if err != nil {
		return nil, errHungUp
	}
	return stream, nil
}

// receive reads the answer into r, and checks it.
func (l *lane) receive(m *message, a *asking, r *reply) {
	l.answer.Begin(a.expect.limits, m.head)
	r.phase = ClassProtocol
	r.in, r.err = l.readAnswer(a.long)
	if errors.Is(r.err, http1.ErrBody) {
		r.err = errBodyLimit
	}
	r.status, r.location = l.answer.Status(), l.answer.Location()
	if r.err == nil {
		r.failed = a.expect.failed(&l.answer, time.Since(a.began), a.session)
	}
	l.answer.Release()
}

// readAnswer reads to the end of the stream.
func (l *lane) readAnswer(long *sync.Pool) (in int64, err error) {
	buf := l.buf
	for {
		n, readErr := l.stream.Read(buf)
		in += int64(n)
		if err := l.answer.Feed(buf[:n]); err != nil {
			return in, err
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return in, l.answer.End()
		case readErr != nil:
			return in, readErr
		}
		if n == readBuffer && len(buf) == readBuffer {
			larger := long.Get().(*[]byte)
			defer long.Put(larger)
			buf = *larger
		}
	}
}

// told replaces an error of QUIC by one that has the class of what happened.
func (l *lane) told(err error, stream *quic.Stream) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*quic.StreamError](err); ok {
		if !e.Remote && l.session.refuses(stream) {
			return errGoAway
		}
		return resetError{http3.CodeName(uint64(e.ErrorCode))}
	}
	return toldQUIC(err)
}

// toldQUIC does so for the end of a connection.
func toldQUIC(err error) error {
	if e, ok := errors.AsType[*quic.ApplicationError](err); ok {
		switch {
		case !e.Remote:
			return errControlStream
		case e.ErrorCode == http3.CodeNoError || e.ErrorCode == 0:
			return io.ErrUnexpectedEOF
		}
		return resetError{http3.CodeName(uint64(e.ErrorCode))}
	}
	if e, ok := errors.AsType[*quic.TransportError](err); ok {
		switch {
		case e.ErrorCode.IsCryptoError():
			if wrong, ours := errors.AsType[*tls.CertificateVerificationError](err); ours {
				return handshakeError{wrong} // it says more than the code
			}
			return handshakeError{err}
		case e.ErrorCode == quic.ConnectionRefused:
			return &net.OpError{Op: "dial", Net: "udp", Err: err}
		case e.ErrorCode == quic.NoError && e.Remote:
			return io.ErrUnexpectedEOF
		case !e.Remote:
			return errQUIC
		case e.ErrorCode <= quic.NoViablePathError:
			return resetError{e.ErrorCode.String()}
		}
		return resetError{}
	}
	if _, ok := errors.AsType[*quic.StatelessResetError](err); ok {
		return resetError{}
	}
	if _, ok := errors.AsType[*quic.VersionNegotiationError](err); ok {
		return errQUIC
	}
	return err
}

// errGoAway says that the server went away and did not process the request.
var errGoAway = resetError{"GOAWAY"}

// Errors of a server that breaks the rules. They have no class of their own: it is ClassProtocol, by the phase.
var (
	errQUIC          = errors.New("the server does not follow QUIC")
	errControlStream = errors.New("the control stream of the server is malformed")
)

// A resetError says that the server gave up a request or its connection, and why; "" if the reason has no name.
type resetError struct{ name string }

func (e resetError) Error() string { return "the server reset the stream: " + e.name }

func (e resetError) class() string {
	if e.name == "" {
		return ClassReset
	}
	return ClassReset + " " + e.name
}
