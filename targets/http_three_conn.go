package targets

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http3"
)

// A threeSession is what a connection of HTTP/3 needs: it carries requests of several goroutines at the same time, each in
// a lane.
//
// The QUIC is that of quic-go, and the HTTP/3 on it is package http3: a stream is written once, so nothing is sent twice.
// QUIC itself repeats packets that were lost, and a server sees their bytes once. A request is tried on another connection
// only if the first one took none of its bytes, or, once, if the server went away and says that it did not process it.
// There is no 0-RTT, because others can repeat its requests.
//
// Bytes are those of the frames on the streams of requests, without the overhead of QUIC and UDP.
type threeSession struct {
	conn    *quic.Conn
	control *quic.SendStream
	shared  bool          // it carries several requests at a time
	patient time.Duration // for how long a request waits before the server is asked for a sign of life
	goAway  atomic.Int64  // from this stream on the server handles no requests; -1 = it has not said so
	known   atomic.Bool   // the control stream of the server has come
	stop    context.CancelFunc
	left    func() // is called at the end

	mu   sync.Mutex
	all  []*lane // in use or not
	free []*lane

	asking sync.Mutex
	asked  time.Time // when the server was last asked for a sign of life
	before uint64    // packets that had come then
}

// newThreeSession begins HTTP/3 on a connection.
func newThreeSession(conn *quic.Conn, shared bool, patient time.Duration, left func()) (*threeSession, error) {
	s := &threeSession{conn: conn, shared: shared, patient: patient, left: left}
	s.goAway.Store(-1)
	control, err := conn.OpenUniStream()
	if err == nil {
		_, err = control.Write(http3.Preface())
	}
	if err != nil {
		return nil, err
	}
	var ctx context.Context
	s.control = control
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

// read reads a stream of the server (RFC 9114, section 6.2). Those of QPACK have nothing for a client without a dynamic
// table, and are left unread: what a server may send on them is bounded by the window.
func (s *threeSession) read(stream *quic.ReceiveStream) {
	kind, err := quicvarint.Read(quicvarint.NewReader(stream))
	switch {
	case err != nil, kind == http3.StreamEncoder, kind == http3.StreamDecoder:
	case kind == http3.StreamControl && s.known.CompareAndSwap(false, true):
		s.readControl(stream)
	case kind == http3.StreamControl:
		s.refuseAll(http3.CodeStreamCreation) // there is one already
	case kind == http3.StreamPush:
		s.refuseAll(http3.CodeID) // pushes were not allowed
	default:
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
			s.refuseAll(code)
			return
		}
		if from, ok := c.GoAway(); ok && s.goAway.Swap(int64(from)) != int64(from) {
			s.refuse(int64(from))
		}
		if err != nil {
			s.refuseAll(http3.CodeClosedCritical) // has no effect if the connection has ended
			return
		}
	}
}

// refuseAll ends the connection, because the server breaks the rules.
func (s *threeSession) refuseAll(code uint64) {
	_ = s.conn.CloseWithError(quic.ApplicationErrorCode(code), "")
}

// refuse ends the requests that the server will not handle.
func (s *threeSession) refuse(from int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.all {
		l.watch.mu.Lock()
		if l.number >= from {
			abandon(l.stream, http3.CodeCanceled)
		}
		l.watch.mu.Unlock()
	}
}

// refused reports whether the server has said that it does not handle a stream.
func (s *threeSession) refused(stream *quic.Stream) bool {
	from := s.goAway.Load()
	return from >= 0 && int64(stream.StreamID()) >= from
}

// usable reports whether a session can take another request, as far as is known.
func (s *threeSession) usable() bool { return s.goAway.Load() < 0 && s.conn.Context().Err() == nil }

// take returns a lane that is free, or a new one.
func (s *threeSession) take() *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.free) - 1; last >= 0 {
		l := s.free[last]
		s.free = s.free[:last]
		return l
	}
	l := newLane(s)
	s.all = append(s.all, l)
	return l
}

// give takes a lane back.
func (s *threeSession) give(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, l)
}

// close closes the connection, and tells the server. No request is under way.
func (s *threeSession) close() {
	s.stop()
	_ = s.conn.CloseWithError(http3.CodeNoError, "")
	s.mu.Lock()
	for _, l := range s.all {
		l.watch.close()
	}
	s.mu.Unlock()
	s.left()
}

// received returns how many packets came so far.
func (s *threeSession) received() uint64 { return s.conn.ConnectionStats().PacketsReceived }

// ask asks the server for a sign of life, unless that was done a moment ago. It returns how many packets had come before;
// false if the server does not take the question.
func (s *threeSession) ask() (before uint64, ok bool) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if time.Since(s.asked) >= s.patient/2 {
		now := s.received()
		if s.control.TryWriteAll(http3.Padding()) != nil {
			return 0, false
		}
		s.asked, s.before = time.Now(), now
	}
	return s.before, true
}

// open returns a stream, and waits until the server allows another one. It fails if the connection has ended.
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
		return nil, toldQUIC(err)
	}
	return stream, nil
}

// roundTrip sends m on a stream of its own, and reads and checks the answer. The deadline of a, or the end of ctx, ends
// only this request. The connection is kept unless it has ended, or gave no sign of life.
func (s *threeSession) roundTrip(ctx context.Context, m *message, a *asking) (r reply) {
	stream, err := s.open(ctx, a.deadline)
	if err != nil {
		return reply{err: err, phase: ClassOther, keep: s.usable()}
	}
	l := s.take()
	defer s.give(l)
	l.begin(ctx, stream, a.deadline)
	switch {
	case s.refused(stream): // GOAWAY came in the meantime
		err = errGoAway
	case a.halted():
		err = context.Canceled
	}
	if err != nil {
		l.finish()
		abandon(stream, http3.CodeCanceled)
		return reply{err: err, phase: ClassOther, keep: s.usable(), again: errors.Is(err, errGoAway)}
	}
	r.out, err = l.write(m)
	if err != nil && isTimeout(err) {
		r.err, r.phase = err, ClassOther
	} else {
		// A server may answer before it has read the whole body. Its answer says more than our broken stream.
		l.receive(m, a, &r)
		if r.err != nil && err != nil {
			r.err = err
		}
	}
	l.finish()
	code, broken := http3.Fault(r.err)
	switch {
	case broken:
		s.refuseAll(code)
	case r.err != nil || err != nil:
		abandon(stream, code)
	}
	// The next request would wait in vain for a server that is gone: a QUIC connection ends only after a long silence.
	silent := isTimeout(r.err) && !errors.Is(ctx.Err(), context.Canceled) && s.received() == l.heard
	r.keep = s.usable() && !silent && !m.close
	r.err = s.told(r.err, stream)
	r.again = errors.Is(r.err, errGoAway)
	return r
}

// abandon ends both directions of a stream.
func abandon(stream *quic.Stream, code uint64) {
	stream.CancelRead(quic.StreamErrorCode(code))
	stream.CancelWrite(quic.StreamErrorCode(code))
}

// A lane carries one request at a time on a session. It keeps what is expensive to make.
type lane struct {
	session *threeSession
	stream  *quic.Stream // of the present request
	watch   watch
	encoder http3.Encoder
	frames  []byte // if each request is different
	answer  http3.Response
	buf     []byte
	asks    *time.Timer // calls ask

	// Guarded by the lock of watch.
	number   int64 // of the stream; -1 = there is no request
	deadline time.Time
	heard    uint64 // packets that had come when the request began, or before the server was last asked for a sign of life
}

func newLane(s *threeSession) *lane {
	l := &lane{session: s, buf: make([]byte, readBuffer), number: -1}
	// A deadline in the past wakes readers and writers.
	l.watch.interrupt = func() { _ = l.stream.SetDeadline(time.Unix(1, 0)) }
	l.asks = time.AfterFunc(time.Hour, l.ask)
	l.asks.Stop()
	return l
}

// begin notes the present stream.
func (l *lane) begin(ctx context.Context, stream *quic.Stream, deadline time.Time) {
	_ = stream.SetDeadline(deadline) // never fails
	l.watch.mu.Lock()
	l.stream, l.number, l.deadline, l.heard = stream, int64(stream.StreamID()), deadline, l.session.received()
	l.askLater()
	l.watch.mu.Unlock()
	l.watch.begin(ctx)
}

// askLater plans the next question, if there is time for an answer to it. The lock of watch is held.
func (l *lane) askLater() {
	if time.Until(l.deadline) >= l.session.patient*3/2 {
		l.asks.Reset(l.session.patient)
	}
}

// ask asks the server for a sign of life while a request waits. That also keeps the connection: servers end those that are
// silent for long, though a request is under way.
func (l *lane) ask() {
	l.watch.mu.Lock()
	defer l.watch.mu.Unlock()
	if l.number < 0 {
		return // it has ended
	}
	if before, ok := l.session.ask(); ok {
		l.heard = before
	}
	l.askLater()
}

// finish forgets the stream. After it nothing interrupts the request, and heard stays.
func (l *lane) finish() {
	l.asks.Stop()
	l.watch.mu.Lock()
	l.number = -1
	l.watch.mu.Unlock()
	l.watch.finish()
}

// write writes the frames of m, and the end of the stream. It returns how many bytes were taken.
func (l *lane) write(m *message) (int64, error) {
	frames := m.frames
	if frames == nil {
		l.frames = l.encoder.Append(l.frames[:0], m.wire)
		frames = l.frames
	}
	n, err := l.stream.Write(frames)
	if err == nil {
		_ = l.stream.Close() // fails if the server wants no more; its answer tells
	}
	if cap(l.frames) > longBuffer {
		l.frames = nil
	}
	if l.session.shared {
		// Go runs the goroutine woken last first: that of the connection, which would send a datagram for this request
		// alone. Behind this one it comes after the other requests that are ready, and sends them together.
		go func() {}()
	}
	return int64(n), err
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
