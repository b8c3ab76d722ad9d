package targets

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/template"
	"github.com/loadctl/loadctl/targets/ws"
)

// What stands in the head of a handshake for what each connection has anew. No header may have these characters.
const (
	credentialStand = "\x00"
	keyStand        = "\x01"
)

// greet sets how the target's connections are opened: by the head of a handshake (RFC 6455, 4.1). Connections with equal
// heads are interchangeable.
func (t *wsTarget) greet(s Spec, u *url.URL, local Local) error {
	s.Method, s.Body, s.NoKeepAlive, s.Cookies = http.MethodGet, nil, false, false
	s.Headers = append(slices.Clip(s.Headers), Header{"Connection", "Upgrade"}, Header{"Upgrade", "websocket"},
		Header{"Sec-WebSocket-Version", "13"}, Header{"Sec-WebSocket-Key", keyStand})
	var stand Credential
	value := credentialStand
	stand.value.Store(&value)
	m, err := newMessage(s, u, endpoint{}, s.parser(local.Tables), &stand)
	if err != nil {
		return err
	}
	t.to.use = useWS
	t.to.login = string(m.filled(template.Request{}, nil).wire)
	if m.wire != nil {
		t.to.login = string(m.wire)
	}
	for _, varies := range append(slices.Clone(m.values), m.target) {
		if varies.Varies() {
			t.login = func(r template.Request) string { return string(m.fill(nil, r, nil)) }
		}
	}
	return nil
}

// upgrade makes the handshake on a new connection. The deadline is that of the connection.
func (d *dialer) upgrade(ctx context.Context, c *conn) error {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	head := strings.Replace(c.to.login, keyStand, key, 1)
	if current := d.credential.current(); current != nil {
		head = strings.Replace(head, credentialStand, *current, 1)
	}
	c.watch.begin(ctx)
	defer c.watch.finish()
	if d.halted != nil && d.halted() {
		return context.Canceled
	}
	s := &stream{}
	n, err := c.wire.Write([]byte(head))
	s.greeted.out = int64(n)
	if err != nil {
		return blame(ctx, err)
	}
	if err := c.readUpgrade(s); err != nil {
		return blame(ctx, err)
	}
	if c.answer.Status() != http.StatusSwitchingProtocols {
		return upgradeError{status: c.answer.Status(), in: s.greeted.in, out: s.greeted.out}
	}
	if what := c.mismatch(key); what != "" {
		return upgradeError{what: what, in: s.greeted.in, out: s.greeted.out}
	}
	c.answer.Release()
	// The pool would take any byte for a hang-up; settle looks closer.
	c.stream, c.hungUp = s, func() bool { return false }
	return nil
}

// readUpgrade reads the head of the answer. What has come behind it is the beginning of the stream.
func (c *conn) readUpgrade(s *stream) error {
	c.answer.Begin(http1.Limits{Fields: true}, true)
	for {
		n, readErr := c.wire.Read(c.buf)
		used, done, err := c.answer.Feed(c.buf[:n])
		s.greeted.in += int64(used)
		switch {
		case errors.Is(err, http1.ErrHead):
			return err
		case err != nil:
			return upgradeError{what: err.Error(), in: s.greeted.in, out: s.greeted.out}
		case done:
			s.rest = slices.Clone(c.buf[used:n])
			s.in = int64(len(s.rest))
			return nil
		case readErr != nil:
			return readErr
		}
	}
}

// mismatch says what is wrong with an answer of status 101 to a handshake (RFC 6455, 4.1); "" if nothing is.
func (c *conn) mismatch(key string) string {
	one := func(name string) string { return strings.TrimSpace(strings.Join(c.answer.Field(name), ",")) }
	protocol := one("Sec-WebSocket-Protocol")
	switch {
	case !strings.EqualFold(one("Upgrade"), "websocket"), !lists(one("Connection"), "upgrade"):
		return "the server switches to another protocol"
	case one("Sec-WebSocket-Accept") != ws.Accept(key):
		return "Sec-WebSocket-Accept is not that of the key"
	case one("Sec-WebSocket-Extensions") != "":
		return "the server uses an extension that was not offered"
	case protocol != "" && !offers(c.to.login, protocol):
		return "the server uses a subprotocol that was not offered"
	}
	return ""
}

// lists reports whether a list of a header has a word, whatever its case.
func lists(value, word string) bool {
	return slices.ContainsFunc(strings.Split(value, ","), func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), word) })
}

// offers reports whether the head of a handshake offers a subprotocol.
func offers(head, protocol string) bool {
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "Sec-WebSocket-Protocol") && slices.ContainsFunc(strings.Split(value, ","), func(s string) bool { return strings.TrimSpace(s) == protocol }) {
			return true
		}
	}
	return false
}

// An upgradeError is an answer to a handshake that opens no WebSocket.
type upgradeError struct {
	status  int // not 101; 0 if what is wrong
	what    string
	in, out int64
}

func (e upgradeError) Error() string {
	if e.status == 0 {
		return e.what
	}
	return strings.TrimSpace(fmt.Sprintf("the server answers %d %s", e.status, http.StatusText(e.status)))
}

// class implements classified.
func (e upgradeError) class() string {
	if e.status == 0 {
		return ClassProtocol
	}
	return ClassStatus
}

// refused notes the answer to a handshake that opened no WebSocket.
func refused(err error, out *Outcome) {
	if e, ok := errors.AsType[upgradeError](err); ok {
		out.Status = e.status
		out.BytesIn, out.BytesOut = out.BytesIn+e.in, out.BytesOut+e.out
	}
}
