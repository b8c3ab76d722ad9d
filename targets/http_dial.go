package targets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"time"
)

// A dialer opens the connections of an HTTP target. It is safe for concurrent use. Go's resolver looks up the name for
// every connection.
type dialer struct {
	template net.Dialer
	secure   *tls.Config
	families []*family // of local addresses; none means that the system chooses

	// For handshakes of WebSocket.
	credential *Credential
	halted     func() bool // nil = never
	once       bool        // each request has a connection of its own
}

// newDialer reads the certificates. Both arguments must be valid.
func newDialer(s Spec, local Local) (*dialer, error) {
	secure, err := newSecure(s, local)
	if err != nil {
		return nil, err
	}
	d := &dialer{secure: secure, credential: local.Credential, halted: local.Halted, once: s.NoKeepAlive}
	// Probes of idle connections would be unrequested traffic, and cost four system calls for each connection.
	d.template.KeepAlive = -1
	if d.families = newFamilies(local.Addresses); len(d.families) > 0 {
		d.template.Control = bindLate
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

// dial opens a connection and, if the endpoint needs it, TLS on it. Both must be done by deadline, which stays set.
func (d *dialer) dial(ctx context.Context, deadline time.Time, to endpoint) (*conn, error) {
	// A deadline in the dialer saves a context and its timer.
	nd := d.template
	nd.Deadline = deadline
	raw, err := d.connect(ctx, nd, to)
	if err != nil {
		return nil, err // says "dial tcp 127.0.0.1:80: …" already
	}
	if err := raw.SetDeadline(deadline); err != nil {
		raw.Close()
		return nil, fmt.Errorf("dial %s: %w", to.address, err)
	}
	s := newSocket(raw)
	if to.name == "" {
		return d.enter(ctx, newConn(to, s, s))
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
	wire := tls.Client(s, config)
	if err := wire.HandshakeContext(ctx); err != nil {
		raw.Close()
		only := slices.Equal(config.NextProtos, []string{protocolHTTP2})
		return nil, fmt.Errorf("dial %s: %w", to.address, handshakeError{unagreed(err, only)})
	}
	if to.streams > 0 && wire.ConnectionState().NegotiatedProtocol != protocolHTTP2 {
		raw.Close()
		return nil, fmt.Errorf("dial %s: %w", to.address, handshakeError{ErrNoHTTP2})
	}
	s.greeted()
	return d.enter(ctx, newConn(to, s, wire))
}

// enter logs in, or makes the handshake of WebSocket, if the endpoint wants it, or begins HTTP/2. The deadline is that of
// the connection.
func (d *dialer) enter(ctx context.Context, c *conn) (*conn, error) {
	if c.to.streams > 0 {
		c.session = newSession(c)
	}
	if c.to.login == "" {
		return c, nil
	}
	switch c.to.use {
	case useWS:
		if err := d.upgrade(ctx, c); err != nil {
			c.close(false)
			return nil, fmt.Errorf("open a WebSocket to %s: %w", c.to.address, err)
		}
	case useRedis:
		if err := logIn(c.wire, c.to.login); err != nil {
			c.close(false)
			return nil, fmt.Errorf("log in to %s: %w", c.to.address, err)
		}
	}
	return c, nil
}
