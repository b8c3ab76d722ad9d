// Package probe opens single connections to the servers of a run, to ask what they are. It carries no load.
//
//	err := probe.Reach(ctx, spec, local)           // can they be reached?
//	spec, err := probe.Settle(ctx, spec, local)    // which version of HTTP do they choose?
//	contacts, err := probe.Contacts(ctx, spec, local)
//	if err != nil { fmt.Println(probe.Advise(err, spec.URL)) }
//
// Each function takes a context with a deadline, and may be called by any number of goroutines.
package probe

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

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/classes"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/resp"
	"github.com/loadctl/loadctl/targets/wire"
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

	Mute  bool            // of a scheme that is not ours, and has no way to ask whether the server is there
	Sent  bool            // a payload was sent over tcp or udp, because a reply is expected
	Reply targets.Outcome // of that
	Waits time.Duration   // for the reply

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
// INFO server. Over tcp and udp it sends the first payload if a reply is expected, because nothing else shows whether
// one comes. ctx must have a deadline, which counts for each server. The descriptors of gRPC may be missing.
//
// An error says that no connection was tried. What is wrong with a server is in its Contact.
func Contacts(ctx context.Context, s targets.Spec, local targets.Local) ([]Contact, error) {
	return contacts(ctx, s, local, false)
}

// Reach is Contacts without requests of any protocol. The error is an Unreached, or says that no connection was tried.
func Reach(ctx context.Context, s targets.Spec, local targets.Local) error {
	found, err := contacts(ctx, s, local, true)
	for _, c := range found {
		if errors.Is(c.Err, context.DeadlineExceeded) { // it may not say which server
			c.Err = fmt.Errorf("connect to %s: %w", c.Host, context.DeadlineExceeded)
		}
		if c.Err != nil {
			return &Unreached{c.URL, s.Blame(c.step, c.Err)}
		}
	}
	return err
}

func contacts(ctx context.Context, s targets.Spec, local targets.Local, quiet bool) ([]Contact, error) {
	if err := wire.Validate(s); err != nil {
		return nil, err
	}
	if err := cmp.Or(local.Validate(), s.CheckTables(local.Tables), s.CheckCredential(local)); err != nil {
		return nil, err
	}
	settled, unsettled := Settle(ctx, s, local)
	if s = settled; unsettled != nil {
		s.HTTP, s.Streams = targets.HTTP1, 0 // the contact explains better why
	}
	d, err := newDialer(s, local)
	if err != nil {
		return nil, err
	}
	var servers []*wire.Wire
	var found []Contact
	known := map[wire.Endpoint]bool{}
	for i, one := range s.Steps() {
		w, err := wire.NewStep(one, local, d.secure)
		if err != nil {
			return nil, s.Blame(i, err)
		}
		to := w.Endpoint()
		if _, rests := w.Rests(); rests || known[to] {
			continue
		}
		known[to] = true
		servers, found = append(servers, w), append(found, Contact{URL: one.Redacted().URL, Host: to.Address, step: i})
	}
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() {
			if server.Own() {
				found[i] = found[i].with(contactOwn(ctx, server, s, local))
				return
			}
			found[i] = found[i].with(contactOf(ctx, server, d, quiet))
		})
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
func opened(p *conn, began time.Time) Contact {
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
	c.Class = classes.Of(c.Err, rest)
	return c
}

// contact opens a connection, and asks what the protocol says before requests. A quiet one sends nothing that a run
// would count as a request. It ends by the deadline of ctx.
func contactOf(ctx context.Context, w *wire.Wire, d *dialer, quiet bool) Contact {
	if w.Three {
		return contactThree(ctx, w)
	}
	began, to := time.Now(), w.Endpoint()
	p, err := d.dial(ctx, to)
	if err != nil {
		rest := targets.ClassOther
		if to.Use == wire.UseRedis {
			rest = targets.ClassProtocol
		}
		return Contact{}.failed(ctx, err, rest)
	}
	defer p.Close()
	stop := context.AfterFunc(ctx, func() { _ = p.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	switch shown := opened(p, began); to.Use {
	case wire.UseWS:
		return contactWS(ctx, w, p, shown, quiet)
	case wire.UseRedis:
		return contactRedis(ctx, p, shown)
	case wire.UseRaw:
		return contactRaw(ctx, w, p, shown, quiet)
	default:
		return p.contactHTTP(ctx, shown)
	}
}

// contactOwn asks a scheme that is not ours.
func contactOwn(ctx context.Context, w *wire.Wire, s targets.Spec, local targets.Local) Contact {
	if err := w.Lacks(); err != nil {
		return Contact{}.failed(ctx, err, targets.ClassOther)
	}
	began := time.Now()
	asked, err := w.Reach(ctx, s, local)
	if err != nil {
		return Contact{}.failed(ctx, err, targets.ClassOther)
	}
	return Contact{Mute: !asked, Took: time.Since(began)}
}

// contactHTTP waits for the settings of HTTP/2, and for what the server says of our certificate.
func (p *conn) contactHTTP(ctx context.Context, shown Contact) Contact {
	if shown.HTTP = targets.HTTP1; p.to.Streams == 0 {
		if err := p.objection(max(shown.Took, shortest)); err != nil {
			return shown.failed(ctx, fmt.Errorf("dial %s: %w", p.to.Address, err), targets.ClassProtocol)
		}
		return shown
	}
	shown.HTTP = targets.HTTP2
	var err error
	// With TLS 1.3 a server that refuses our certificate says so only now.
	if shown.Streams, err = p.allowed(); err != nil && ctx.Err() == nil && !classes.IsTLS(err) {
		err = wire.ErrNoHTTP2
	}
	if err != nil {
		return shown.failed(ctx, fmt.Errorf("greet %s: %w", p.to.Address, err), targets.ClassProtocol)
	}
	return shown
}

// shortest is how long a server may take to refuse our certificate, at least.
const shortest = 50 * time.Millisecond

// allowed begins HTTP/2, and waits until the server has said how many streams it allows.
func (p *conn) allowed() (int64, error) {
	h, buf := http2.NewConn(http1.Limits{}), make([]byte, wire.ReadBuffer)
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
func contactWS(ctx context.Context, w *wire.Wire, p *conn, shown Contact, quiet bool) Contact {
	if quiet && w.Close {
		return shown
	}
	socket, err := w.Open(p, targets.Call{})
	if err != nil {
		return Contact{}.failed(ctx, fmt.Errorf("open a WebSocket to %s: %w", p.to.Address, err), targets.ClassOther)
	}
	if frame := socket.Bye(); frame != nil {
		_, _ = p.Write(frame) // the server may be gone
	}
	shown.Upgraded, shown.Subprotocol = true, socket.Chosen
	shown.Offered = strings.Contains(strings.ToLower(p.to.Login), "\r\nsec-websocket-protocol:")
	return shown
}

// contactRedis logs in, and asks who the server is.
func contactRedis(ctx context.Context, p *conn, shown Contact) Contact {
	if err := p.logIn(); err != nil {
		return Contact{}.failed(ctx, err, targets.ClassProtocol)
	}
	server, err := p.server()
	refused, replied := errors.AsType[resp.Error](err)
	if err == nil || replied { // a server that refuses to give its version is a Redis too
		shown.Redis = &server
	}
	if err != nil && !replied || refused.Name == resp.NoAuth { // it refuses requests likewise
		return shown.failed(ctx, fmt.Errorf("ask %s: %w", p.to.Address, err), targets.ClassProtocol)
	}
	return shown
}

// contactRaw sends the first payload, if a reply is expected and no earlier step has to answer before. A quiet one sends none.
func contactRaw(ctx context.Context, w *wire.Wire, p *conn, shown Contact, quiet bool) Contact {
	if quiet || !w.Replies() || w.Follows() {
		return shown
	}
	payload, began := first(w), time.Now()
	reply := w.Reply(nil)
	n, in, err := p.exchange(payload, reply)
	shown.Sent, shown.Waits = true, time.Since(began)
	shown.Reply = w.Outcome(reply, shown.Waits, blame(ctx, err), targets.ClassProtocol, nil)
	shown.Reply.BytesIn, shown.Reply.BytesOut = int64(in), int64(n)
	return shown
}

// first returns the bytes of the first request of a run.
func first(w *wire.Wire) []byte {
	if w.Request != nil {
		return slices.Clip(w.Request)
	}
	return w.Fill(nil, targets.Call{})
}

// exchange sends a payload, and reads the reply.
func (p *conn) exchange(payload []byte, reply *wire.Reply) (out, in int, err error) {
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
