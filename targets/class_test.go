package targets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
)

// Errors that are hard to cause are classified here; the others are in the tests of the target that meets them.
func TestClassify(t *testing.T) {
	dial := func(err error) error { return fmt.Errorf("dial a: %w", &net.OpError{Op: "dial", Net: "tcp", Err: err}) }
	read := func(err error) error {
		return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{context.Canceled, ClassCanceled},
		{context.DeadlineExceeded, ClassTimeout},
		{os.ErrDeadlineExceeded, ClassTimeout},
		{read(syscall.ETIMEDOUT), ClassTimeout},
		{dial(&net.DNSError{IsNotFound: true}), ClassDNS},
		{dial(&net.DNSError{IsTimeout: true}), ClassDNS},
		{dial(os.NewSyscallError("socket", syscall.EMFILE)), ClassDescriptors},
		{dial(os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)), ClassPorts},
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), ClassConnect},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), ClassConnect},
		{read(syscall.ECONNRESET), ClassReset},
		{read(syscall.EPIPE), ClassReset},
		{handshakeError{errors.New("tls: no common version")}, ClassTLS},
		{handshakeError{io.EOF}, ClassEOF},
		{handshakeError{read(syscall.ECONNRESET)}, ClassReset},
		{handshakeError{os.ErrDeadlineExceeded}, ClassTimeout},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(42)}, ClassTLS},
		{tls.RecordHeaderError{}, ClassTLS},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, ClassTLS},
		{x509.UnknownAuthorityError{}, ClassTLS},
		{errBodyLimit, ClassBodyLimit},
		{io.ErrUnexpectedEOF, ClassEOF},
		{errors.New("something"), "rest"},
	} {
		if got := classify(c.err, "rest"); got != c.want {
			t.Errorf("%v: got %s, want %s", c.err, got, c.want)
		}
		if c.want != "" && c.want != "rest" && !slices.Contains(Classes(), c.want) {
			t.Errorf("%s is missing in Classes", c.want)
		}
	}
}
