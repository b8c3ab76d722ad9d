package targets

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
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

// newHead sets how connections are opened: by the head of a handshake (RFC 6455, 4.1). Connections with equal heads are
// interchangeable.
func (m *messages) newHead(s Spec, u *url.URL, tables Tables) error {
	s.Method, s.Body, s.NoKeepAlive, s.Cookies = http.MethodGet, nil, false, false
	s.Headers = append(slices.Clip(s.Headers), Header{"Connection", "Upgrade"}, Header{"Upgrade", "websocket"},
		Header{"Sec-WebSocket-Version", "13"}, Header{"Sec-WebSocket-Key", keyStand})
	var stand Credential
	value := credentialStand
	stand.value.Store(&value)
	request, err := newMessage(s, u, endpoint{}, s.parser(tables), &stand)
	if err != nil {
		return err
	}
	if request.wire != nil {
		m.head = string(request.wire)
		return nil
	}
	m.head = string(request.fill(nil, template.Request{}, nil))
	for _, text := range append(slices.Clone(request.values), request.target) {
		if text.Varies() {
			m.varies = func(r template.Request) string { return string(request.fill(nil, r, nil)) }
		}
	}
	return nil
}

// A handshake opens a WebSocket.
type handshake struct {
	head       string // with its stands
	credential *Credential
	halted     func() bool // nil = never
	answer     *http1.Response
	buf        []byte
}

// open makes the handshake on a connection. in and out are its bytes. An answer that opens nothing is an upgradeError.
func (h *handshake) open(c io.ReadWriter) (s *Socket, in, out int64, err error) {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	head := strings.Replace(h.head, keyStand, key, 1)
	if current := h.credential.current(); current != nil {
		head = strings.Replace(head, credentialStand, *current, 1)
	}
	if h.halted != nil && h.halted() {
		return nil, 0, 0, context.Canceled
	}
	n, err := io.WriteString(c, head)
	if out = int64(n); err != nil {
		return nil, 0, out, err
	}
	h.answer.Begin(http1.Limits{Fields: true}, true)
	defer h.answer.Release()
	s = new(Socket)
	if s.rest, in, err = h.read(c); err != nil {
		if wrong, ok := errors.AsType[upgradeError](err); ok {
			wrong.in, wrong.out = in, out
			err = wrong
		}
		return nil, in, out, err
	}
	if status := h.answer.Status(); status != http.StatusSwitchingProtocols {
		return nil, in, out, upgradeError{status: status, in: in, out: out}
	}
	if what := h.mismatch(key); what != "" {
		return nil, in, out, upgradeError{what: what, in: in, out: out}
	}
	s.in = int64(len(s.rest))
	s.chosen = strings.TrimSpace(strings.Join(h.answer.Field("Sec-WebSocket-Protocol"), ","))
	return s, in, out, nil
}

// read reads the head of the answer. rest is what has come behind it.
func (h *handshake) read(c io.Reader) (rest []byte, in int64, err error) {
	for {
		n, readErr := c.Read(h.buf)
		used, done, err := h.answer.Feed(h.buf[:n])
		in += int64(used)
		switch {
		case errors.Is(err, http1.ErrHead):
			return nil, in, err
		case err != nil:
			return nil, in, upgradeError{what: err.Error()}
		case done:
			return slices.Clone(h.buf[used:n]), in, nil
		case errors.Is(readErr, io.EOF):
			return nil, in, io.ErrUnexpectedEOF
		case readErr != nil:
			return nil, in, readErr
		}
	}
}

// mismatch says what is wrong with an answer of status 101 to a handshake (RFC 6455, 4.1); "" if nothing is.
func (h *handshake) mismatch(key string) string {
	one := func(name string) string { return strings.TrimSpace(strings.Join(h.answer.Field(name), ",")) }
	protocol := one("Sec-WebSocket-Protocol")
	switch {
	case !strings.EqualFold(one("Upgrade"), "websocket"), !lists(one("Connection"), "upgrade"):
		return "the server switches to another protocol"
	case one("Sec-WebSocket-Accept") != ws.Accept(key):
		return "Sec-WebSocket-Accept is not that of the key"
	case one("Sec-WebSocket-Extensions") != "":
		return "the server uses an extension that was not offered"
	case protocol != "" && !offers(h.head, protocol):
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
