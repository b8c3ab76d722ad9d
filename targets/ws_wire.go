package targets

import (
	"errors"
	"io"
	"net/url"
	"time"

	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/ws"
)

// Sockets reports whether the Wire's requests are messages of WebSocket, or its handshakes. Then each connection is opened
// by Open, and Fill returns a frame. Request is nil.
func (w *Wire) Sockets() bool { return w.messages != nil }

// Replies reports whether a reply is expected. It ends what Feed of the Reply takes, or of the Socket.
func (w *Wire) Replies() bool {
	switch {
	case w.messages != nil:
		return w.messages.answers
	case w.raw != nil:
		return w.raw.answers
	}
	return true
}

// Expect makes s look for the reply to the request that was just written, or will be.
func (w *Wire) Expect(s *Socket) { s.expect(w.messages) }

// Opens reports whether something has to be said on a new connection before its first request: see Open. TLS is not
// meant.
func (w *Wire) Opens() bool { return w.messages != nil || w.raw != nil && w.raw.to.login != "" }

// Open makes the handshake of WebSocket on a connection that was just opened, for the request of a call, or logs in. It
// takes as long as the connection does. Its error is for Outcome. The Socket is nil if there is none.
func (w *Wire) Open(c io.ReadWriter, call Call) (*Socket, error) {
	if w.raw != nil {
		return nil, logIn(c, w.raw.to.login)
	}
	h := handshake{head: w.messages.head, credential: w.credential, halted: w.Halted, answer: new(http1.Response), buf: make([]byte, readBuffer)}
	if w.messages.varies != nil {
		h.head = w.messages.varies(w.filler.request(call))
	}
	s, in, out, err := h.open(c)
	if err == nil && w.Close {
		s.in, s.out = s.in+in, s.out+out
	}
	return s, err
}

// Settle takes what came with the answer to the handshake. Its error is why the socket has ended.
func (s *Socket) Settle() error { return s.settle() }

// Greeting returns what came with the answer to the handshake, for Feed: it may be the reply to a handshake.
func (s *Socket) Greeting() []byte {
	rest := s.rest
	s.rest, s.in = nil, s.in-int64(len(s.rest))
	return rest
}

// useMessages makes the Wire one of ws or wss.
func (w *Wire) useMessages(s Spec, u *url.URL, local Local) (err error) {
	if err := w.lead(s, u); err != nil {
		return err
	}
	if w.messages, err = newMessages(s, u, local.Tables); err != nil {
		return err
	}
	w.Close, w.credential = s.NoKeepAlive, local.Credential
	if u.Scheme == "wss" {
		w.Name, w.offers = u.Hostname(), []string{protocolHTTP1}
	}
	return nil
}

// Handshake distinguishes connections that carry different things to the same address; "" for HTTP.
func (w *Wire) Handshake() string {
	switch {
	case w.messages != nil:
		return useWS + w.messages.head
	case w.raw != nil:
		return w.raw.to.use + w.raw.to.login
	}
	return ""
}

// outcome is Wire.Outcome. a is the Socket if it is open.
func (m *messages) outcome(a check.Answer, took time.Duration, err error, rest string, session *Session) (out Outcome) {
	refused(err, &out)
	if s, open := a.(*Socket); open {
		out.Status, out.Messages = m.status(), s.Messages()
	}
	switch {
	case err == nil && m.answers:
		out.Class = m.expect.failed(a, took, session)
	case err == nil:
		out.Class = m.expect.failed(noReply{}, took, session)
	case errors.Is(err, ws.ErrTooLong):
		out.Class = ClassBodyLimit
	default:
		out.Class = classify(err, rest)
	}
	return out
}

// A noReply is the answer to a request that expects none.
type noReply struct{}

// Status, Content, Length and Field implement check.Answer.
func (noReply) Status() int           { return 0 }
func (noReply) Content() []byte       { return nil }
func (noReply) Length() int64         { return 0 }
func (noReply) Field(string) []string { return nil }
