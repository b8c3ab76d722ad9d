package targets

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
)

// A rider is a request on a session.
type rider struct {
	stream  *http2.Stream // own, or one that stays open
	own     http2.Stream
	request http2.Request // if each one is different
	ready   *http2.Request
	limits  http1.Limits
	halted  func() bool

	over  chan struct{} // has room for one: the request has ended, or will never begin
	timer *time.Timer
	begun bool      // it has a stream
	at    time.Time // when it began
	heard int64     // session.heard then
	ended bool      // over was sent

	resumed bool // other requests had its stream before
	replied bool // the stream stays open, and had the reply, or took the message if none is expected
	failed  error
}

// newRider returns a rider for a pool.
func newRider() any {
	r := &rider{over: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	r.timer.Stop()
	return r
}

// begin gives a rider a stream: one that is kept, or a new one. The lock is held.
func (s *session) begin(r *rider) {
	r.begun, r.at, r.heard = true, time.Now(), s.heard
	r.stream = s.streams.Resume(r.ready)
	if r.resumed = r.stream != nil; r.resumed {
		r.stream.Owner = r
		return
	}
	r.stream = &r.own
	if r.ready.Lasting != nil {
		r.stream = new(http2.Stream) // it outlives the request
	}
	r.stream.Owner = r
	s.streams.Open(r.stream, r.ready, r.limits)
}

// end lets the goroutine of a rider go on. The lock is held.
func (r *rider) end(err error) {
	r.failed, r.ended = err, true
	r.over <- struct{}{}
}

// told completes the reply to a request on a stream that stays open, and keeps the stream if it can carry another one.
func (s *session) told(r *rider, e *asking, out *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := r.stream
	if !r.replied {
		out.err = cmp.Or(out.err, a.Err())
	}
	out.again = errors.Is(out.err, http2.ErrUnprocessed) && !r.resumed
	told := e.expect.told(a, time.Since(e.began), out.err, out.phase, e.session)
	out.status, out.in, out.out, out.messages = told.Status, int64(a.In()), int64(a.Out()), a.Messages()
	if out.err == nil {
		out.failed = told.Class
	} else {
		out.phase = told.Class
	}
	if errors.Is(out.err, http1.ErrBody) {
		out.err = errBodyLimit
	}
	if r.replied {
		s.talks.Store(true)
		s.streams.Keep(a)
	}
}

// part ends streams that stay open, before the connection is closed. It reports whether the session closes the connection
// itself, when the server has ended them too, or after a moment. The connection carries no requests.
func (s *session) part() bool {
	if !s.talks.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.broken != nil || s.doubted || !s.lingers() {
		return false
	}
	s.parting = true
	s.flush(context.Background(), time.Now().Add(lastWords))
	return s.err == nil && s.broken == nil
}

// lingers ends our side of streams that stay open, if that was not done. It reports whether the server has to end its side
// yet. The lock is held.
func (s *session) lingers() bool {
	if s.streams.Kept() > 0 {
		s.streams.Finish()
		_ = s.conn.raw.SetReadDeadline(time.Now().Add(lastWords))
	}
	return s.streams.Finishing() > 0
}
