package wire

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/reply"
	"github.com/loadctl/loadctl/targets/template"
	"github.com/loadctl/loadctl/targets/ws"
)

// messages is what a request to ws or wss is, and which message is its reply. It never changes.
type messages struct {
	sends   bool // a request is a message; else it is the handshake
	answers bool // a reply is expected
	rule    reply.Rule
	limit   int64 // bytes of a message
	keeps   int   // bytes of a message that checks, takes and the rule look at
	expect  expectation

	head   string                          // of the handshake, with its stands; see newHead
	varies func(r template.Request) string // the head for a request; nil = it is always the same
	text   template.Text                   // of the message
	op     ws.Opcode
}

// newMessages returns what a valid spec says.
func newMessages(s targets.Spec, u *url.URL, tables targets.Tables) (m *messages, err error) {
	m = &messages{sends: len(s.Body) > 0, limit: s.EffectiveBodyLimit(), op: ws.Text}
	if m.expect, err = newRawExpectation(s); err != nil {
		return nil, err
	}
	if m.rule, err = reply.Parse(s.Reply); err != nil {
		return nil, err
	}
	m.answers, m.keeps = m.rule.Expected, m.expect.limits.Content
	if m.rule.Pattern != nil {
		m.keeps = check.Most
	}
	if m.text, err = s.Parser(tables)(string(s.Body), targets.SaltBody); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if s.Binary || !utf8.Valid(s.Body) {
		m.op = ws.Binary
	}
	return m, m.newHead(s, u, tables)
}

// fill writes the frame of a request into b, over what was there; nothing if the request is the handshake. Each frame has
// another key.
func (m *messages) fill(b []byte, r template.Request) []byte {
	if !m.sends {
		return b[:0]
	}
	return ws.AppendFilled(b[:0], m.op, func(b []byte) []byte { return m.text.Append(b, r) }, ws.NewKey())
}

// Bounds implements ws.Rule.
func (m *messages) Bounds() (limit int64, keep int) { return m.limit, m.keeps }

// Fits implements ws.Rule.
func (m *messages) Fits(r *ws.Reader, seen *int) bool {
	if m.rule.Pattern != nil {
		return m.rule.Pattern.Match(r.Content())
	}
	*seen++
	return *seen == max(1, m.rule.Messages)
}

// status returns the status of a request whose connection is open.
func (m *messages) status() int {
	if m.sends {
		return 0
	}
	return http.StatusSwitchingProtocols
}

// checkWS checks the spec of a ws or wss target.
func checkWS(s targets.Spec, u *url.URL) error {
	switch {
	case u.Fragment != "":
		return errors.New("url: ws has no #; leave out what begins there")
	case s.Method != "":
		return errors.New("method: ws has none; leave it out")
	case s.Expect != "":
		return errors.New("expect: the handshake of ws always wants 101; leave it out")
	case len(s.Body) == 0 && !s.NoKeepAlive:
		return errors.New("body: is missing; give a message, or --no-keep-alive to open a connection for each request and send nothing")
	}
	for _, check := range []func() error{
		func() error { return targets.CheckHost(u) }, func() error { return checkLimits(s) }, func() error { return checkTrust(s) },
		func() error { return checkRouting(s) }, func() error { return checkHandshake(s) }, func() error { return checkMessages(s) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkHandshake checks what the handshake has.
func checkHandshake(s targets.Spec) error {
	if err := targets.CheckHeaders(s.Headers); err != nil {
		return err
	}
	for _, h := range s.Headers {
		switch http.CanonicalHeaderKey(h.Name) {
		case "Connection", "Upgrade", "Sec-Websocket-Key", "Sec-Websocket-Version":
			return fmt.Errorf("header %s: follows from the protocol; leave it out", h.Name)
		case "Sec-Websocket-Extensions":
			return fmt.Errorf("header %s: no extension is supported, and so no compression; leave it out", h.Name)
		}
	}
	if a, err := targets.ParseAuth(s.Auth); err == nil && a.Kind == targets.AuthSigV4 {
		return errors.New("auth: sigv4 is for http; of ws give basic, bearer or oauth2")
	}
	if s.NoKeepAlive {
		return nil
	}
	if t, err := s.Parser(nil)(s.URL, targets.SaltURL); err == nil && t.Varies() {
		return errors.New("url: a connection carries many messages, so its URL has no placeholders; put them into the body, or give --no-keep-alive")
	}
	for i, h := range s.Headers {
		if t, err := s.Parser(nil)(h.Value, targets.SaltHeaders+uint64(i)); err == nil && t.Varies() {
			return fmt.Errorf("header %s: a connection carries many messages, so its headers have no placeholders; put them into the body, or give --no-keep-alive", h.Name)
		}
	}
	return nil
}

// checkMessages checks what is sent and expected after the handshake.
func checkMessages(s targets.Spec) error {
	if _, err := newRawExpectation(s); err != nil {
		return err
	}
	if rule, _ := reply.Parse(s.Reply); rule.Count > 0 || len(rule.Until) > 0 || rule.End {
		return errors.New("reply: over ws a message tells where it ends; write any, messages N or matches /REGEX/")
	}
	return nil
}

// sharedWS refuses settings that all requests share and WebSocket does not have.
func sharedWS(s targets.Spec) error {
	s.Auth, s.Trace = "", false
	return sharedBare(s)
}

// newHead sets how connections are opened: by the head of a handshake (RFC 6455, 4.1). Connections with equal heads are
// interchangeable.
func (m *messages) newHead(s targets.Spec, u *url.URL, tables targets.Tables) error {
	s.Method, s.Body, s.NoKeepAlive, s.Cookies = http.MethodGet, nil, false, false
	s.Headers = append(slices.Clip(s.Headers), targets.Header{Name: "Connection", Value: "Upgrade"}, targets.Header{Name: "Upgrade", Value: "websocket"},
		targets.Header{Name: "Sec-WebSocket-Version", Value: "13"}, targets.Header{Name: "Sec-WebSocket-Key", Value: ws.KeyStandIn})
	request, err := newMessage(s, u, Endpoint{}, s.Parser(tables), targets.StandInCredential(ws.CredentialStandIn))
	if err != nil {
		return err
	}
	if request.wire != nil {
		m.head = string(request.wire)
		return nil
	}
	m.head = string(request.fill(nil, template.Request{}, nil))
	for _, text := range append(slices.Clone(request.values), request.target, traced(s)) {
		if text.Varies() {
			m.varies = func(r template.Request) string { return string(request.fill(nil, r, nil)) }
		}
	}
	return nil
}
