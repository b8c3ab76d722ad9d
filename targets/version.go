package targets

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
)

// The versions of HTTP that Spec.HTTP can name.
const (
	HTTP1    = "1.1"
	HTTP2    = "2"
	HTTP3    = "3"    // over QUIC; https only
	HTTPAuto = "auto" // what the server chooses of both, by ALPN (RFC 7301); 1.1 without TLS
)

// maxStreams bounds Spec.Streams. Servers allow 100 to 250, and more hide how long requests wait for one another.
const maxStreams = 1000

// version and streams are the values in effect.
func (s Spec) version() string {
	if IsGRPC(s.URL) {
		return HTTP2
	}
	return cmp.Or(s.HTTP, HTTP1)
}

func (s Spec) streams() int { return cmp.Or(s.Streams, 1) }

// Names of the versions in TLS (ALPN, RFC 7301).
const (
	protocolHTTP1 = "http/1.1"
	protocolHTTP2 = "h2"
)

// ErrNoHTTP2 says that a server was asked for HTTP/2, and has none.
var ErrNoHTTP2 = errors.New("the server does not speak HTTP/2")

// unagreed returns the error of a handshake that offered HTTP/2 or not: ErrNoHTTP2 if the server has none. Package tls has
// no type for what the server says then.
func unagreed(err error, offered bool) error {
	if offered && strings.Contains(err.Error(), "no application protocol") {
		return ErrNoHTTP2
	}
	return err
}

// protocols returns what connections with TLS offer: the one version that requests use.
func (s Spec) protocols() []string {
	if s.version() == HTTP2 {
		return []string{protocolHTTP2}
	}
	return []string{protocolHTTP1}
}

// checkVersion checks the version of HTTP, and what depends on it.
func checkVersion(s Spec) error {
	switch s.version() {
	case HTTP1, HTTP2, HTTP3, HTTPAuto:
	default:
		return fmt.Errorf("http: is %.20q; write %s, %s, %s or %s", s.HTTP, HTTP1, HTTP2, HTTP3, HTTPAuto)
	}
	switch {
	case s.Streams < 0 || s.Streams > maxStreams:
		return fmt.Errorf("streams: must be 1 to %d", maxStreams)
	case s.streams() > 1 && s.version() == HTTP1:
		return errors.New("streams: HTTP/1.1 carries one request at a time; add --http 2 or 3, or leave it out")
	case s.streams() > 1 && s.NoKeepAlive:
		return errors.New("streams: contradicts no-keep-alive; leave one of them out")
	}
	return nil
}

// errUnsettled says that a caller forgot Settle.
var errUnsettled = errors.New("http: auto is not settled")

// Settle returns the spec with a version of HTTP instead of HTTPAuto. It opens a connection to each https server and asks
// which it chooses, sends no request, and closes it. All servers must choose the same: a run has one version, so that
// its reports are of one kind. Other specs are returned as they are. The error says what to do.
func (s Spec) Settle(ctx context.Context, local Local) (Spec, error) {
	if s.version() != HTTPAuto {
		return s, nil
	}
	d, err := newDialer(s, local)
	if err != nil {
		return s, err
	}
	d.secure.NextProtos = []string{protocolHTTP2, protocolHTTP1}
	by, err := parseRoutes(s.ConnectTo)
	if err != nil {
		return s, err
	}
	chosen, server := "", ""
	asked := map[endpoint]bool{}
	for _, one := range s.steps() {
		_, u, err := one.kind()
		if err != nil {
			return s, err
		}
		if u.Scheme != "http" && u.Scheme != "https" {
			continue // others have no versions of HTTP
		}
		to := s.endpoint(u, by)
		if asked[to] {
			continue
		}
		asked[to] = true
		version, err := d.ask(ctx, to)
		switch {
		case err != nil:
			return s, fmt.Errorf("http: cannot ask the server for its version: %w; check --url, or give --http 1.1 or 2", err)
		case chosen != "" && version != chosen:
			return s, fmt.Errorf("http: %s speaks HTTP/%s, and %s HTTP/%s; give --http 1.1 or 2", server, chosen, to.address, version)
		}
		chosen, server = version, to.address
	}
	s.HTTP = chosen
	if s.HTTP == HTTP1 {
		s.Streams = 0
	}
	return s, nil
}

// ask returns the version of HTTP that a server chooses. Without TLS it cannot choose.
func (d *dialer) ask(ctx context.Context, to endpoint) (string, error) {
	if to.name == "" {
		return HTTP1, nil
	}
	c, err := d.dial(ctx, to)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if s, ok := c.Conn.(*tls.Conn); ok && s.ConnectionState().NegotiatedProtocol == protocolHTTP2 {
		return HTTP2, nil
	}
	return HTTP1, nil
}
