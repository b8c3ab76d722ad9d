package classes

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

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/reply"
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
		{context.Canceled, targets.ClassCanceled},
		{context.DeadlineExceeded, targets.ClassTimeout},
		{os.ErrDeadlineExceeded, targets.ClassTimeout},
		{read(syscall.ETIMEDOUT), targets.ClassTimeout},
		{dial(&net.DNSError{IsNotFound: true}), targets.ClassDNS},
		{dial(&net.DNSError{IsTimeout: true}), targets.ClassDNS},
		{dial(os.NewSyscallError("socket", syscall.EMFILE)), targets.ClassDescriptors},
		{dial(os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)), targets.ClassPorts},
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), targets.ClassConnect},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), targets.ClassConnect},
		{read(syscall.ECONNRESET), targets.ClassReset},
		{read(syscall.EPIPE), targets.ClassReset},
		{HandshakeError{errors.New("tls: no common version")}, targets.ClassTLS},
		{HandshakeError{io.EOF}, targets.ClassEOF},
		{HandshakeError{read(syscall.ECONNRESET)}, targets.ClassReset},
		{HandshakeError{os.ErrDeadlineExceeded}, targets.ClassTimeout},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(42)}, targets.ClassTLS},
		{tls.RecordHeaderError{}, targets.ClassTLS},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, targets.ClassTLS},
		{x509.UnknownAuthorityError{}, targets.ClassTLS},
		{reply.ErrTooLong, targets.ClassBodyLimit},
		{io.ErrUnexpectedEOF, targets.ClassEOF},
		{errors.New("something"), "rest"},
	} {
		if got := Of(c.err, "rest"); got != c.want {
			t.Errorf("%v: got %s, want %s", c.err, got, c.want)
		}
		if c.want != "" && c.want != "rest" && !slices.Contains(targets.Classes(), c.want) {
			t.Errorf("%s is missing in Classes", c.want)
		}
	}
}
