package targets

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"

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

// gone reports whether a stream failed since its connection has ended. The context of the connection may tell it later.
func gone(err error) bool { return errors.Is(err, net.ErrClosed) }

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
		return reply{err: err, phase: ClassOther, keep: s.usable() && !gone(err)}
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
		// A server may answer before it has read the whole body. What it answers, or why it does not, says more than our
		// broken stream.
		l.receive(m, a, &r)
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
	r.keep = s.usable() && !gone(r.err) && !gone(err) && !silent && !m.close
	r.err = s.told(r.err, stream)
	r.again = errors.Is(r.err, errGoAway)
	return r
}
