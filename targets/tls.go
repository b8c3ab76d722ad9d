package targets

import (
	"crypto/tls"
	"errors"
	"time"
)

// A TLS is what the TLS of a connection agreed, and the certificate of its server. Of a handshake that failed because of the
// certificate it has that one alone.
type TLS struct {
	Version  string    // such as "TLS 1.3"; "" = none was agreed
	Cipher   string    // such as "TLS_AES_128_GCM_SHA256"
	Protocol string    // agreed by ALPN, such as "h2"; "" = none
	Server   string    // the name that was asked for (SNI); "" = none
	Subject  string    // of the certificate, as are the others below
	Issuer   string    //
	NotAfter time.Time // when it ends; zero = it is not known
	Resumed  bool      // an earlier session went on: the server did not send its certificate again
}

// TLSOf returns what a connection agreed.
func TLSOf(s tls.ConnectionState) *TLS {
	t := &TLS{Version: tls.VersionName(s.Version), Cipher: tls.CipherSuiteName(s.CipherSuite), Protocol: s.NegotiatedProtocol, Server: s.ServerName, Resumed: s.DidResume}
	if len(s.PeerCertificates) > 0 {
		c := s.PeerCertificates[0]
		t.Subject, t.Issuer, t.NotAfter = c.Subject.String(), c.Issuer.String(), c.NotAfter
	}
	return t
}

// RefusedTLS returns the certificate that err refused; nil if it is about none.
func RefusedTLS(err error) *TLS {
	refused, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok || len(refused.UnverifiedCertificates) == 0 {
		return nil
	}
	c := refused.UnverifiedCertificates[0]
	return &TLS{Subject: c.Subject.String(), Issuer: c.Issuer.String(), NotAfter: c.NotAfter}
}
