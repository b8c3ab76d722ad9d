package targets

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/template"
	"github.com/loadctl/loadctl/targets/ws"
)

// messages is what a request to ws or wss is, and which message is its reply. It never changes.
type messages struct {
	sends   bool // a request is a message; else it is the handshake
	answers bool // a reply is expected
	rule    replyRule
	limit   int64 // bytes of a message
	keeps   int   // bytes of a message that checks, takes and the rule look at
	expect  expectation

	head   string                          // of the handshake, with its stands; see newHead
	varies func(r template.Request) string // the head for a request; nil = it is always the same
	text   template.Text                   // of the message
	op     ws.Opcode
}

// newMessages returns what a valid spec says.
func newMessages(s Spec, u *url.URL, tables Tables) (m *messages, err error) {
	m = &messages{sends: len(s.Body) > 0, limit: s.bodyLimit(), op: ws.Text}
	if m.expect, err = newRawExpectation(s); err != nil {
		return nil, err
	}
	if m.rule, err = parseReply(s.Reply); err != nil {
		return nil, err
	}
	m.answers, m.keeps = m.rule.expected, m.expect.limits.Content
	if m.rule.pattern != nil {
		m.keeps = check.Most
	}
	if m.text, err = s.parser(tables)(string(s.Body), saltBody); err != nil {
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

// fits reports whether a message is the reply. seen counts messages since the request.
func (m *messages) fits(r *ws.Reader, seen *int) bool {
	if m.rule.pattern != nil {
		return m.rule.pattern.Match(r.Content())
	}
	*seen++
	return *seen == max(1, m.rule.messages)
}

// status returns the status of a request whose connection is open.
func (m *messages) status() int {
	if m.sends {
		return 0
	}
	return http.StatusSwitchingProtocols
}

// checkWS checks the spec of a ws or wss target.
func checkWS(s Spec, u *url.URL) error {
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
		func() error { return checkHost(u) }, func() error { return checkLimits(s) }, func() error { return checkTrust(s) },
		func() error { return checkRouting(s) }, s.checkHandshake, s.checkMessages,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkHandshake checks what the handshake has.
func (s Spec) checkHandshake() error {
	if err := checkHeaders(s.Headers); err != nil {
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
	if a, err := ParseAuth(s.Auth); err == nil && a.Kind == AuthSigV4 {
		return errors.New("auth: sigv4 is for http; of ws give basic, bearer or oauth2")
	}
	if s.NoKeepAlive {
		return nil
	}
	if t, err := s.parser(nil)(s.URL, saltURL); err == nil && t.Varies() {
		return errors.New("url: a connection carries many messages, so its URL has no placeholders; put them into the body, or give --no-keep-alive")
	}
	for i, h := range s.Headers {
		if t, err := s.parser(nil)(h.Value, saltHeaders+uint64(i)); err == nil && t.Varies() {
			return fmt.Errorf("header %s: a connection carries many messages, so its headers have no placeholders; put them into the body, or give --no-keep-alive", h.Name)
		}
	}
	return nil
}

// checkMessages checks what is sent and expected after the handshake.
func (s Spec) checkMessages() error {
	if _, err := newRawExpectation(s); err != nil {
		return err
	}
	if rule, _ := parseReply(s.Reply); rule.count > 0 || len(rule.until) > 0 || rule.end {
		return errors.New("reply: over ws a message tells where it ends; write any, messages N or matches /REGEX/")
	}
	return nil
}

// sharedWS refuses settings that all requests share and WebSocket does not have.
func sharedWS(s Spec) error {
	s.Auth = ""
	return sharedBare(s)
}
