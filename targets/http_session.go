package targets

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
)

// Limits of a session.
const (
	sessionBuffer = 16 << 10         // bytes, for reading
	writePatience = 30 * time.Second // for one write that no request waits for
	mostAtOnce    = 16 << 10         // bytes that a request writes itself, if it shares the connection
	lastWords     = time.Second      // for what the peer or we have to say after the other one stopped listening
)

// A session is what a connection of HTTP/2 needs: it carries requests of several goroutines at the same time. Its own
// goroutine reads. If the connection carries one request at a time, the goroutine of that writes it. Else a request writes
// a little at once, and leaves the rest to another goroutine, which writes while there is something to write. So no request
// is held up by the bodies of others, and the requests of a moment leave together.
type session struct {
	conn *conn

	mu      sync.Mutex
	streams *http2.Conn
	waiting []*rider // without a stream yet: the server allows no more
	writing bool     // one goroutine writes
	err     error    // the session has ended, or will when the write returns
	heard   int64    // bytes that came
	doubted bool     // a request got no sign of life in all its time
	broken  error    // of a write: nothing more is sent, but an answer may come

	writeBegan time.Time // the last one

	talks   atomic.Bool   // some of its streams stay open
	parting bool          // the connection is to be closed when the server has ended them
	done    chan struct{} // closed when nothing is read any more
}

// newSession begins HTTP/2 on a connection. It reads until the connection is closed.
func newSession(c *conn) *session {
	s := &session{conn: c, streams: http2.NewConn(http1.Limits{}), done: make(chan struct{})}
	_ = c.raw.SetDeadline(time.Time{}) // each request has its own
	go s.read()
	return s
}

// greet sends our settings before the first request: a server does not wait for them for long.
func (s *session) greet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushLater()
}

// usable reports whether the session takes requests, as far as is known.
func (s *session) usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil && s.broken == nil && !s.doubted && !s.parting && !s.streams.Leaving()
}

// roundTrip sends m, and waits for its answer. The deadline of e, or the end of ctx, ends only this request.
func (s *session) roundTrip(ctx context.Context, m *message, e *asking) (out reply) {
	r := e.riders.Get().(*rider)
	defer e.riders.Put(r)
	r.ready, r.limits, r.halted, r.begun, r.ended, r.replied, r.failed = m.ready, e.expect.limits, e.halted, false, false, false, nil
	if r.ready == nil {
		r.request.Lasting = m.lasting
		if err := r.request.Encode(m.scheme(), m.wire); err != nil {
			return reply{err: err, phase: ClassProtocol, keep: true}
		}
		r.ready = &r.request
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, r)
	s.beginWaiting()
	s.flush(ctx, e.deadline)
	s.mu.Unlock()
	err := s.await(ctx, e.deadline, r)
	out = reply{err: cmp.Or(err, r.failed), phase: ClassProtocol, again: errors.Is(r.failed, http2.ErrUnprocessed)}
	switch {
	case !r.begun:
	case r.stream.Lasts():
		s.told(r, e, &out)
	default:
		s.result(r, e, &out)
	}
	out.keep = s.usable() && !m.close
	return out
}

// result completes the reply to a request that had a stream.
func (s *session) result(r *rider, e *asking, out *reply) {
	a := r.stream
	out.err = cmp.Or(out.err, a.Err())
	out.again = errors.Is(out.err, http2.ErrUnprocessed)
	if errors.Is(out.err, http1.ErrBody) {
		out.err = errBodyLimit
	}
	out.messages = a.Messages()
	took := time.Since(e.began)
	answer := e.expect.view(a)
	out.status, out.location, out.in, out.out = answer.Status(), a.Location(), int64(a.In()), int64(a.Out())
	if out.err = e.expect.late(out.err, took); out.err == nil {
		out.failed = e.expect.failed(answer, took, e.session)
	}
	a.Release()
}

// await waits until a request has ended. An error says that it was given up.
func (s *session) await(ctx context.Context, deadline time.Time, r *rider) (err error) {
	r.timer.Reset(time.Until(deadline))
	defer r.timer.Stop()
	select {
	case <-r.over:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-r.timer.C:
		err = context.DeadlineExceeded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ended { // at the same time
		<-r.over
		return nil
	}
	if r.begun {
		s.streams.Cancel(r.stream)
		stuck := s.writing && time.Since(s.writeBegan) > time.Since(r.at)/2
		s.doubted = s.doubted || (stuck || s.heard == r.heard) && !errors.Is(err, context.Canceled)
	} else {
		s.waiting = slices.DeleteFunc(s.waiting, func(w *rider) bool { return w == r })
	}
	s.beginWaiting()
	s.flushLater()
	return err
}

// beginWaiting begins the requests that wait, as many as the server allows. If it allows no more, ever, they go elsewhere.
// The lock is held.
func (s *session) beginWaiting() {
	for ; len(s.waiting) > 0; s.waiting = slices.Delete(s.waiting, 0, 1) {
		r := s.waiting[0]
		switch {
		case s.err != nil || s.broken != nil:
			r.end(cmp.Or(s.err, s.broken))
		case s.streams.Leaving():
			r.end(http2.ErrUnprocessed)
		case s.streams.Room() == 0:
			return
		case r.halted():
			r.end(context.Canceled)
		default:
			s.begin(r)
		}
	}
}

// flush writes what there is to write, unless another goroutine does, or should. The lock is held, but not during the
// writes. The end of ctx, and the deadline, end the session: half a frame may have been written.
func (s *session) flush(ctx context.Context, deadline time.Time) {
	if s.writing {
		return
	}
	shared := s.conn.to.seats() > 1
	if shared && (len(s.streams.Output()) > mostAtOnce || time.Until(deadline) < lastWords) {
		s.flushLater()
		return
	}
	s.writing = true
	for s.writeNext(ctx, deadline) && !shared {
	}
	s.wroteAll()
	s.flushLater()
}

// flushLater lets another goroutine write what there is to write, unless one does. The lock is held.
func (s *session) flushLater() {
	if s.writing || s.err != nil || s.broken != nil || len(s.streams.Output()) == 0 {
		return
	}
	s.writing, s.writeBegan = true, time.Now()
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for s.writeNext(context.Background(), time.Now().Add(writePatience)) {
		}
		s.wroteAll()
	}()
}

// writeNext writes what there is to write now. It reports whether there may be more. The lock is held, but not during the
// write.
func (s *session) writeNext(ctx context.Context, deadline time.Time) (more bool) {
	if s.err != nil || s.broken != nil {
		return false
	}
	out := s.streams.Output()
	if len(out) == 0 {
		return false
	}
	s.writeBegan = time.Now()
	s.mu.Unlock()
	n, err := s.write(ctx, deadline, out)
	s.mu.Lock()
	s.streams.Wrote(n)
	s.deliver()
	switch {
	case err == nil:
	case isTimeout(err):
		s.fail(err)
	default:
		// The server may have answered before it hung up. That says more than our broken pipe.
		s.broken = err
		_ = s.conn.raw.SetReadDeadline(time.Now().Add(lastWords))
	}
	s.beginWaiting() // there may be room again, or never more
	return true
}

// wroteAll says that no goroutine writes any more. The lock is held.
func (s *session) wroteAll() {
	s.writing = false
	if s.err != nil {
		s.settle()
	}
}

// write writes until the deadline, or the end of ctx.
func (s *session) write(ctx context.Context, deadline time.Time, b []byte) (int, error) {
	_ = s.conn.raw.SetWriteDeadline(deadline)
	s.conn.watch.begin(ctx)
	defer s.conn.watch.finish()
	return s.conn.wire.Write(b)
}

// read reads until the connection ends.
func (s *session) read() {
	defer close(s.done)
	buf := make([]byte, sessionBuffer)
	for {
		n, err := s.conn.wire.Read(buf)
		s.mu.Lock()
		s.heard += int64(n)
		bad := s.streams.Feed(buf[:n])
		s.deliver()
		if bad != nil {
			s.explain()
			err = bad
		}
		if err != nil {
			s.fail(cmp.Or(s.broken, err))
			s.mu.Unlock()
			return
		}
		s.beginWaiting()
		if (s.streams.Leaving() || s.parting) && s.streams.Streams() == 0 && !s.lingers() {
			s.fail(http2.ErrUnprocessed) // of requests that come now: they go elsewhere
			s.mu.Unlock()
			return
		}
		s.flushLater()
		s.mu.Unlock()
	}
}

// explain tells the server what it did wrong, if that is possible at once. The lock is held, but not during the write.
func (s *session) explain() {
	if s.writing {
		return
	}
	s.writing = true
	out := s.streams.Output()
	s.mu.Unlock()
	_, _ = s.write(context.Background(), time.Now().Add(lastWords), out)
	s.mu.Lock()
	s.writing = false
}

// deliver ends the requests that are over, and those whose streams have ended. The lock is held.
func (s *session) deliver() {
	for a := s.streams.Replied(); a != nil; a = s.streams.Replied() {
		r := a.Owner.(*rider)
		r.replied = true
		r.end(nil)
	}
	for a := s.streams.Ended(); a != nil; a = s.streams.Ended() {
		if r := a.Owner.(*rider); !r.ended { // else the reply came before the end
			r.end(nil)
		}
	}
}

// fail ends the session, and its requests as soon as it is clear what was written of them. The lock is held.
func (s *session) fail(err error) {
	s.err = cmp.Or(s.err, err)
	s.conn.raw.Close() // ends a write
	if !s.writing {
		s.settle()
	}
}

// settle ends the requests of a session that has ended. The lock is held.
func (s *session) settle() {
	s.streams.Fail(s.err)
	s.deliver()
	s.beginWaiting()
}
