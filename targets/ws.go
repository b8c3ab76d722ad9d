package targets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/template"
	"github.com/loadctl/loadctl/targets/ws"
)

// A wsTarget sends messages of WebSocket (RFC 6455) on the connections of rawTarget: ws://HOST[:PORT][/PATH][?QUERY], or
// wss:// with TLS. A connection is opened by a handshake, carries one request at a time, and stays open. Between requests
// the pool's keeper answers pings and notices closing: see keep.
//
// Without a message a request is the handshake itself.
//
// Messages that are not the reply are pushes, and thrown away. Bytes are those of frames, pushes included. If each request
// has a connection of its own, those of the handshake are counted too.
type wsTarget struct {
	*rawTarget
	message bool // a request is a message; else it is the handshake
	rule    replyRule
	limit   int64 // bytes of a message
	keeps   int   // bytes of a message that checks, takes and the rule look at
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
		func() error { return checkRouting(s) }, s.checkUpgrade, s.checkMessages,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkUpgrade checks what the handshake has.
func (s Spec) checkUpgrade() error {
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
	if rule, _ := parseReply(s.Reply); rule.count > 0 || len(rule.until) > 0 {
		return errors.New("reply: over ws a message tells where it ends; write any, messages N or matches /REGEX/")
	}
	return nil
}

// sharedWS refuses settings that all requests share and WebSocket does not have.
func sharedWS(s Spec) error {
	s.Auth = ""
	return sharedBare(s)
}

// newWS is the constructor of ws and wss in the registry. The spec is valid.
func newWS(s Spec, local Local, connections *pool) (Target, error) {
	raw, u, err := newBare(s, local, connections)
	if err != nil {
		return nil, err
	}
	t := &wsTarget{rawTarget: raw, message: len(s.Body) > 0, limit: s.bodyLimit()}
	t.talk = t.exchange
	if u.Scheme == "wss" {
		t.to.name = u.Hostname()
	}
	if err := t.greet(s, u, local); err != nil {
		return nil, err
	}
	if t.expect, err = newRawExpectation(s); err != nil {
		return nil, err
	}
	if t.rule, err = parseReply(s.Reply); err != nil {
		return nil, err
	}
	t.answers, t.keeps = t.rule.expected, t.expect.limits.Content
	if t.rule.pattern != nil {
		t.keeps = check.Most
	}
	if !t.message {
		t.halted = func() bool { return false } // the handshake has asked
		t.pay(false, func(b []byte, _ template.Request) []byte { return b })
		return t, nil
	}
	text, err := s.parser(local.Tables)(string(s.Body), saltBody)
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	op := ws.Text
	if s.Binary || !utf8.Valid(s.Body) {
		op = ws.Binary
	}
	// Each frame has another key, so no payload is fixed.
	t.fill = func(b []byte, r template.Request) []byte {
		return ws.AppendFilled(b, op, func(b []byte) []byte { return text.Append(b, r) }, ws.NewKey())
	}
	return t, nil
}

// exchange sends a message on a connection, whose deadline is set, and reads the reply.
func (t *wsTarget) exchange(ctx context.Context, c *conn, reused bool, payload []byte, a *asking) (r reply) {
	s := c.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	c.watch.begin(ctx)
	if t.once {
		r.in, r.out = s.greeted.in, s.greeted.out
	}
	if t.message {
		r.err = t.send(c, reused, payload, &r)
	} else {
		r.status = http.StatusSwitchingProtocols
	}
	if r.err == nil {
		t.receive(c, a, &r)
	}
	r.in, r.out = r.in+s.in, r.out+s.out
	s.in, s.out = 0, 0
	r.keep = !c.watch.finish() && r.err == nil && s.err == nil && !t.once
	if !r.keep {
		s.leave(c, cmp.Or(s.err, r.err))
	}
	if errors.Is(r.err, ws.ErrTooLong) {
		r.err = errBodyLimit
	}
	return r
}

// send takes what came before, and writes the message.
func (t *wsTarget) send(c *conn, reused bool, payload []byte, r *reply) error {
	s := c.stream
	err := s.settle(c)
	if err == nil {
		err = s.pong(c)
	}
	switch {
	case err != nil && reused && !isTimeout(err):
		s.err = err // a closing frame of ours would be too late
		return errHungUp
	case err != nil:
		return err
	}
	n, err := c.wire.Write(payload)
	r.out += int64(n)
	if err == nil {
		return nil
	}
	s.torn = true
	// The server may have said why it does not read on.
	if closed, ok := errors.AsType[closedError](s.settle(c)); ok && !isTimeout(err) {
		return closed
	}
	return err
}

// receive reads up to the reply, if one is expected, and checks it. What has come behind it is no reply.
func (t *wsTarget) receive(c *conn, a *asking, r *reply) {
	s := c.stream
	if !t.answers {
		r.failed = t.expect.failed(new(kept), time.Since(a.began), a.session)
		return
	}
	rest, err := t.read(c, a)
	if r.err = err; err != nil {
		return
	}
	r.failed = t.expect.failed(wsAnswer{&s.reader}, time.Since(a.began), a.session)
	s.skip(rest)
	if s.err == nil {
		s.err = s.pong(c)
	}
}

// read reads up to the end of the reply, and returns the bytes behind it. A message that had begun before is a push.
func (t *wsTarget) read(c *conn, a *asking) (rest []byte, err error) {
	s, buf := c.stream, c.buf
	defer func() {
		if len(buf) > readBuffer {
			a.long.Put(&buf)
			rest = slices.Clone(rest)
		}
	}()
	seen := 0
	old := s.reader.Begun()
	if rest, s.rest = s.rest, nil; !old {
		s.reader.Limit, s.reader.Keep = t.limit, t.keeps
	}
	defer s.forget()
	for {
		for len(rest) > 0 {
			n, event, err := s.reader.Next(rest)
			rest = rest[n:]
			if err = s.note(event, err); err != nil {
				return nil, err
			}
			switch {
			case event != ws.GotMessage:
			case old:
				old = false
				s.reader.Limit, s.reader.Keep = t.limit, t.keeps
			case t.answered(&s.reader, &seen):
				return rest, nil
			}
		}
		if err := s.pong(c); err != nil {
			return nil, err
		}
		n, err := c.wire.Read(buf)
		s.in += int64(n)
		switch {
		case n > 0:
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		if rest = buf[:n]; n == readBuffer && len(buf) == readBuffer {
			larger := *a.long.Get().(*[]byte)
			rest = larger[:copy(larger, rest)]
			buf = larger
		}
	}
}

// answered reports whether a message is the reply. seen counts messages since the request.
func (t *wsTarget) answered(r *ws.Reader, seen *int) bool {
	if t.rule.pattern != nil {
		return t.rule.pattern.Match(r.Content())
	}
	*seen++
	return *seen == max(1, t.rule.messages)
}

// Reach opens a connection and closes it: with its handshake, if a request is a message on it; else the server would count
// the handshake.
func (t *wsTarget) Reach(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	to := t.to
	if t.once {
		to.use = useRaw
	}
	c, err := t.pool.dial(ctx, deadline, to)
	if err != nil {
		return err
	}
	c.close(true)
	return nil
}

// A wsAnswer is a message as checks and takes see it.
type wsAnswer struct{ *ws.Reader }

// Status and Field implement check.Answer: a message has neither.
func (wsAnswer) Status() int           { return 0 }
func (wsAnswer) Field(string) []string { return nil }
