package wire

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/loadctl/loadctl/targets"
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
