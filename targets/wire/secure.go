package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/classes"
)

// NewSecure returns the settings of TLS for all connections; a copy of them needs the name of the server.
func NewSecure(s targets.Spec, local targets.Local) (*tls.Config, error) {
	config := &tls.Config{
		NextProtos:         protocols(s),
		InsecureSkipVerify: s.Insecure,
		// As browsers do, a connection resumes the session of an earlier one.
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
	if s.CA != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(s.CA))
	}
	var err error
	config.Certificates, err = certificates(local)
	return config, err
}

// Handshake makes TLS on a connection that was just opened. http2 says that the server must choose HTTP/2. The error is a
// classes.HandshakeError: of ErrNoHTTP2 if the server was offered nothing else, and has none.
func Handshake(ctx context.Context, c net.Conn, config *tls.Config, http2 bool) (*tls.Conn, error) {
	s := tls.Client(c, config)
	err := s.HandshakeContext(ctx)
	switch {
	case err == nil && http2 && s.ConnectionState().NegotiatedProtocol != ALPNHTTP2:
		err = ErrNoHTTP2
	case err != nil && slices.Equal(config.NextProtos, []string{ALPNHTTP2}) && strings.Contains(err.Error(), "no application protocol"):
		err = ErrNoHTTP2 // package tls has no type for what the server says then
	}
	if err != nil {
		return nil, classes.HandshakeError{Err: err}
	}
	return s, nil
}

// certificates reads the client certificate, if there is one.
func certificates(l targets.Local) ([]tls.Certificate, error) {
	if l.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(l.Cert, l.Key)
	if err != nil {
		return nil, fmt.Errorf("load client certificate: %w; give PEM files of a certificate and its key", err)
	}
	return []tls.Certificate{pair}, nil
}
