package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/resp"
	"github.com/loadctl/loadctl/targets/wire"
)

// TestAdvise: each common error of a first connection has an advice of its own, however deep it is wrapped.
func TestAdvise(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{x509.UnknownAuthorityError{}, "--cacert"},
		{x509.HostnameError{Certificate: new(x509.Certificate), Host: "h"}, "--connect-to"},
		{x509.CertificateInvalidError{Cert: new(x509.Certificate), Reason: x509.Expired}, "renew the certificate"},
		{x509.CertificateInvalidError{Cert: new(x509.Certificate), Reason: x509.NotAuthorizedToSign}, ""},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: protocol version not supported")}, "let it speak TLS 1.2 or 1.3"},
		{errors.New("tls: server selected unsupported protocol version 302"), "let it speak TLS 1.2 or 1.3"},
		{resp.Error{Name: targets.ClassReply + " NOAUTH"}, "the server wants a password"},
		{resp.Error{Name: targets.ClassReply + " WRONGPASS"}, ""},
		{tls.RecordHeaderError{}, "does not speak TLS: write http:// in --url"},
		{wire.ErrNoQUIC, "leave out --http 3"},
		{io.EOF, "ended the connection"},
		{io.ErrUnexpectedEOF, "ended the connection"},
		{syscall.ECONNRESET, "ended the connection"},
		{context.DeadlineExceeded, "did not answer in time"},
		{syscall.ECONNREFUSED, ""},
	} {
		got := Advise(fmt.Errorf("dial h:1: %w", &tls.CertificateVerificationError{Err: c.err}), "https://h")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
