package targets

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/targets/template"
)

// httpTarget requests one URL over HTTP/1.1 or HTTP/2, plain or with TLS, or over HTTP/3.
//
// It parses answers with package http1 and owns its connections. http.Transport does more than a load generator may: if
// a reused connection breaks after the write, it sends an idempotent request again, so the server gets two requests for
// one slot. It cannot tell which bytes belong to which request. It passes each request through two goroutines per
// connection, and builds a map of each head that is then thrown away (see the benchmarks). Here the goroutine that
// calls Do writes the prebuilt bytes and reads the answer.
//
// A request is tried again on another connection in two cases only: a reused connection took none of its bytes; or a
// server of HTTP/2 or HTTP/3 says that it did not process it. See session for HTTP/2, and threeSession for HTTP/3.
//
// Compression and proxies from the environment are not used. TLS sessions are resumed. Bytes are
// those of the HTTP messages: heads, bodies and chunk sizes, without the overhead of TLS and TCP. They add up over
// redirects.
type httpTarget struct {
	spec    Spec
	local   Local
	url     *url.URL
	follow  redirects
	expect  expectation
	halted  func() bool
	first   *message // the first request of every Do
	filler  filler
	began   time.Time
	pool    *pool
	buffers sync.Pool // *[]byte, buffers for long answers
	riders  sync.Pool // *rider, for HTTP/2

	credential *Credential
	authorized atomic.Pointer[authorized] // the first message, while only the credential varies
}

// newHTTP is the constructor in the registry. The spec is valid.
func newHTTP(s Spec, local Local, connections *pool) (Target, error) {
	_, u, err := s.kind()
	if err != nil {
		return nil, err
	}
	s = s.ofGRPC()
	t := &httpTarget{spec: s, local: local, url: u, halted: local.Halted, filler: newFiller(local), began: time.Now(), pool: connections, credential: local.Credential}
	if t.halted == nil {
		t.halted = func() bool { return false }
	}
	if t.follow, err = newRedirects(s, u, local); err != nil {
		return nil, err
	}
	if t.expect, err = s.expectation(); err != nil {
		return nil, err
	}
	t.riders.New = newRider
	t.buffers.New = func() any {
		buf := make([]byte, longBuffer)
		return &buf
	}
	if t.first, err = newMessage(s, u, t.follow.endpoint(u), s.parser(local.Tables), local.Credential); err != nil {
		return nil, err
	}
	if t.first.close {
		t.pool.dials = 0 // opening connections is the normal work of such a load
	}
	return t, nil
}

// timeout, bodyLimit and expect are the values in effect.
func (s Spec) timeout() time.Duration { return cmp.Or(s.Timeout, DefaultTimeout) }
func (s Spec) bodyLimit() int64       { return cmp.Or(s.BodyLimit, DefaultBodyLimit) }

// expect is the statuses that count as success.
func (s Spec) expect() string {
	if IsGRPC(s.URL) {
		return cmp.Or(s.Expect, DefaultExpectGRPC)
	}
	return cmp.Or(s.Expect, DefaultExpect)
}

// Do performs one request and follows redirects as far as the spec allows. The call fills the placeholders of the request.
func (t *httpTarget) Do(ctx context.Context, c Call) Outcome {
	if err := ctx.Err(); err != nil {
		return Outcome{Class: classify(err, ClassCanceled)}
	}
	if t.spec.Cookies && c.Session == nil {
		c.Session = new(Session) // for redirects
	}
	a := asking{session: c.Session, began: t.began.Add(time.Since(t.began)), expect: &t.expect, long: &t.buffers, halted: t.halted, riders: &t.riders} // like time.Now, but reads one clock instead of two
	deadline := a.began.Add(t.spec.timeout())
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	a.deadline = deadline
	// One deadline for all hops: redirects do not extend it.
	var out Outcome
	m := t.first
	if m.wire == nil {
		m = t.filled(c)
	}
	if len(m.wire) == 0 {
		return Outcome{Class: classify(errRequest, ClassOther)}
	}
	for hop := 0; ; hop++ {
		location, failed := t.exchange(ctx, deadline, m, &a, &out)
		if out.Class != "" {
			return out
		}
		if location == "" || t.spec.Redirects == 0 {
			out.Class = failed
			return out
		}
		var err error
		if m, err = t.follow.next(m, out.Status, location, c.Session); err != nil || hop == t.spec.Redirects {
			out.Class = ClassRedirect
			return out
		}
	}
}

// filled returns the first message as it is for a call. If only the credential varies, calls share the message until
// there is another one.
func (t *httpTarget) filled(c Call) *message {
	if !t.first.alike {
		return t.first.filled(t.filler.request(c), c.Session)
	}
	now := t.credential.current()
	if last := t.authorized.Load(); last != nil && last.credential == now {
		return last.message
	}
	m := t.first.filled(template.Request{}, nil)
	if t.credential.current() == now { // else m may have either
		t.authorized.Store(&authorized{now, m})
	}
	return m
}

// exchange sends m, reads the answer, and adds the result to out: bytes add up over redirects; status and class are
// those of the last answer. It returns the location of a redirect, "" if the answer is none; and the class of the
// answer if it is the last one, "" if it is as expected.
func (t *httpTarget) exchange(ctx context.Context, deadline time.Time, m *message, a *asking, out *Outcome) (location, failed string) {
	for again := false; ; {
		c, reused, err := t.pool.take(ctx, deadline, m.to)
		if err != nil {
			out.Status, out.Class = 0, classify(blame(ctx, err), ClassOther)
			return "", ""
		}
		if t.halted() {
			t.pool.give(c, true)
			out.Status, out.Class = 0, ClassCanceled
			return "", ""
		}
		r := c.roundTrip(ctx, m, reused, a)
		if r.err == nil {
			t.pool.answered(r.keep)
		}
		t.pool.give(c, r.keep)
		out.Status, out.Class = r.status, classify(blame(ctx, r.err), r.phase)
		out.BytesIn += r.in
		out.BytesOut += r.out
		out.Messages += r.messages
		// The server had hung up before the first byte was written, so no request reached it. On a new connection that
		// is an answer: the server refuses us. On a reused connection, try another one. The loop ends, because each
		// turn uses up an idle connection: this one is not kept.
		if reused && !r.keep && r.err != nil && r.out == 0 && ctx.Err() == nil && time.Now().Before(deadline) {
			continue
		}
		// The server closed a connection of HTTP/2 or HTTP/3 and says that it did not process the request. That counts once.
		if r.again && !again {
			again = true
			continue
		}
		return r.location, r.failed
	}
}

// blame distinguishes two reasons why a connection reaches its deadline: the request took too long, or ctx ended and
// caused it.
func blame(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return ctx.Err()
	}
	return err
}

// endpoint returns where connections for u go.
func (s Spec) endpoint(u *url.URL, by routes) endpoint {
	var to endpoint
	to.network, to.address = s.destination(u, by)
	if u.Scheme == "https" || u.Scheme == "grpcs" {
		to.name = u.Hostname()
	}
	switch s.version() {
	case HTTP2:
		to.streams = s.streams()
	case HTTP3:
		to.network, to.use, to.streams = "udp", useThree, s.streams()
	}
	return to
}

// destination returns the network and the address of connections for u.
func (s Spec) destination(u *url.URL, by routes) (network, address string) {
	if s.UnixSocket != "" {
		return "unix", s.UnixSocket
	}
	return "tcp", by.apply(u.Hostname(), port(u))
}

// port returns the port of u, or the default port of its scheme.
func port(u *url.URL) string {
	k, _ := lookup(u.Scheme)
	return cmp.Or(u.Port(), k.port)
}

// Close closes idle connections now, and the others when their requests end.
func (t *httpTarget) Close() error {
	t.pool.close()
	return nil
}
