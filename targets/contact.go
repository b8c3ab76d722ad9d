package targets

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Contact is what one connection shows of a server before any request.
type Contact struct {
	URL     string               // of a request that goes there, without secrets
	Host    string               // where the connection had to go: host:port, or the path of a socket
	Address string               // that it reached; "" = none
	Took    time.Duration        // to open the connection
	TLS     *tls.ConnectionState // nil = without TLS

	HTTP    string // version that the connection carries: HTTP1, HTTP2 or HTTP3; "" = of another protocol
	Streams int64  // requests at a time that the server allows with HTTP/2 or 3; of 3 up to Spec.Streams

	Upgraded    bool   // a handshake of WebSocket was made
	Offered     bool   // with subprotocols
	Subprotocol string // that the server chose of them; "" = none

	Redis *RedisServer // nil = no Redis

	Sent  bool          // a payload was sent over tcp or udp, because a reply is expected
	Reply Outcome       // of that
	Waits time.Duration // for the reply

	Err   error  // why there is no connection, or not such a one; nil = there is
	Class string // of Err

	step int // index of the first step that goes there
}

// A contacting is a target that can make a Contact.
type contacting interface {
	leads() endpoint
	// contact ends by the deadline of ctx. A quiet one sends nothing that a run would count as a request.
	contact(ctx context.Context, quiet bool) Contact
}

// An Unreached is why requests cannot be sent to a server.
type Unreached struct {
	URL string // of a request that goes there, without secrets
	Err error
}

func (u *Unreached) Error() string { return u.Err.Error() }
func (u *Unreached) Unwrap() error { return u.Err }

// Contacts opens one connection to each server that requests go to, as these would, and closes it. With HTTPAuto it opens
// another one before, to ask for the version. It sends no request of HTTP, WebSocket, gRPC or Redis; a Redis is asked
// INFO server. Over tcp and udp it sends the first payload if a reply is expected, because nothing else tells whether one
// comes. ctx must have a deadline, which counts for each server. The descriptors of gRPC may be missing.
//
// An error says that no connection was tried. What is wrong with a server is in its Contact.
func (s Spec) Contacts(ctx context.Context, local Local) ([]Contact, error) {
	return s.contacts(ctx, local, false)
}

// Reach is Contacts without requests of any protocol. The error is an Unreached, or says that no connection was tried.
func (s Spec) Reach(ctx context.Context, local Local) error {
	found, err := s.contacts(ctx, local, true)
	for _, c := range found {
		if errors.Is(c.Err, context.DeadlineExceeded) { // it may not say which server
			c.Err = fmt.Errorf("connect to %s: %w", c.Host, context.DeadlineExceeded)
		}
		if c.Err != nil {
			return &Unreached{c.URL, s.blame(c.step, c.Err)}
		}
	}
	return err
}

func (s Spec) contacts(ctx context.Context, local Local, quiet bool) ([]Contact, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := cmp.Or(local.validate(), s.checkTables(local.Tables), s.checkCredential(local)); err != nil {
		return nil, err
	}
	settled, unsettled := s.Settle(ctx, local)
	if s = settled; unsettled != nil {
		s.HTTP, s.Streams = HTTP1, 0 // the contact tells better why
	}
	connections, err := newPool(s, local)
	if err != nil {
		return nil, err
	}
	defer connections.close()
	var servers []contacting
	var found []Contact
	known := map[endpoint]bool{}
	for i, one := range s.steps() {
		target, err := one.openToContact(local, connections)
		if err != nil {
			return nil, s.blame(i, err)
		}
		server, connects := target.(contacting)
		if !connects || known[server.leads()] {
			continue
		}
		known[server.leads()] = true
		servers, found = append(servers, server), append(found, Contact{URL: one.Redacted().URL, Host: server.leads().address, step: i})
	}
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() { found[i] = found[i].with(server.contact(ctx, quiet)) })
	}
	all.Wait()
	if unsettled != nil && !slices.ContainsFunc(found, func(c Contact) bool { return c.Err != nil }) {
		return nil, unsettled
	}
	return found, nil
}

// openToContact returns the target of a step. Who only connects need not know what a method of gRPC takes.
func (s Spec) openToContact(local Local, connections *pool) (Target, error) {
	k, _, err := s.kind()
	if err != nil {
		return nil, err
	}
	if IsGRPC(s.URL) {
		return newHTTP(s, local, connections)
	}
	return k.open(s, local, connections)
}

// with returns what a server has shown, with the URL, the host and the step.
func (c Contact) with(shown Contact) Contact {
	shown.URL, shown.Host, shown.step = c.URL, c.Host, c.step
	return shown
}

// opened returns what a connection shows that was just opened.
func opened(c *conn, began time.Time) Contact {
	shown := Contact{Address: c.raw.RemoteAddr().String(), Took: time.Since(began)}
	if secure, ok := c.wire.(*tls.Conn); ok {
		state := secure.ConnectionState()
		shown.TLS = &state
	}
	return shown
}

// failed adds why a connection is not as it should be.
func (c Contact) failed(ctx context.Context, err error, rest string) Contact {
	c.Err = blame(ctx, err)
	c.Class = classify(c.Err, rest)
	return c
}

// contact opens a connection, and waits for the settings of HTTP/2.
func (t *httpTarget) contact(ctx context.Context, _ bool) Contact {
	if t.first.to.use == useThree {
		return t.contactThree(ctx)
	}
	began := time.Now()
	deadline, _ := ctx.Deadline()
	c, err := t.pool.dial(ctx, deadline, t.first.to)
	if err != nil {
		return Contact{}.failed(ctx, err, ClassOther)
	}
	defer c.close(true)
	shown := opened(c, began)
	if shown.HTTP = HTTP1; c.session == nil {
		if err := c.objection(max(shown.Took, shortest)); err != nil {
			return shown.failed(ctx, fmt.Errorf("dial %s: %w", t.first.to.address, err), ClassProtocol)
		}
		return shown
	}
	shown.HTTP = HTTP2
	// With TLS 1.3 a server that refuses our certificate says so only now.
	if shown.Streams, err = c.session.allowed(ctx); err != nil && ctx.Err() == nil && !isTLS(err) {
		err = ErrNoHTTP2
	}
	if err != nil {
		return shown.failed(ctx, fmt.Errorf("greet %s: %w", t.first.to.address, err), ClassProtocol)
	}
	return shown
}

// shortest is how long a server may take to refuse our certificate, at least.
const shortest = 50 * time.Millisecond

// objection waits for what a server says of our certificate. With TLS 1.3 a client is done before the server has seen that.
// Silence is consent.
func (c *conn) objection(wait time.Duration) error {
	if _, secure := c.wire.(*tls.Conn); !secure {
		return nil
	}
	_ = c.raw.SetReadDeadline(time.Now().Add(wait))
	_, err := c.wire.Read(c.buf[:1])
	if isTimeout(err) {
		return nil
	}
	return err
}

// allowed waits until the server has said how many streams it allows.
func (s *session) allowed(ctx context.Context) (int64, error) {
	s.greet()
	for ; ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		n, said := s.streams.Allows()
		ended := s.err
		s.mu.Unlock()
		switch {
		case said:
			return n, nil
		case cmp.Or(ended, ctx.Err()) != nil:
			return 0, cmp.Or(ended, ctx.Err())
		}
	}
}

// contact makes a handshake. A quiet one leaves it out if requests are handshakes.
func (t *wsTarget) contact(ctx context.Context, quiet bool) Contact {
	began := time.Now()
	deadline, _ := ctx.Deadline()
	to := t.to
	if quiet && t.once {
		to.use = useRaw
	}
	c, err := t.pool.dial(ctx, deadline, to)
	if err != nil {
		return Contact{}.failed(ctx, err, ClassOther)
	}
	defer c.close(true)
	shown := opened(c, began)
	if to.use == useRaw {
		return shown
	}
	shown.Upgraded, shown.Subprotocol = true, c.socket.chosen
	shown.Offered = strings.Contains(strings.ToLower(t.to.login), "\r\nsec-websocket-protocol:")
	return shown
}

// contact logs in, and asks who the server is.
func (t *redisTarget) contact(ctx context.Context, _ bool) Contact {
	began := time.Now()
	deadline, _ := ctx.Deadline()
	c, err := t.pool.dial(ctx, deadline, t.to)
	if err != nil {
		return Contact{}.failed(ctx, err, ClassProtocol)
	}
	defer c.close(true)
	shown := opened(c, began)
	server, err := c.server()
	refused, replied := errors.AsType[replyError](err)
	if err == nil || replied { // a server that does not tell is one
		shown.Redis = &server
	}
	if err != nil && !replied || refused.name == replyNoAuth { // it refuses requests likewise
		return shown.failed(ctx, fmt.Errorf("ask %s: %w", t.to.address, err), ClassProtocol)
	}
	return shown
}

// contact sends the first payload, if a reply is expected and no earlier step has to answer before. A quiet one sends none.
func (t *rawTarget) contact(ctx context.Context, quiet bool) Contact {
	began := time.Now()
	deadline, _ := ctx.Deadline()
	c, err := t.pool.dial(ctx, deadline, t.to)
	if err != nil {
		return Contact{}.failed(ctx, err, ClassOther)
	}
	shown := opened(c, began)
	if quiet || !t.answers || t.later {
		c.close(true)
		return shown
	}
	defer c.close(false)
	payload := t.fixed
	if payload == nil {
		payload = t.fill(nil, t.filler.request(Call{}))
	}
	a := asking{began: time.Now(), expect: &t.expect, long: &t.buffers}
	r := t.talk(ctx, c, false, payload, &a)
	shown.Sent, shown.Waits = true, time.Since(a.began)
	shown.Reply = Outcome{Class: cmp.Or(classify(blame(ctx, r.err), ClassProtocol), r.failed), BytesIn: r.in, BytesOut: r.out}
	return shown
}
