package targets

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
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
	d, err := newDialer(s, local)
	if err != nil {
		return nil, err
	}
	var servers []*Wire
	var found []Contact
	known := map[endpoint]bool{}
	for i, one := range s.steps() {
		w, err := newWire(one, local, d.secure)
		if err != nil {
			return nil, s.blame(i, err)
		}
		to := w.endpoint()
		if _, rests := w.Rests(); rests || known[to] {
			continue
		}
		known[to] = true
		servers, found = append(servers, w), append(found, Contact{URL: one.Redacted().URL, Host: to.address, step: i})
	}
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() { found[i] = found[i].with(server.contact(ctx, d, quiet)) })
	}
	all.Wait()
	if unsettled != nil && !slices.ContainsFunc(found, func(c Contact) bool { return c.Err != nil }) {
		return nil, unsettled
	}
	return found, nil
}

// with returns what a server has shown, with the URL, the host and the step.
func (c Contact) with(shown Contact) Contact {
	shown.URL, shown.Host, shown.step = c.URL, c.Host, c.step
	return shown
}

// opened returns what a connection shows that was just opened.
func opened(p *probe, began time.Time) Contact {
	shown := Contact{Address: p.RemoteAddr().String(), Took: time.Since(began)}
	if secure, ok := p.Conn.(*tls.Conn); ok {
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

// endpoint returns where connections go.
func (w *Wire) endpoint() endpoint {
	switch {
	case w.messages != nil:
		return endpoint{network: w.Network, address: w.Address, name: w.Name, use: useWS, login: w.messages.head}
	case w.raw != nil:
		return w.raw.to
	case w.message != nil:
		return w.message.to
	}
	return endpoint{}
}

// contact opens a connection, and asks what the protocol tells before requests. A quiet one sends nothing that a run would
// count as a request. It ends by the deadline of ctx.
func (w *Wire) contact(ctx context.Context, d *dialer, quiet bool) Contact {
	if w.Three {
		return w.contactThree(ctx)
	}
	began, to := time.Now(), w.endpoint()
	p, err := d.dial(ctx, to)
	if err != nil {
		rest := ClassOther
		if to.use == useRedis {
			rest = ClassProtocol
		}
		return Contact{}.failed(ctx, err, rest)
	}
	defer p.Close()
	stop := context.AfterFunc(ctx, func() { _ = p.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	switch shown := opened(p, began); to.use {
	case useWS:
		return w.contactWS(ctx, p, shown, quiet)
	case useRedis:
		return w.contactRedis(ctx, p, shown)
	case useRaw:
		return w.contactRaw(ctx, p, shown, quiet)
	default:
		return p.contactHTTP(ctx, shown)
	}
}

// contactHTTP waits for the settings of HTTP/2, and for what the server says of our certificate.
func (p *probe) contactHTTP(ctx context.Context, shown Contact) Contact {
	if shown.HTTP = HTTP1; p.to.streams == 0 {
		if err := p.objection(max(shown.Took, shortest)); err != nil {
			return shown.failed(ctx, fmt.Errorf("dial %s: %w", p.to.address, err), ClassProtocol)
		}
		return shown
	}
	shown.HTTP = HTTP2
	var err error
	// With TLS 1.3 a server that refuses our certificate says so only now.
	if shown.Streams, err = p.allowed(); err != nil && ctx.Err() == nil && !isTLS(err) {
		err = ErrNoHTTP2
	}
	if err != nil {
		return shown.failed(ctx, fmt.Errorf("greet %s: %w", p.to.address, err), ClassProtocol)
	}
	return shown
}

// shortest is how long a server may take to refuse our certificate, at least.
const shortest = 50 * time.Millisecond

// allowed begins HTTP/2, and waits until the server has said how many streams it allows.
func (p *probe) allowed() (int64, error) {
	h, buf := http2.NewConn(http1.Limits{}), make([]byte, readBuffer)
	for {
		for out := h.Output(); len(out) > 0; out = h.Output() {
			n, err := p.Write(out)
			if h.Wrote(n); err != nil {
				return 0, err
			}
		}
		if n, said := h.Allows(); said {
			return n, nil
		}
		n, err := p.Read(buf)
		if err := cmp.Or(h.Feed(buf[:n]), err); err != nil {
			return 0, err
		}
	}
}

// contactWS makes a handshake. A quiet one leaves it out if requests are handshakes.
func (w *Wire) contactWS(ctx context.Context, p *probe, shown Contact, quiet bool) Contact {
	if quiet && w.Close {
		return shown
	}
	socket, err := w.Open(p, Call{})
	if err != nil {
		return Contact{}.failed(ctx, fmt.Errorf("open a WebSocket to %s: %w", p.to.address, err), ClassOther)
	}
	if frame := socket.Bye(); frame != nil {
		_, _ = p.Write(frame) // the server may be gone
	}
	shown.Upgraded, shown.Subprotocol = true, socket.chosen
	shown.Offered = strings.Contains(strings.ToLower(w.messages.head), "\r\nsec-websocket-protocol:")
	return shown
}

// contactRedis logs in, and asks who the server is.
func (w *Wire) contactRedis(ctx context.Context, p *probe, shown Contact) Contact {
	if err := p.logIn(); err != nil {
		return Contact{}.failed(ctx, err, ClassProtocol)
	}
	server, err := p.server()
	refused, replied := errors.AsType[replyError](err)
	if err == nil || replied { // a server that does not tell is one
		shown.Redis = &server
	}
	if err != nil && !replied || refused.name == replyNoAuth { // it refuses requests likewise
		return shown.failed(ctx, fmt.Errorf("ask %s: %w", p.to.address, err), ClassProtocol)
	}
	return shown
}

// contactRaw sends the first payload, if a reply is expected and no earlier step has to answer before. A quiet one sends none.
func (w *Wire) contactRaw(ctx context.Context, p *probe, shown Contact, quiet bool) Contact {
	if quiet || !w.raw.answers || w.raw.later {
		return shown
	}
	payload, began := w.Fill(nil, Call{}), time.Now()
	if w.Request != nil {
		payload = w.Request
	}
	reply := w.Reply(nil)
	n, in, err := p.exchange(payload, reply)
	shown.Sent, shown.Waits = true, time.Since(began)
	shown.Reply = w.Outcome(reply, shown.Waits, blame(ctx, err), ClassProtocol, nil)
	shown.Reply.BytesIn, shown.Reply.BytesOut = int64(in), int64(n)
	return shown
}

// exchange sends a payload, and reads the reply.
func (p *probe) exchange(payload []byte, reply *Reply) (out, in int, err error) {
	if out, err = p.Write(payload); err != nil {
		return out, 0, err
	}
	for buf := make([]byte, 64<<10); ; { // a whole datagram
		n, err := p.Read(buf)
		if n > 0 || err == nil {
			used, done, bad := reply.Feed(buf[:n])
			in += used
			if done || bad != nil {
				return out, in, bad
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return out, in, io.ErrUnexpectedEOF
		case err != nil:
			return out, in, err
		}
	}
}
