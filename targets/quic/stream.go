package quic

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/http3"
)

// Sizes in bytes.
const (
	readBuffer = 4 << 10  // for each stream
	longBuffer = 32 << 10 // for longer answers, shared by all streams of a Dialer
	writtenAt  = 64 << 10 // what is written at a time: it counts when it was taken whole
)

// A Request is what a Stream sends, and how it reads the answer.
type Request struct {
	Frames  []byte // the Stream uses them until it has ended
	Head    bool   // the method is HEAD: no body follows
	Limits  http1.Limits
	Timeout time.Duration // after which the caller cancels it
	Halted  func() bool   // called before the first byte is written: then nothing is, and the error is context.Canceled
	Now     func() int64  // the clock of First, ns; any goroutine may call it
}

// A Stream performs one request after the other. The zero value is ready. It implements check.Answer.
//
// Between Begin and the call of done nothing of it may be used but Cancel. After Cancel the answer is what had come, and
// the Stream cannot be used for another request.
type Stream struct {
	Owner any // for the caller

	conn    *Conn
	request Request
	answer  http3.Response
	buf     []byte
	asks    *time.Timer // calls ask
	ends    time.Time   // when the caller cancels it

	mu             sync.Mutex
	stream         *quic.Stream       // nil until the server allows it
	stop           context.CancelFunc // ends the wait for that
	canceled       bool
	over           bool
	receivedBefore uint64 // packets that had come when the request began, or before the server was last asked for a sign of life
	in, out        int
	err            error
}

// Begin begins a request on a connection. done is called at its end, by another goroutine, unless it is canceled before.
func (s *Stream) Begin(c *Conn, r Request, done func(*Stream)) {
	s.mu.Lock()
	s.conn, s.request, s.ends = c, r, time.Now().Add(r.Timeout)
	s.stream, s.over, s.in, s.out, s.err = nil, false, 0, 0, nil
	s.receivedBefore = math.MaxUint64 // a request without a stream says nothing about the server
	if s.asks == nil {
		s.asks = time.AfterFunc(time.Hour, s.ask)
		s.asks.Stop()
	}
	s.mu.Unlock()
	s.answer.Begin(r.Limits, r.Head)
	go func() {
		err := s.exchange()
		s.asks.Stop()
		s.mu.Lock()
		s.over, s.err = true, err
		canceled := s.canceled
		s.mu.Unlock()
		if !canceled {
			done(s)
		}
	}()
}

// Cancel ends the request. done may be called nevertheless, if that has begun.
func (s *Stream) Cancel() {
	s.mu.Lock()
	s.canceled = true
	stream, stop, over := s.stream, s.stop, s.over
	s.mu.Unlock()
	switch {
	case over:
	case stream != nil:
		abandon(stream, http3.CodeCanceled)
	case stop != nil:
		stop()
	}
}

// Canceled reports whether Cancel was called.
func (s *Stream) Canceled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.canceled
}

// Look calls f, while no goroutine reads the answer.
func (s *Stream) Look(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Linger makes the request wait for the rest of its answer at most so long. Only the Sink of the answer may call it.
func (s *Stream) Linger(most time.Duration) { _ = s.stream.SetReadDeadline(time.Now().Add(most)) }

// Silent reports whether nothing came on the connection since the request began, or since the server was last asked for a
// sign of life. A QUIC connection ends only after a long silence.
func (s *Stream) Silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.received() == s.receivedBefore
}

// Err returns why there is no whole answer; nil if there is. It is http2.ErrUnprocessed if the server says that it did not
// process the request.
func (s *Stream) Err() error { return s.err }

// In returns the bytes that came, those of frames.
func (s *Stream) In() int { return s.in }

// Out returns the bytes that the stream took, those of frames.
func (s *Stream) Out() int { return s.out }

// First is when the first byte of the answer came, by Request.Now; 0 = none came.
func (s *Stream) First() int64 { return s.answer.Began }

// Fields calls f for each header that was kept, in their order, until f returns false.
func (s *Stream) Fields(f func(name, value string) bool) { s.answer.Fields(f) }

// StaysOpen reports whether the stream stays open after its request: it does not.
func (s *Stream) StaysOpen() bool { return false }

// Status implements check.Answer.
func (s *Stream) Status() int { return s.answer.Status() }

// Content implements check.Answer.
func (s *Stream) Content() []byte { return s.answer.Content() }

// Length implements check.Answer.
func (s *Stream) Length() int64 { return s.answer.Length() }

// Field implements check.Answer.
func (s *Stream) Field(name string) []string { return s.answer.Field(name) }

// Location returns where a redirect leads; "" if the answer is none.
func (s *Stream) Location() string { return s.answer.Location() }

// Release frees what a large answer has taken.
func (s *Stream) Release() { s.answer.Release() }

// abandon ends both directions of a stream.
func abandon(stream *quic.Stream, code uint64) {
	stream.CancelRead(quic.StreamErrorCode(code))
	stream.CancelWrite(quic.StreamErrorCode(code))
}

// exchange sends the request, and reads the answer. The error is that of Err.
func (s *Stream) exchange() error {
	c := s.conn
	stream, err := s.open()
	if err != nil {
		c.lost(err)
		return err
	}
	c.add(s)
	defer c.remove(s)
	switch {
	case c.refused(stream): // GOAWAY came in the meantime
		err = http2.ErrUnprocessed
	case s.request.Halted():
		err = context.Canceled
	}
	if err != nil {
		abandon(stream, http3.CodeCanceled)
		return err
	}
	unwritten := s.write()
	// A server may answer before it has read the whole body. What it answers, or why it does not, says more than our
	// broken stream.
	err = s.receive()
	c.lost(unwritten)
	c.lost(err)
	code, broken := http3.Fault(err)
	switch {
	case broken:
		c.refuseAll(code)
	case err != nil || unwritten != nil:
		abandon(stream, code)
	}
	if e, ok := errors.AsType[*quic.StreamError](err); ok && !e.Remote && c.refused(stream) {
		return http2.ErrUnprocessed
	}
	return err
}

// lost notes the end of the connection, if that is why a stream failed. Its context may report it later.
func (c *Conn) lost(err error) {
	if errors.Is(err, net.ErrClosed) {
		c.over.Store(true)
	}
}

// open opens the stream, and waits until the server allows another one.
func (s *Stream) open() (*quic.Stream, error) {
	stream, err := s.conn.conn.OpenStream()
	if _, full := errors.AsType[*quic.StreamLimitReachedError](err); full {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		s.mu.Lock()
		if s.stop = stop; s.canceled {
			stop()
		}
		s.mu.Unlock()
		stream, err = s.conn.conn.OpenStreamSync(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.canceled {
		abandon(stream, http3.CodeCanceled)
		return nil, context.Canceled
	}
	s.stream, s.stop, s.receivedBefore = stream, nil, s.conn.received()
	s.askLater()
	return stream, nil
}

// askLater plans the next question, if there is time for an answer to it. The lock is held.
func (s *Stream) askLater() {
	if patient := s.conn.patient; time.Until(s.ends) >= patient*3/2 {
		s.asks.Reset(patient)
	}
}

// ask asks the server for a sign of life while a request waits. That also keeps the connection: servers end those that are
// silent for long, though a request is under way.
func (s *Stream) ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.canceled {
		return
	}
	if before, ok := s.conn.probeServer(); ok {
		s.receivedBefore = before
	}
	s.askLater()
}

// write writes the frames, and the end of the stream.
func (s *Stream) write() error {
	for rest := s.request.Frames; len(rest) > 0; {
		n, err := s.stream.Write(rest[:min(len(rest), writtenAt)])
		rest = rest[n:]
		s.mu.Lock()
		if !s.canceled {
			s.out += n
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	_ = s.stream.Close() // fails if the server wants no more; its answer says so
	if s.conn.shared {
		// Go runs the goroutine woken last first: that of the connection, which would send a datagram for this request
		// alone. Behind this one it comes after the other requests that are ready, and sends them together.
		go func() {}()
	}
	return nil
}

// receive reads the answer, to the end of the stream.
func (s *Stream) receive() error {
	if s.buf == nil {
		s.buf = make([]byte, readBuffer)
	}
	for buf := s.buf; ; {
		n, err := s.stream.Read(buf)
		ended := errors.Is(err, io.EOF)
		switch bad := s.feed(buf[:n], ended); {
		case bad != nil:
			return bad
		case ended:
			return nil
		case err != nil:
			return err
		}
		if n == readBuffer && len(buf) == readBuffer {
			larger := s.conn.buffers.Get().(*[]byte)
			defer s.conn.buffers.Put(larger)
			buf = *larger
		}
	}
}

// feed adds what has come to the answer, unless the caller wants no more of it.
func (s *Stream) feed(b []byte, ended bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.canceled {
		return context.Canceled
	}
	s.in += len(b)
	if (s.answer.Began == 0 || s.request.Limits.Sink != nil) && len(b) > 0 {
		s.answer.At = s.request.Now()
	}
	if s.answer.Began == 0 {
		s.answer.Began = s.answer.At
	}
	err := s.answer.Feed(b)
	if err == nil && ended {
		err = s.answer.End()
	}
	return err
}
