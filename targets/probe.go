package targets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// A dialer opens probes. It is safe for concurrent use.
type dialer struct {
	template net.Dialer
	secure   *tls.Config
	locals   []net.IP // none means that the system chooses
}

// A probe is a connection that asks something about a server. It carries no load.
type probe struct {
	net.Conn // with TLS, if the endpoint has it
	to       endpoint
}

// newDialer reads the certificates. Both arguments must be valid.
func newDialer(s Spec, local Local) (*dialer, error) {
	secure, err := newSecure(s, local)
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

// newSecure returns the settings of TLS for all connections; a copy of them needs the name of the server.
func newSecure(s Spec, local Local) (*tls.Config, error) {
	config := &tls.Config{
		NextProtos:         s.protocols(),
		InsecureSkipVerify: s.Insecure,
		// As browsers do, a connection resumes the session of an earlier one.
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
	if s.CA != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(s.CA))
	}
	var err error
	config.Certificates, err = local.certificates()
	return config, err
}

// certificates reads the client certificate, if there is one.
func (l Local) certificates() ([]tls.Certificate, error) {
	if l.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(l.Cert, l.Key)
	if err != nil {
		return nil, fmt.Errorf("load client certificate: %w; give PEM files of a certificate and its key", err)
	}
	return []tls.Certificate{pair}, nil
}

// dial opens a connection and, if the endpoint needs it, TLS on it. Both must be done by the deadline of ctx, which stays set.
func (d *dialer) dial(ctx context.Context, to endpoint) (*probe, error) {
	raw, err := d.connect(ctx, to)
	if err != nil {
		return nil, err // says "dial tcp 127.0.0.1:80: …" already
	}
	deadline, _ := ctx.Deadline()
	if err := raw.SetDeadline(deadline); err != nil {
		raw.Close()
		return nil, fmt.Errorf("dial %s: %w", to.address, err)
	}
	if to.name == "" {
		return &probe{raw, to}, nil
	}
	// The name is that of the URL, not of the address after ConnectTo or the Host header: it is the server that the
	// user means.
	config := d.secure.Clone()
	config.ServerName = to.name
	switch {
	case to.streams > 0: // also beside requests over HTTP/1.1
		config.NextProtos = []string{protocolHTTP2}
	case to.use == useWS: // also beside requests over HTTP/2
		config.NextProtos = []string{protocolHTTP1}
	case to.use != "":
		config.NextProtos = nil
	}
	secure := tls.Client(raw, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		only := slices.Equal(config.NextProtos, []string{protocolHTTP2})
		return nil, fmt.Errorf("dial %s: %w", to.address, handshakeError{unagreed(err, only)})
	}
	if to.streams > 0 && secure.ConnectionState().NegotiatedProtocol != protocolHTTP2 {
		raw.Close()
		return nil, fmt.Errorf("dial %s: %w", to.address, handshakeError{ErrNoHTTP2})
	}
	return &probe{secure, to}, nil
}

// ErrNoLocal says that all addresses of a host are of another kind (IPv4 or IPv6) than those of Local.
var ErrNoLocal = errors.New("no address of the host fits the local addresses")

// connect opens a connection to an endpoint. If local addresses were given, it uses the first one of each kind that the
// endpoint has too.
func (d *dialer) connect(ctx context.Context, to endpoint) (net.Conn, error) {
	if to.network == "unix" || len(d.locals) == 0 {
		return d.template.DialContext(ctx, to.network, to.address)
	}
	err := error(&net.OpError{Op: "dial", Net: to.network, Err: ErrNoLocal})
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
		if to.network == "udp" {
			from.LocalAddr = &net.UDPAddr{IP: d.locals[i]}
		}
		c, failed := from.DialContext(ctx, to.network+suffix, to.address)
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
func (p *probe) objection(wait time.Duration) error {
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
