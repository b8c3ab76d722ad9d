package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// A dialer opens probes. It is safe for concurrent use.
type dialer struct {
	template net.Dialer
	secure   *tls.Config
	locals   []net.IP // none means that the system chooses
}

// A probe is a connection that asks something about a server. It carries no load.
type conn struct {
	net.Conn // with TLS, if the endpoint has it
	to       wire.Endpoint
}

// newDialer reads the certificates. Both arguments must be valid.
func newDialer(s targets.Spec, local targets.Local) (*dialer, error) {
	secure, err := wire.NewSecure(s, local)
	if err != nil {
		return nil, err
	}
	d := &dialer{secure: secure}
	d.template.KeepAlive = -1 // no unrequested traffic
	for _, text := range local.Addresses {
		d.locals = append(d.locals, net.ParseIP(text))
	}
	return d, nil
}

// dial opens a connection and, if the endpoint needs it, TLS on it. Both must be done by the deadline of ctx, which stays set.
func (d *dialer) dial(ctx context.Context, to wire.Endpoint) (*conn, error) {
	raw, err := d.connect(ctx, to)
	if err != nil {
		return nil, err // says "dial tcp 127.0.0.1:80: …" already
	}
	deadline, _ := ctx.Deadline()
	if err := raw.SetDeadline(deadline); err != nil {
		raw.Close()
		return nil, fmt.Errorf("dial %s: %w", to.Address, err)
	}
	if to.Name == "" {
		return &conn{raw, to}, nil
	}
	// The name is that of the URL, not of the address after ConnectTo or the Host header: it is the server that the
	// user means.
	config := d.secure.Clone()
	config.ServerName = to.Name
	switch {
	case to.Streams > 0: // also beside requests over HTTP/1.1
		config.NextProtos = []string{wire.ALPNHTTP2}
	case to.Use == wire.UseWS: // also beside requests over HTTP/2
		config.NextProtos = []string{wire.ALPNHTTP1}
	case to.Use != "":
		config.NextProtos = nil
	}
	secure, err := wire.Handshake(ctx, raw, config, to.Streams > 0)
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("dial %s: %w", to.Address, err)
	}
	return &conn{secure, to}, nil
}

// connect opens a connection to an endpoint. If local addresses were given, it uses the first one of each kind that the
// endpoint has too.
func (d *dialer) connect(ctx context.Context, to wire.Endpoint) (net.Conn, error) {
	if to.Network == "unix" || len(d.locals) == 0 {
		return d.template.DialContext(ctx, to.Network, to.Address)
	}
	err := error(&net.OpError{Op: "dial", Net: to.Network, Err: wire.ErrNoLocal})
	for _, v4 := range []bool{true, false} {
		i := slices.IndexFunc(d.locals, func(ip net.IP) bool { return (ip.To4() != nil) == v4 })
		if i < 0 {
			continue
		}
		from, suffix := d.template, "6"
		if v4 {
			suffix = "4"
		}
		from.LocalAddr = &net.TCPAddr{IP: d.locals[i]}
		if to.Network == "udp" {
			from.LocalAddr = &net.UDPAddr{IP: d.locals[i]}
		}
		c, failed := from.DialContext(ctx, to.Network+suffix, to.Address)
		if failed == nil {
			return c, nil
		}
		// Package net says in this way that the endpoint is not of the family.
		if _, other := errors.AsType[*net.AddrError](failed); !other {
			err = failed
		}
	}
	return nil, err
}

// objection waits for what a server says of our certificate. With TLS 1.3 a client is done before the server has seen that.
// Silence is consent.
func (p *conn) objection(wait time.Duration) error {
	if _, secure := p.Conn.(*tls.Conn); !secure {
		return nil
	}
	_ = p.SetReadDeadline(time.Now().Add(wait))
	_, err := p.Read(make([]byte, 1))
	if isTimeout(err) {
		return nil
	}
	return err
}

// isTimeout reports whether err is an expired deadline.
func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// blame distinguishes two reasons why a connection reaches its deadline: the request took too long, or ctx ended and
// caused it.
func blame(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || !isTimeout(err) {
		return err
	}
	return ctx.Err()
}
