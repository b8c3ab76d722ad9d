package targets

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

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
	messages *messages
}

// newWS is the constructor of ws and wss in the registry. The spec is valid.
func newWS(s Spec, local Local, connections *pool) (Target, error) {
	rules, u, err := newBareRules(s)
	if err != nil {
		return nil, err
	}
	m, err := newMessages(s, u, local.Tables)
	if err != nil {
		return nil, err
	}
	rules.fill = m.fill
	t := &wsTarget{newBare(s, local, connections, rules), m}
	t.talk, t.login = t.exchange, m.varies
	t.to.use, t.to.login = useWS, m.head
	if u.Scheme == "wss" {
		t.to.name = u.Hostname()
	}
	if !m.sends {
		t.halted = func() bool { return false } // the handshake has asked
	}
	return t, nil
}

// exchange sends a message on a connection, whose deadline is set, and reads the reply.
func (t *wsTarget) exchange(ctx context.Context, c *conn, reused bool, payload []byte, a *asking) (r reply) {
	s := c.socket
	s.mu.Lock()
	defer s.mu.Unlock()
	c.watch.begin(ctx)
	r.status, r.phase = t.messages.status(), ClassProtocol
	if t.messages.sends {
		r.err = t.send(c, reused, payload, &r)
	}
	if r.err == nil {
		t.receive(c, a, &r)
	}
	in, out := s.Counted()
	r.messages = s.Messages()
	r.in, r.out = r.in+in, r.out+out
	r.keep = !c.watch.finish() && r.err == nil && s.err == nil && !t.once
	if r.err != nil {
		s.Fail(r.err)
	}
	if !r.keep {
		c.bye()
		_, out = s.Counted()
		r.out += out
	}
	if errors.Is(r.err, ws.ErrTooLong) {
		r.err = errBodyLimit
	}
	return r
}

// send takes what came before, and writes the message.
func (t *wsTarget) send(c *conn, reused bool, payload []byte, r *reply) error {
	s := c.socket
	err := s.settle(c)
	if err == nil {
		err = s.pong(c, c.wire.Write)
	}
	switch {
	case err != nil && reused && !isTimeout(err):
		return errHungUp
	case err != nil:
		return err
	}
	n, err := c.wire.Write(payload)
	r.out += int64(n)
	switch {
	case err == nil:
		return nil
	case n == 0 && reused && !isTimeout(err):
		return errHungUp // it came in between
	}
	s.torn = true
	// The server may have said why it does not read on.
	_ = s.settle(c)
	return s.Why(err)
}

// receive reads up to the reply, if one is expected, and checks it. What has come behind it is no reply.
func (t *wsTarget) receive(c *conn, a *asking, r *reply) {
	s, expect := c.socket, &t.messages.expect
	if !t.messages.answers {
		r.failed = expect.failed(noReply{}, time.Since(a.began), a.session)
		return
	}
	rest, err := t.read(c, a)
	if r.err = err; err != nil {
		return
	}
	r.failed = expect.failed(&s.Socket, time.Since(a.began), a.session)
	if s.Skip(rest) == nil {
		if err := s.pong(c, c.wire.Write); err != nil {
			s.Fail(err)
		}
	}
}

// read reads up to the end of the reply, and returns the bytes behind it.
func (t *wsTarget) read(c *conn, a *asking) (rest []byte, err error) {
	s, buf := c.socket, c.buf
	defer func() {
		if len(buf) > readBuffer {
			a.long.Put(&buf)
			rest = slices.Clone(rest)
		}
	}()
	s.expect(t.messages)
	s.in -= int64(len(s.rest)) // they were counted
	for rest, s.rest = s.rest, nil; ; {
		used, done, err := s.Feed(rest)
		if done || err != nil {
			return rest[used:], err
		}
		if err := s.pong(c, c.wire.Write); err != nil {
			return nil, err
		}
		n, err := c.wire.Read(buf)
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

// refused notes the answer to a handshake that opened no WebSocket.
func refused(err error, out *Outcome) {
	if e, ok := errors.AsType[upgradeError](err); ok {
		out.Status = e.status
		out.BytesIn, out.BytesOut = out.BytesIn+e.in, out.BytesOut+e.out
	}
}

// ErrNoWebSocket says that a server answers a handshake, and opens no WebSocket.
var ErrNoWebSocket = errors.New("the server opens no WebSocket")

// An upgradeError is such an answer. It is ErrNoWebSocket.
type upgradeError struct {
	status  int // not 101; 0 if what is wrong
	what    string
	in, out int64
}

func (e upgradeError) Error() string {
	if e.status == 0 {
		return e.what
	}
	text := "the server answers " + strconv.Itoa(e.status)
	if name := http.StatusText(e.status); name != "" {
		text += " " + name
	}
	return text
}

// Is implements the interface of errors.Is.
func (e upgradeError) Is(target error) bool { return target == ErrNoWebSocket }

// class implements classified.
func (e upgradeError) class() string {
	if e.status == 0 {
		return ClassProtocol
	}
	return ClassStatus
}
