package targets

import (
	"crypto/tls"
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

// Replies reports whether a message is answered: by the one that ends what Socket.Feed takes.
func (w *Wire) Replies() bool { return w.messages.answers }

// Expect makes s look for the reply to the request that was just written, or will be.
func (w *Wire) Expect(s *Socket) { s.expect(w.messages) }

// Open makes the handshake on a connection that was just opened, for the request of a call. It takes as long as the
// connection does. Its error is for Outcome.
func (w *Wire) Open(c io.ReadWriter, call Call) (*Socket, error) {
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
func (w *Wire) useMessages(s Spec, u *url.URL, local Local, secure *tls.Config) (err error) {
	if w.messages, err = newMessages(s, u, local.Tables); err != nil {
		return err
	}
	w.Request, w.Head, w.Close, w.credential = nil, false, s.NoKeepAlive, local.Credential
	w.expect = w.messages.expect
	if u.Scheme == "wss" {
		w.Name, w.secure = u.Hostname(), secure.Clone()
		w.secure.ServerName = w.Name
	}
	return nil
}

// Handshake distinguishes connections that carry different things to the same address; "" for HTTP.
func (w *Wire) Handshake() string {
	if w.messages == nil {
		return ""
	}
	return useWS + w.messages.head
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
