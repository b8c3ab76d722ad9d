// Package wire makes the bytes of requests from a targets.Spec, and judges answers, for an engine that owns its sockets.
//
//	err := wire.Validate(spec) // one line that says what to do
//	w, err := wire.New(spec, local)
//	b := w.Step(call.Step).Fill(nil, call) // then write b, and read an answer within w.Limits
//	outcome := w.Outcome(answer, took, err, targets.ClassOther, call.Session)
//
// Each protocol is a file, and a line in registry.go: http, grpc, raw (tcp and udp), redis, ws, noop. A Sender performs
// requests of other schemes (own.go).
//
// Guarantees: a Wire never changes, so any number of goroutines can share it. No error shows a secret.
package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/classes"
	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/http3"
	"github.com/loadctl/loadctl/targets/quic"
)

// A Wire is a target as bytes, for an engine that owns its sockets: where to connect, what to write, and how to classify
// the answer. It never changes, so any number of connections can share it.
type Wire struct {
	Network   string        // "tcp", "udp" or "unix"
	Address   string        // host:port to connect to, after ConnectTo; the port is a number. Or the path of a unix socket
	Name      string        // of the server in TLS: see Secure; "" without TLS
	Request   []byte        // head and body, to be written unchanged; nil if each request has another: see Fill
	Head      bool          // the method is HEAD: no answer has a body
	Close     bool          // a connection carries one request only
	Timeout   time.Duration // of a whole request; never 0
	IdleLimit time.Duration // how long a connection may be idle and still be reused
	LookAfter time.Duration // check a connection that was idle for longer before reusing it: the peer may have closed it
	Opening   int           // how many connections may be opened at the same time, if they are kept; never 0
	Local     []net.IP      // addresses to connect from, in turn; none means that the system chooses
	Halted    func() bool   // Local.Halted, never nil: called before the first byte of a request is written

	// With HTTP/2 a connection carries up to Streams requests at a time; with HTTP/1.1 Streams is 0. Encoded is Request as
	// HTTP/2 sends it.
	Streams int
	Encoded *http2.Request

	// With HTTP/3 too, over QUIC. Frames is Request as HTTP/3 sends it.
	Three  bool
	Frames []byte

	Limits http1.Limits // of an answer; it must be read with these, for Outcome to look at it

	Events *events.Rules // what the events of an answer in pieces are; nil = it has none
	Goals  []events.Goal // what an answer has to meet to count as good

	Redirects int // how many redirects a request follows at most: see Filled and Follow

	scheme  string
	secure  *tls.Config // shared by all steps
	offers  []string    // protocols, in TLS
	follow  redirects
	expect  expectation
	message *message
	filler  filler
	mix     *targets.Mix
	steps   []*Wire

	rests      bool // it is one of noop
	latency    time.Duration
	raw        *rawRules           // of tcp, udp and redis; else nil
	messages   *messages           // of WebSocket; else nil
	credential *targets.Credential // for its handshakes
	own        *own                // of a scheme that is not ours; else nil
}

// Steps returns the Wire of each step of a workload; only w itself if it has none.
func (w *Wire) Steps() []*Wire {
	if w.mix == nil {
		return []*Wire{w}
	}
	return w.steps
}

// Step returns the Wire of a step. Any number of goroutines may call it.
func (w *Wire) Step(step int) *Wire {
	if w.mix == nil {
		return w
	}
	return w.steps[step]
}

// Ahead returns the steps for which the first n connections are opened, if they are opened before any request.
func (w *Wire) Ahead(n int) []int {
	if w.mix == nil {
		return make([]int, n)
	}
	return w.mix.Ahead(n)
}

// New returns the Wire of spec. It fails if spec is not valid, if the URL's scheme has no target, or if something in local
// cannot be used, such as a missing key file. It opens no connection. Shut frees what it has opened for schemes that are not
// ours; others need none. HTTPAuto must be settled: see probe.Settle.
//
// If the spec has flows, the Wire is that of the first step, and Step returns the others. All steps have the same
// Timeout, IdleLimit, LookAfter, Opening, Local and Halted.
func New(spec targets.Spec, local targets.Local) (w *Wire, err error) {
	if err := Validate(spec); err != nil {
		return nil, fmt.Errorf("new target: %w", err)
	}
	if err := cmp.Or(local.Validate(), spec.CheckTables(local.Tables), spec.CheckCredential(local)); err != nil {
		return nil, fmt.Errorf("new target: %w", err)
	}
	if spec.Version() == targets.HTTPAuto {
		return nil, fmt.Errorf("new target: %w", errUnsettled)
	}
	// Reads the client certificate also if there is no TLS: a user who gave an unreadable one must see the error.
	secure, err := NewSecure(spec, local)
	if err != nil {
		return nil, fmt.Errorf("new target: %w", err)
	}
	if local.Trace == "" {
		local.Trace = unknownKey() // the same of all steps
	}
	var first *Wire
	for i, one := range spec.Steps() {
		if targets.IsGRPC(one.URL) && len(one.Descriptors) == 0 {
			return nil, fmt.Errorf("new target: %w", spec.Blame(i, targets.ErrUndescribed))
		}
		w, err := NewStep(one, local, secure)
		if err != nil {
			return nil, fmt.Errorf("new target: %w", spec.Blame(i, err))
		}
		if first == nil {
			first = w
		}
		first.steps = append(first.steps, w)
	}
	if first.mix = spec.Mix(); first.mix == nil {
		first.steps = nil
	}
	if err := first.openSenders(spec, local); err != nil {
		return nil, fmt.Errorf("new target: %w", err)
	}
	return first, nil
}

// NewStep returns the Wire of one step. All steps share the sessions of TLS.
func NewStep(spec targets.Spec, local targets.Local, secure *tls.Config) (w *Wire, err error) {
	p, u, err := protocolOf(spec)
	if err != nil {
		return nil, err
	}
	w = &Wire{
		Timeout: spec.EffectiveTimeout(), IdleLimit: idleLimit, LookAfter: lookAfter, Opening: dialsAtOnce,
		Halted: local.Halted, filler: newFiller(local), secure: secure,
	}
	for _, a := range local.Addresses {
		w.Local = append(w.Local, net.ParseIP(a))
	}
	if w.Halted == nil {
		w.Halted = func() bool { return false }
	}
	return w, p.use(w, spec, u, local)
}

// useHTTP makes the Wire one of http or grpc.
func (w *Wire) useHTTP(spec targets.Spec, u *url.URL, local targets.Local) (err error) {
	if w.follow, err = newRedirects(spec, u, local); err != nil {
		return err
	}
	if w.expect, err = expectationOf(spec); err != nil {
		return err
	}
	m, err := newMessage(spec, u, w.follow.endpoint(u), spec.Parser(local.Tables), local.Credential)
	if err != nil {
		return err
	}
	w.Limits, w.offers = w.expect.limits, protocols(spec)
	w.Limits.Hold = w.expect.hold()
	if err := w.setEvents(spec, w.expect.statuses.Contains); err != nil {
		return err
	}
	if !targets.IsGRPC(spec.URL) {
		w.Redirects = spec.Redirects
	}
	return w.use(m)
}

// use makes requests those of a message.
func (w *Wire) use(m *message) error {
	w.message, w.scheme, w.Request, w.Head, w.Close = m, m.scheme(), m.wire, m.head, m.close
	w.Network, w.Address, w.Name, w.Streams, w.Encoded = m.to.Network, m.to.Address, m.to.Name, m.to.Streams, m.ready
	w.Three, w.Frames = m.to.Use == UseThree, m.frames
	if w.Three {
		if w.Request != nil && w.Frames == nil {
			w.Frames = new(http3.Encoder).Append(nil, w.Request)
		}
		return nil
	}
	if w.Streams == 0 || w.Request == nil || w.Encoded != nil {
		return nil
	}
	w.Encoded = new(http2.Request)
	return w.Encode(w.Encoded, w.Request)
}

// Filled returns the Wire of one request, if requests follow redirects: what that leads to depends on how the request was
// filled. A Wire whose requests are all the same is that of each.
func (w *Wire) Filled(c targets.Call) *Wire {
	if w.Redirects == 0 || w.Request != nil {
		return w
	}
	one := *w
	if err := one.use(w.message.filled(w.filler.request(c), c.Session)); err != nil {
		return w // Encode will say so again
	}
	return &one
}

// Follow returns the Wire of the request that an answer asks for; nil if that is not a redirect. w is what Filled returned,
// or Follow. The error says why it cannot be followed.
func (w *Wire) Follow(a check.Answer, session *targets.Session) (*Wire, error) {
	redirect, ok := a.(interface{ Location() string })
	if !ok || redirect.Location() == "" {
		return nil, nil
	}
	m, err := w.follow.next(w.message, a.Status(), redirect.Location(), session)
	if err != nil {
		return nil, err
	}
	next := *w
	return &next, next.use(m)
}

// lead sets where connections go.
func (w *Wire) lead(spec targets.Spec, u *url.URL) error {
	routes, err := targets.ParseRoutes(spec.ConnectTo)
	w.Network, w.Address = destination(spec, u, routes)
	return err
}

// Fill returns what to write for a call of the Wire's step. It writes into b, over what was there, and grows it if it has
// no room. Any number of goroutines may call it.
func (w *Wire) Fill(b []byte, c targets.Call) []byte {
	switch {
	case w.messages != nil:
		return w.messages.fill(b, w.filler.request(c))
	case w.raw != nil:
		return w.raw.fill(b[:0], w.filler.request(c))
	}
	return w.message.fill(b, w.filler.request(c), c.Session)
}

// Encode makes r of a message that Fill returned, or of Request, for HTTP/2. It uses the memory of r and of the message.
func (w *Wire) Encode(r *http2.Request, message []byte) error {
	if len(message) == 0 {
		return classes.ErrRequest
	}
	r.LongLived = w.message.longLived
	return r.Encode(w.scheme, message)
}

// EncodeThree appends the frames of a message that Fill returned to b, for HTTP/3.
func (w *Wire) EncodeThree(e *http3.Encoder, b, message []byte) ([]byte, error) {
	if len(message) == 0 {
		return nil, classes.ErrRequest
	}
	return e.Append(b, message), nil
}

// QUIC returns how connections of HTTP/3 are opened, to the server Name.
func (w *Wire) QUIC() quic.Options {
	return quic.Options{TLS: w.secure, Timeout: w.Timeout, Idle: w.IdleLimit, Shared: w.Streams > 1}
}

// Secure makes TLS on a connection that was just opened, to the server Name. It takes as long as the connection does. Its
// error is for Outcome. The sessions of earlier connections are resumed.
func (w *Wire) Secure(c net.Conn) (*tls.Conn, error) {
	config := w.secure.Clone()
	config.ServerName, config.NextProtos = w.Name, w.offers
	return Handshake(context.Background(), c, config, w.Streams > 0)
}

// Outcome returns the outcome of a request. a is its answer, with status 0 if there is none; err is the error that ended
// the request; rest is the class if err does not determine it, because the caller knows the phase; took is the time
// from its start, before the connection is opened, to the end of the answer. session gets what the step takes, and
// cookies; it may be nil. The caller adds the bytes: those of a handshake that was refused are in it.
//
// Errors of connecting MUST be a *net.OpError with Op "dial", as those of package net are; those of the system a
// syscall.Errno; an expired deadline os.ErrDeadlineExceeded; a request that was not written because of Halted
// context.Canceled.
func (w *Wire) Outcome(a check.Answer, took time.Duration, err error, rest string, session *targets.Session) targets.Outcome {
	switch {
	case w.rests:
		return targets.Outcome{Class: classes.Of(err, rest)}
	case w.messages != nil:
		return w.messages.outcome(a, took, err, rest, session)
	case w.raw != nil:
		return w.raw.outcome(a, took, err, rest, session)
	case w.own != nil:
		return w.own.outcome(a.(*Asked), err, func() string { return w.own.expect.failed(a, took, session) })
	}
	return w.expect.outcome(a, took, err, rest, session)
}
