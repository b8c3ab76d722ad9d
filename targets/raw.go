package targets

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/template"
)

// mostDatagram is the largest payload of UDP over IPv4, in bytes.
const mostDatagram = 65_507

// noPort is the port of a scheme that has no usual one: the URL must name a port.
const noPort = "0"

// rawTarget sends bytes over TCP or UDP, and reads the reply if one is expected. Each connection or socket carries one
// request at a time, and only a reply that was read whole leaves it for another one. Bytes are those of payloads and
// replies. What arrives when no reply is expected is thrown away, and not counted.
//
// The rules of httpTarget hold here too: a request is tried on another connection only if the first one took none of
// its bytes. A UDP socket that had no reply in time is closed, so that a late reply cannot be taken for another one's.
type rawTarget struct {
	rawRules
	timeout time.Duration
	later   bool // the payload may have what earlier steps took
	halted  func() bool
	filler  filler
	began   time.Time
	pool    *pool
	talk    func(ctx context.Context, c *conn, reused bool, payload []byte, a *asking) reply
	login   func(r template.Request) string // of the endpoint; nil = it does not vary

	readings sync.Pool // of reading
	buffers  sync.Pool // *[]byte, for long replies
	payloads sync.Pool // *[]byte, for payloads that vary
}

// rawRules is what a request of tcp, udp or redis is, and how its reply is read. It never changes.
type rawRules struct {
	to       endpoint
	once     bool   // a connection carries one request
	answers  bool   // a reply is expected
	fixed    []byte // the payload; nil if it varies
	fill     func(b []byte, r template.Request) []byte
	expect   expectation
	newReply func() reading
}

// checkRaw checks the spec of a tcp or udp target.
func checkRaw(s Spec, u *url.URL) error {
	if err := checkAddress(u); err != nil {
		return err
	}
	if u.User != nil || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("url: %s has neither login nor path; write %s://HOST:PORT", u.Scheme, u.Scheme)
	}
	if err := s.checkBare(u.Scheme); err != nil {
		return err
	}
	if _, err := newRawExpectation(s); err != nil {
		return err
	}
	switch rule, _ := parseReply(s.Reply); {
	case rule.messages > 0 || rule.end:
		return fmt.Errorf("reply: %s has no messages and no streams; write any, bytes N, until TEXT or matches /REGEX/", u.Scheme)
	case u.Scheme == "udp" && s.UnixSocket != "":
		return errors.New("unix socket: udp has none; leave it out, or write tcp://")
	case u.Scheme == "udp" && len(s.Body) > mostDatagram:
		return fmt.Errorf("body: a datagram has at most %d bytes; send less", mostDatagram)
	case u.Scheme == "udp" && rule.count > 0 && rule.count > s.bodyLimit():
		return fmt.Errorf("reply: %d bytes are more than the body limit", rule.count)
	case u.Scheme == "tcp" && len(s.Body) == 0 && !s.NoKeepAlive:
		return errors.New("body: is missing; give what to send, or --no-keep-alive to open a connection for each request and send nothing")
	}
	return checkRouting(s)
}

// checkAddress checks that a URL has a host and a port, as far as its scheme needs them, and nothing after the path.
func checkAddress(u *url.URL) error {
	k, _ := lookup(u.Scheme)
	switch {
	case u.Hostname() == "" || u.Opaque != "" || k.port == noPort && u.Port() == "":
		return fmt.Errorf("url: names no host and port; write %s://HOST:PORT", u.Scheme)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("url: %s has neither ? nor #; leave out what begins there", u.Scheme)
	}
	return checkHost(u)
}

// checkBare refuses what only HTTP has, of one request.
func (s Spec) checkBare(scheme string) error {
	switch {
	case s.Method != "":
		return fmt.Errorf("method: %s has none; leave it out", scheme)
	case len(s.Headers) > 0:
		return fmt.Errorf("header: %s has none; leave them out", scheme)
	case s.Expect != "":
		return fmt.Errorf("expect: %s has no statuses; leave it out", scheme)
	}
	return checkLimits(s)
}

// sharedRaw refuses what only HTTP has, of the settings that all requests share.
func sharedRaw(s Spec) error {
	for _, x := range []struct {
		name  string
		given bool
	}{{"insecure", s.Insecure}, {"cacert", s.CA != ""}} {
		if x.given {
			return fmt.Errorf("%s: tcp and udp have no TLS; leave it out", x.name)
		}
	}
	return sharedBare(s)
}

// sharedBare refuses settings that all requests share and only other schemes have.
func sharedBare(s Spec) error {
	for _, x := range []struct {
		name, owners string
		given        bool
	}{
		{"auth", "http, grpc and ws", s.Auth != ""}, {"redirects", "http and https", s.Redirects != 0}, {"cookies", "http and https", s.Cookies},
		{"http", "http and https", s.HTTP != ""}, {"streams", "http and grpc", s.Streams != 0},
	} {
		if x.given {
			return fmt.Errorf("%s: only %s have that; leave it out", x.name, x.owners)
		}
	}
	return nil
}

// newRawExpectation returns what is expected of a reply without statuses and headers.
func newRawExpectation(s Spec) (e expectation, err error) {
	rule, err := parseReply(s.Reply)
	if err != nil {
		return e, fmt.Errorf("reply: %w", err)
	}
	if e, err = bareExpectation(s); err == nil && !rule.expected && (e.checks.Body() || len(e.takes) > 0) {
		err = errors.New("check: no reply is expected; say where it ends with --reply, or leave out checks and takes of it")
	}
	return e, err
}

// bareExpectation returns what is expected of a reply, whatever its form.
func bareExpectation(s Spec) (e expectation, err error) {
	if e.checks, err = check.Parse(s.Checks); err != nil {
		return e, fmt.Errorf("check: %w", err)
	}
	if e.checks.Statuses() || e.checks.Fields() {
		return e, errors.New("check: only http and grpc have statuses and headers; check body, json, size or time")
	}
	e.statuses = statuses{{0, 0}}
	e.limits.Content = e.checks.Content()
	if err := e.addTakes(s); err != nil {
		return e, err
	}
	if e.limits.Fields {
		return e, errors.New("take: only http and grpc have headers, and only http has cookies; take json or regex")
	}
	return e, nil
}

// newRaw is the constructor of tcp and udp in the registry. The spec is valid.
func newRaw(s Spec, local Local, connections *pool) (Target, error) {
	rules, err := newRawRules(s, local.Tables)
	if err != nil {
		return nil, err
	}
	t := newBare(s, local, connections, rules)
	t.later = len(s.taken) > len(s.takes)
	return t, nil
}

// newRawRules returns the rules of a valid spec of tcp or udp.
func newRawRules(s Spec, tables Tables) (rawRules, error) {
	r, u, err := newBareRules(s)
	if err != nil {
		return r, err
	}
	r.to.use = useRaw
	if u.Scheme == "udp" {
		r.to.network = "udp"
	}
	if r.expect, err = newRawExpectation(s); err != nil {
		return r, err
	}
	rule, err := parseReply(s.Reply)
	if err != nil {
		return r, err
	}
	limit, content := s.bodyLimit(), r.expect.limits.Content
	r.answers, r.newReply = rule.expected, func() reading { return newPlainReading(&rule, limit, content) }
	body, err := s.parser(tables)(string(s.Body), saltBody)
	if err != nil {
		return r, fmt.Errorf("body: %w", err)
	}
	r.pay(body.Varies(), body.Append)
	return r, nil
}

// newBareRules returns what all rules have in common of requests without methods and headers.
func newBareRules(s Spec) (r rawRules, u *url.URL, err error) {
	if _, u, err = s.kind(); err != nil {
		return r, nil, err
	}
	routes, err := parseRoutes(s.ConnectTo)
	if err != nil {
		return r, nil, err
	}
	r.once = s.NoKeepAlive
	r.to.network, r.to.address = s.destination(u, routes)
	return r, u, nil
}

// newBare returns a target with these rules.
func newBare(s Spec, local Local, connections *pool, rules rawRules) *rawTarget {
	t := &rawTarget{rawRules: rules, timeout: s.timeout(), halted: local.Halted, filler: newFiller(local), began: time.Now(), pool: connections}
	if t.halted == nil {
		t.halted = func() bool { return false }
	}
	t.talk = t.exchange
	if t.once {
		t.pool.dials = 0 // opening connections is the normal work of such a load
	}
	t.readings.New = func() any { return t.newReply() }
	t.payloads.New = func() any { return new([]byte) }
	t.buffers.New = func() any {
		buf := make([]byte, 64<<10) // a whole datagram
		return &buf
	}
	return t
}

// pay sets the payload.
func (r *rawRules) pay(varies bool, fill func(b []byte, r template.Request) []byte) {
	if r.fill = fill; !varies {
		r.fixed = fill([]byte{}, template.Request{})
	}
}

// Do sends one payload, and reads the reply. The call fills the placeholders.
func (t *rawTarget) Do(ctx context.Context, call Call) (out Outcome) {
	if err := ctx.Err(); err != nil {
		return Outcome{Class: classify(err, ClassCanceled)}
	}
	began := t.began.Add(time.Since(t.began)) // like time.Now, but reads one clock instead of two
	deadline := began.Add(t.timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	payload, to := t.fixed, t.to
	if payload == nil || t.login != nil {
		buf := t.payloads.Get().(*[]byte)
		defer t.payloads.Put(buf)
		request := t.filler.request(call)
		*buf = t.fill((*buf)[:0], request)
		payload = *buf
		if t.login != nil {
			to.login = t.login(request)
		}
	}
	a := asking{session: call.Session, began: began, expect: &t.expect, long: &t.buffers}
	for {
		c, reused, err := t.pool.take(ctx, deadline, to)
		if err != nil {
			refused(err, &out)
			out.Class = classify(blame(ctx, err), ClassOther)
			return out
		}
		if t.halted() {
			t.pool.give(c, true)
			out.Class = ClassCanceled
			return out
		}
		r := t.talk(ctx, c, reused, payload, &a)
		if r.err == nil {
			t.pool.answered(r.keep)
		}
		t.pool.give(c, r.keep)
		out.Status, out.BytesIn, out.BytesOut, out.Messages = r.status, out.BytesIn+r.in, out.BytesOut+r.out, out.Messages+r.messages
		// The peer had hung up before the first byte was written. The loop ends, because each turn uses up an idle
		// connection.
		if reused && errors.Is(r.err, errHungUp) && ctx.Err() == nil && time.Now().Before(deadline) {
			continue
		}
		if out.Class = classify(blame(ctx, r.err), r.phase); out.Class == "" {
			out.Class = r.failed
		}
		return out
	}
}

// exchange sends a payload on a connection, whose deadline is set, and reads the reply.
func (t *rawTarget) exchange(ctx context.Context, c *conn, reused bool, payload []byte, a *asking) (r reply) {
	c.watch.begin(ctx)
	n, earlier, err := t.write(c, reused, payload)
	r.out, r.err, r.keep, r.phase = int64(n), err, err == nil, ClassProtocol
	switch {
	case err != nil && (n == 0 || !t.answers || isTimeout(err)):
		r.phase = ClassOther
	case !t.answers:
		r.failed = t.expect.failed(new(kept), time.Since(a.began), a.session)
		if r.err = earlier; earlier != nil {
			r.keep = false
		}
	default:
		// A server may answer and hang up before it has read the whole payload.
		if t.receive(c, a, &r); r.err != nil && err != nil {
			r.err = err
		}
	}
	r.keep = !c.watch.finish() && r.keep && r.err == nil && err == nil && !t.once
	return r
}

// write writes the payload. It looks at a reused connection first. earlier is an error that belongs to a datagram sent
// before on the same socket: nobody waited for a reply to that.
func (t *rawTarget) write(c *conn, reused bool, payload []byte) (n int, earlier, err error) {
	switch {
	case !reused:
	case !t.answers:
		err := c.raw.drain(c.buf, t.to.network == "udp")
		if err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			return 0, nil, errHungUp
		}
		earlier = err
	case len(payload) > 0 && len(payload) <= oneRecord:
		c.raw.expect()
	case c.hungUp():
		return 0, nil, errHungUp
	}
	if len(payload) > 0 || t.to.network == "udp" {
		n, err = c.wire.Write(payload)
	}
	return n, earlier, err
}

// receive reads the reply into r, and checks it.
func (t *rawTarget) receive(c *conn, a *asking, r *reply) {
	reading := t.readings.Get().(reading)
	defer t.readings.Put(reading)
	reading.begin()
	if r.err = t.read(c, reading, a, r); r.err != nil {
		r.keep = false
		return
	}
	c.raw.answered()
	if r.failed = reading.refusal(); r.failed == "" {
		r.failed = t.expect.failed(reading, time.Since(a.began), a.session)
	}
}

// read reads to the end of the reply. Bytes beyond it are ignored; then the connection is not reused. Those of the same
// datagram are not beyond it.
func (t *rawTarget) read(c *conn, reading reading, a *asking, r *reply) error {
	datagrams := t.to.network == "udp"
	buf := c.buf
	larger := func() {
		long := a.long.Get().(*[]byte)
		buf = *long
	}
	if datagrams {
		larger()
	}
	defer func() {
		if len(buf) > readBuffer {
			a.long.Put(&buf)
		}
	}()
	for {
		room := buf
		if !datagrams {
			room = buf[:reading.room(len(buf))]
		}
		n, readErr := c.wire.Read(room)
		r.in += int64(n)
		if n > 0 || readErr == nil {
			used, done, err := reading.feed(room[:n])
			if err != nil {
				return err
			}
			if done {
				r.keep = readErr == nil && (used == n || datagrams)
				return nil
			}
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return io.ErrUnexpectedEOF
		case readErr != nil:
			return readErr
		}
		if n == len(buf) && n == readBuffer {
			larger()
		}
	}
}

// Opening reports whether requests wait because the maximum number of connections is being opened.
func (t *rawTarget) Opening() bool { return t.pool.opening() }

// Preconnect opens connections as that of httpTarget does.
func (t *rawTarget) Preconnect(ctx context.Context, n int, every time.Duration) int {
	return t.pool.preconnect(ctx, t.to, t.timeout, n, every)
}

func (t *rawTarget) leads() endpoint { return t.to }

// Close closes idle connections now, and the others when their requests end.
func (t *rawTarget) Close() error {
	t.pool.close()
	return nil
}

// HasHeaders reports whether requests to a URL have a method, headers and a status, as those of HTTP have. An unknown
// scheme is taken for one that has.
func HasHeaders(raw string) bool {
	scheme, _, _ := strings.Cut(raw, ":")
	k, known := lookup(strings.ToLower(scheme))
	return !known || !k.bare
}

// checkShared refuses settings of all requests that none of them uses.
func (s Spec) checkShared() error {
	var first error
	for _, one := range s.steps() {
		k, _, err := one.kind()
		if err != nil || k.shared == nil {
			return err
		}
		if err = k.shared(s); err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// ReadHex reads bytes written as hex digits, in pairs, with or without space between them.
func ReadHex(text string) ([]byte, error) {
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, errors.New("write pairs of hex digits, such as 50 49 4e 47 0a")
	}
	return b, nil
}
