package wire

import (
	"errors"
	"io"
	"net/url"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/classes"
	"github.com/loadctl/loadctl/targets/resp"
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
func (w *Wire) Expect(s *ws.Socket) { s.Expect(w.messages) }

// Opens reports whether something has to be said on a new connection before its first request: see Open. TLS is not
// meant.
func (w *Wire) Opens() bool { return w.messages != nil || w.raw != nil && w.raw.to.Login != "" }

// Open makes the handshake of WebSocket on a connection that was just opened, for the request of a call, or logs in. It
// takes as long as the connection does. Its error is for Outcome. The Socket is nil if there is none.
func (w *Wire) Open(c io.ReadWriter, call targets.Call) (*ws.Socket, error) {
	if w.raw != nil {
		return nil, resp.LogIn(c, w.raw.to.Login)
	}
	h := ws.Handshake{Head: w.messages.head, Credential: w.credential, Halted: w.Halted, Counts: w.Close}
	if w.messages.varies != nil {
		h.Head = w.messages.varies(w.filler.request(call))
	}
	return h.Open(c)
}

// useMessages makes the Wire one of ws or wss.
func (w *Wire) useMessages(s targets.Spec, u *url.URL, local targets.Local) (err error) {
	if err := w.lead(s, u); err != nil {
		return err
	}
	if w.messages, err = newMessages(s, u, local.Tables); err != nil {
		return err
	}
	if err := w.setEvents(s, nil); err != nil {
		return err
	}
	w.Close, w.credential = s.NoKeepAlive, local.Credential
	if u.Scheme == "wss" {
		w.Name, w.offers = u.Hostname(), []string{ALPNHTTP1}
	}
	return nil
}

// Handshake distinguishes connections that carry different things to the same address; "" for HTTP.
func (w *Wire) Handshake() string {
	switch {
	case w.messages != nil:
		return UseWS + w.messages.head
	case w.raw != nil:
		return w.raw.to.Use + w.raw.to.Login
	}
	return ""
}

// outcome is Wire.Outcome. a is the Socket if it is open.
func (m *messages) outcome(a check.Answer, took time.Duration, err error, rest string, session *targets.Session) (out targets.Outcome) {
	ws.Refused(err, &out)
	if s, open := a.(*ws.Socket); open {
		out.Status, out.Messages = m.status(), s.Messages()
	}
	switch {
	case err == nil && m.answers:
		out.Class = m.expect.failed(a, took, session)
	case err == nil:
		out.Class = m.expect.failed(noReply{}, took, session)
	case errors.Is(err, ws.ErrTooLong):
		out.Class = targets.ClassBodyLimit
	default:
		out.Class = classes.Of(err, rest)
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
