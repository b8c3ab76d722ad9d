package targets

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/loadctl/loadctl/targets/http3"
)

// threeTarget requests one URL over HTTP/3. Requests, redirects and what is expected of answers are those of httpTarget;
// only the connections differ. Each carries up to Spec.Streams requests at the same time.
//
// The QUIC is that of quic-go, and the HTTP/3 on it is package http3: a stream is written once, so nothing is sent
// twice. QUIC itself repeats packets that were lost, and a server sees their bytes once. A request is tried on another
// connection only if the first one had no stream for it, or, once, if the server went away and says that it did not
// process it. There is no 0-RTT, because its requests can be repeated by
// others.
//
// Bytes are those of the frames on the streams of requests, without the overhead of QUIC and UDP.
type threeTarget struct {
	*httpTarget
	sessions *threePool
	frames   []byte    // of the first request; nil if it varies
	writers  sync.Pool // of *frameWriter, for requests that vary
}

// ErrNoQUIC says that no server answered. Over UDP silence is all that tells it, whatever the reason.
var ErrNoQUIC = errors.New("nothing there answers in HTTP/3 over UDP")

// A frameWriter makes the frames of a request.
type frameWriter struct {
	encoder http3.Encoder
	buf     []byte
}

// newThree makes an httpTarget one of HTTP/3.
func newThree(t *httpTarget, connections *pool) *threeTarget {
	three := &threeTarget{httpTarget: t, sessions: connections.sessions}
	three.writers.New = func() any { return new(frameWriter) }
	if t.first.wire != nil {
		three.frames = new(http3.Encoder).Append(nil, t.first.wire)
	}
	if t.first.close {
		three.sessions.dials = 0 // opening connections is the normal work of such a load
	}
	t.send = three.exchange
	return three
}

// checkThree checks what HTTP/3 needs beyond other versions.
func checkThree(s Spec, u *url.URL) error {
	switch {
	case s.version() != HTTP3:
		return nil
	case u.Scheme != "https":
		return errors.New("http: HTTP/3 needs https; write https:// in the URL, or leave out --http 3")
	case s.UnixSocket != "":
		return errors.New("unix socket: HTTP/3 goes over UDP; leave one of them out")
	}
	return nil
}

// exchange is that of httpTarget.
func (t *threeTarget) exchange(ctx context.Context, deadline time.Time, m *message, a *asking, out *Outcome) (location, failed string) {
	frames := t.frames
	if m != t.first || frames == nil {
		w := t.writers.Get().(*frameWriter)
		defer t.writers.Put(w)
		w.buf = w.encoder.Append(w.buf[:0], m.wire)
		frames = w.buf
	}
	for moved := false; ; {
		l, reused, err := t.sessions.take(ctx, deadline, m.to)
		if err != nil {
			out.Status, out.Class = 0, classify(blame(ctx, err), ClassOther)
			return "", ""
		}
		r := l.roundTrip(ctx, deadline, frames, m, t.halted, a)
		t.sessions.give(l, r.keep)
		out.Status, out.Class = r.status, classify(blame(ctx, r.err), r.phase)
		out.BytesIn += r.in
		out.BytesOut += r.out
		// Either the connection had ended, so there was no stream for the request; then the loop ends, because each turn
		// uses up a connection that was idle. Or the server says that it did not process it (RFC 9114, section 5.2).
		again := reused && errors.Is(r.err, errHungUp) || !moved && errors.Is(r.err, errGoAway)
		if !again || ctx.Err() != nil || !time.Now().Before(deadline) {
			return r.location, r.failed
		}
		moved = moved || errors.Is(r.err, errGoAway)
	}
}

// Reach makes a QUIC handshake with the endpoint, and closes the connection: no request is sent.
func (t *threeTarget) Reach(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	s, err := t.sessions.dialer.dial(ctx, deadline, t.first.to)
	if err != nil {
		if classify(err, "") == ClassTimeout {
			return fmt.Errorf("dial udp %s: %w", t.first.to.address, ErrNoQUIC)
		}
		return err
	}
	s.close()
	return nil
}

// Opening reports whether requests wait because the maximum number of connections is being opened.
func (t *threeTarget) Opening() bool { return t.sessions.opening() }

// Preconnect opens connections as that of httpTarget does.
func (t *threeTarget) Preconnect(ctx context.Context, n int, every time.Duration) int {
	return preconnect(ctx, t.spec.timeout(), n, every, func(ctx context.Context, deadline time.Time) bool {
		return t.sessions.fill(ctx, deadline, t.first.to)
	})
}

// Dropped returns how many datagrams this machine threw away because they came faster than they were read: those at the
// sockets of all steps of the workload, since their start.
func (t *threeTarget) Dropped() int64 { return t.sessions.dialer.dropped() }

// Close closes idle connections now, and the others when their requests end.
func (t *threeTarget) Close() error {
	t.sessions.close()
	return nil
}
