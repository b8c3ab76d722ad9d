package targets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"os"
	"syscall"
)

// Advise says in one line what to do about a server that could not be reached. The line begins with a verb, or with what
// the server does; "" if nothing is known but the error.
func Advise(err error) string {
	if advice := adviseTrust(err); advice != "" {
		return advice
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS: write http://, ws:// or grpc:// in --url"
	}
	switch {
	case errors.Is(err, ErrNoQUIC):
		return "check the port and firewalls, or leave out --http 3"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the server ended the connection: check --url, the port, and the scheme with TLS (https, wss, grpcs) or without"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "the server did not answer in time: check --url, the scheme with TLS (https, wss, grpcs) or without, and firewalls"
	}
	return ""
}

// adviseTrust says what to do about a certificate that is not accepted; "" if that is not the error.
func adviseTrust(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "trust its authority with --cacert FILE, or accept any certificate with -k"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "write the name in its certificate in --url and its address in --connect-to, or accept any certificate with -k"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "renew the certificate of the server, set the clock of this machine, or accept any certificate with -k"
	}
	return ""
}
