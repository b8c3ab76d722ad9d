package targets

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http3"
)

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
