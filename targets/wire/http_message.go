package wire

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/cookies"
	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/http3"
	"github.com/loadctl/loadctl/targets/template"
)

// A message is a request ready to be written. It never changes, so requests in flight can share it.
type message struct {
	spec   targets.Spec
	url    *url.URL
	to     Endpoint
	wire   []byte         // head and body as sent; nil if they vary from request to request
	ready  *http2.Request // wire for HTTP/2, if it is sent many times
	frames []byte         // the same for HTTP/3
	head   bool           // the method is HEAD: the answer has no body
	close  bool           // the connection is not reused

	target     template.Text   // path and query
	text, body template.Text   // if they vary: the head up to the length of the body or the signature, or all of it; the body
	values     []template.Text // of the headers of the spec
	sized      bool            // the head has a length
	place      cookies.Place   // for cookies; without a path if that varies
	cookies    []template.Text // of the request itself, if Spec.Cookies: then text ends before all cookies
	signer     *signer         // writes the head from the length of the body on; nil = the message is not signed
	parse      targets.Parser
	request    template.Request // for which wire was filled
	calls      *grpc.Method     // what the body is a message of; nil = it is sent as it is
	longLived  *http2.LongLived // how requests share streams that stay open; nil = each has a stream of its own
}

// literally parses what was filled already, or comes from a server.
func literally(s string, _ uint64) (template.Text, error) { return template.Literal(s), nil }

// newMessage builds the request of s for u. Headers keep their order and case, so a server sees what the user wrote.
// It fails only if parse does, or Spec.Auth is wrong.
func newMessage(s targets.Spec, u *url.URL, to Endpoint, parse targets.Parser, credential *targets.Credential) (*message, error) {
	s = ofGRPC(s)
	m := &message{spec: s, url: u, to: to, head: s.EffectiveMethod() == http.MethodHead, close: s.NoKeepAlive, parse: parse}
	given := func(name string) bool { return len(targets.HeaderValues(s.Headers, name)) > 0 }
	if err := m.find(); err != nil {
		return nil, err
	}
	target, err := sentTarget(s, u, parse)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	m.target = target
	add := func(format string, a ...any) { m.text = m.text.Then(template.Literal(fmt.Sprintf(format, a...))) }
	add("%s ", s.EffectiveMethod())
	m.text = m.text.Then(target)
	add(" HTTP/1.1\r\n")
	if !given("Host") {
		add("Host: %s\r\n", hostHeader(u))
	}
	if !given("User-Agent") {
		add("User-Agent: loadctl\r\n")
	}
	line, err := s.Authorization(u, credential)
	if err != nil {
		return nil, err
	}
	m.text = m.text.Then(line)
	for _, h := range m.grpcHeaders() {
		add("%s: %s\r\n", h.Name, h.Value)
	}
	if err := m.addHeaders(); err != nil {
		return nil, err
	}
	// A server that was asked to close need not say that it will.
	for _, v := range targets.HeaderValues(s.Headers, "Connection") {
		m.close = m.close || strings.EqualFold(strings.TrimSpace(v), "close")
	}
	if s.NoKeepAlive && !given("Connection") {
		add("Connection: close\r\n")
	}
	m.text = m.text.Then(traced(s))
	if m.body, err = parse(string(s.Body), targets.SaltBody); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	m.sized = !targets.IsGRPC(s.URL) && (len(s.Body) > 0 || expectsBody(s.EffectiveMethod()))
	if s.Cookies {
		m.place = m.placeOf(u)
	}
	switch m.signer, err = newSigner(m, credential); {
	case err != nil:
		return nil, err
	case m.signer != nil, s.Cookies:
		return m, nil // each request has another signature, and each flow other cookies
	}
	m.text = m.text.Then(template.Literal(m.end()))
	if err := m.describe(); err != nil {
		return nil, err
	}
	if !m.text.Varies() && !m.body.Varies() {
		m.wire = m.fill(nil, m.request, nil)
		m.text, m.body = template.Text{}, template.Text{} // wire has it all, and a body may be long
		return m, m.prepare()
	}
	return m, nil
}

// addHeaders adds the headers of the spec.
func (m *message) addHeaders() error {
	for i, h := range m.spec.Headers {
		value, err := m.parse(h.Value, targets.SaltHeaders+uint64(i))
		if err != nil {
			return fmt.Errorf("header %s: %w", h.Name, err)
		}
		m.values = append(m.values, value)
		if m.spec.Cookies && isCookie(h) {
			m.cookies = append(m.cookies, value)
			continue
		}
		m.text = m.text.Then(template.Literal(h.Name + ": ")).Then(value).Then(template.Literal("\r\n"))
	}
	return nil
}

// prepare encodes a message for HTTP/2 or HTTP/3 that does not vary.
func (m *message) prepare() error {
	switch m.spec.Version() {
	case targets.HTTP2:
		m.ready = &http2.Request{LongLived: m.longLived}
		return m.ready.Encode(m.scheme(), m.wire)
	case targets.HTTP3:
		m.frames = new(http3.Encoder).Append(nil, m.wire)
	}
	return nil
}

// end returns the end of the head, up to the length of the body.
func (m *message) end() string {
	if m.sized {
		return "Content-Length: "
	}
	return "\r\n"
}

// fill writes the message into b, over what was there. One buffer, so that small requests leave in one segment, with
// one call. The session has the cookies, and notes where the request goes; it may be nil.
func (m *message) fill(b []byte, r template.Request, session *targets.Session) []byte {
	b = m.text.Append(b[:0], r)
	if m.spec.Cookies {
		b = m.addCookies(b, r, session)
	}
	switch {
	case m.signer != nil:
		return m.sign(b, r)
	case m.spec.Cookies:
		b = append(b, m.end()...)
	}
	if m.calls != nil {
		return m.appendCall(b, r)
	}
	if !m.sized {
		return b
	}
	const widest = len("9223372036854775807\r\n\r\n")
	at := len(b)
	from := at + widest
	b = m.body.Append(append(b, make([]byte, widest)...), r)
	size := append(strconv.AppendInt(b[at:at], int64(len(b)-from), 10), "\r\n\r\n"...)
	return b[:at+len(size)+copy(b[at+len(size):], b[from:])]
}

// filled returns a message that varies as it is for one request of a session.
func (m *message) filled(r template.Request, session *targets.Session) *message {
	f := *m
	f.request, f.wire = r, m.fill(nil, r, session)
	return &f
}

// filledSpec returns the spec with headers and body as they are in the filled message, for a redirect.
func (m *message) filledSpec() targets.Spec {
	s := m.spec
	s.Headers = slices.Clone(s.Headers)
	for i := range s.Headers {
		s.Headers[i].Value = string(m.values[i].Append(nil, m.request))
	}
	if len(s.Body) == 0 {
		return s
	}
	body := m.body
	if !body.Varies() {
		body, _ = m.parse(string(s.Body), targets.SaltBody) // without an error: newMessage has parsed it
	}
	s.Body = body.Append(nil, m.request)
	return s
}

// target returns path and query of u as they are sent (RFC 9112, 3.2), with the placeholders of the spec's URL, which
// u was parsed from. Literally there are none.
func sentTarget(s targets.Spec, u *url.URL, parse targets.Parser) (template.Text, error) {
	// A raw query may contain spaces, which would end the request target early.
	sent := strings.ReplaceAll(u.RequestURI(), " ", "%20")
	text, err := parse(s.URL, targets.SaltURL)
	if err != nil || !text.Varies() {
		return template.Literal(sent), err
	}
	literals := strings.Split(sent, targets.URLStandIn)
	if len(literals) != len(text.Literals()) {
		return text, errors.New("placeholders may stand in path and query only")
	}
	return text.WithLiterals(literals), nil
}

// filledURL returns the URL of a filled message: a redirect is relative to it.
func (m *message) filledURL() *url.URL {
	u := *m.url
	if sent, err := url.ParseRequestURI(string(m.target.Append(nil, m.request))); err == nil {
		u.Path, u.RawPath, u.RawQuery = sent.Path, sent.RawPath, sent.RawQuery
	}
	return &u
}

// expectsBody reports whether a server may insist on a length even if the body is empty (RFC 9110, 8.6).
func expectsBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// hostHeader returns the host for the Host header. It leaves out the zone of an IPv6 address, which names an interface
// of this machine.
func hostHeader(u *url.URL) string {
	before, zone, ok := strings.Cut(u.Host, "%")
	if !ok || !strings.HasPrefix(before, "[") {
		return u.Host
	}
	_, after, _ := strings.Cut(zone, "]")
	return before + "]" + after
}
