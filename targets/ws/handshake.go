package ws

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http1"
)

// What stands in the head of a handshake for what each connection has anew. No header may have these characters.
const (
	CredentialStandIn = "\x00"
	KeyStandIn        = "\x01"
)

// A Handshake opens a WebSocket.
type Handshake struct {
	Head       string // with stand-ins
	Credential *targets.Credential
	Halted     func() bool // nil = never
	Counts     bool        // it is a request itself: its bytes are the Socket's

	answer http1.Response
	buf    [readBuffer]byte
}

// readBuffer is how much is read at once, in bytes.
const readBuffer = 4 << 10

// Open makes the handshake on a connection. An answer that opens nothing is an upgradeError.
func (h *Handshake) Open(c io.ReadWriter) (*Socket, error) {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	head := strings.Replace(h.Head, KeyStandIn, key, 1)
	if current := h.Credential.Current(); current != nil {
		head = strings.Replace(head, CredentialStandIn, *current, 1)
	}
	if h.Halted != nil && h.Halted() {
		return nil, context.Canceled
	}
	n, err := io.WriteString(c, head)
	if err != nil {
		return nil, err
	}
	h.answer.Begin(http1.Limits{Fields: true}, true)
	defer h.answer.Release()
	rest, in, err := h.read(c)
	wrong, refused := errors.AsType[upgradeError](err)
	switch status := h.answer.Status(); {
	case err != nil && !refused:
		return nil, err
	case refused:
	case status != http.StatusSwitchingProtocols:
		wrong, refused = upgradeError{status: status}, true
	default:
		wrong.what = h.mismatch(key)
		refused = wrong.what != ""
	}
	if refused {
		wrong.in, wrong.out = in, int64(n)
		return nil, wrong
	}
	s := &Socket{rest: rest, in: int64(len(rest)), Chosen: strings.TrimSpace(strings.Join(h.answer.Field("Sec-WebSocket-Protocol"), ","))}
	if h.Counts {
		s.in, s.out = s.in+in, s.out+int64(n)
	}
	return s, nil
}

// read reads the head of the answer. rest is what has come behind it.
func (h *Handshake) read(c io.Reader) (rest []byte, in int64, err error) {
	for {
		n, readErr := c.Read(h.buf[:])
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
func (h *Handshake) mismatch(key string) string {
	one := func(name string) string { return strings.TrimSpace(strings.Join(h.answer.Field(name), ",")) }
	protocol := one("Sec-WebSocket-Protocol")
	switch {
	case !strings.EqualFold(one("Upgrade"), "websocket"), !lists(one("Connection"), "upgrade"):
		return "the server switches to another protocol"
	case one("Sec-WebSocket-Accept") != Accept(key):
		return "Sec-WebSocket-Accept is not that of the key"
	case one("Sec-WebSocket-Extensions") != "":
		return "the server uses an extension that was not offered"
	case protocol != "" && !offers(h.Head, protocol):
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
