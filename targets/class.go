package targets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/loadctl/loadctl/targets/http1"
)

// The classes of failed requests. The set is fixed, so that reports of
// different workers and versions can be merged; what does not fit is
// ClassOther. Where several fit, the one further up is given.
const (
	ClassCanceled    = "canceled"    // the run ended, or the target was closed
	ClassTimeout     = "timeout"     // not ended in time, whatever it was waiting for
	ClassDNS         = "dns"         // the host name does not resolve
	ClassDescriptors = "descriptors" // this process or machine has no file descriptor left (EMFILE): see ulimit -n
	ClassPorts       = "ports"       // this machine has no local port left for the address (EADDRNOTAVAIL)
	ClassConnect     = "connect"     // no connection: refused, unreachable
	ClassReset       = "reset"       // the connection was cut while in use (RST)
	ClassTLS         = "tls"         // certificate not accepted, by us or by them; no common version
	ClassBodyLimit   = "body-limit"  // the body of the answer is longer than the spec allows
	ClassHeadLimit   = "head-limit"  // status line, headers and trailers of the answer are longer than 64 KiB together
	ClassEOF         = "eof"         // the server closed the connection before the answer was complete
	ClassProtocol    = "protocol"    // the answer is not of the protocol
	ClassRedirect    = "redirect"    // more redirects than allowed, or to a host that is not
	ClassStatus      = "status"      // a complete answer with an unexpected status
	ClassOther       = "other"       // none of these
)

// Classes returns all classes, in the order of the constants.
func Classes() []string {
	return []string{
		ClassCanceled, ClassTimeout, ClassDNS, ClassDescriptors, ClassPorts, ClassConnect, ClassReset,
		ClassTLS, ClassBodyLimit, ClassHeadLimit, ClassEOF, ClassProtocol, ClassRedirect, ClassStatus, ClassOther,
	}
}

// Errors of our own that have a class.
var (
	errClosed    = errors.New("the target is closed")
	errBodyLimit = errors.New("the body is longer than the limit")
)

// classify returns the class of err, or rest if err does not tell: the caller
// knows in which phase it came.
func classify(err error, rest string) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled), errors.Is(err, errClosed):
		return ClassCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return ClassTimeout // before DNS: our own deadline may end a lookup
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return ClassDNS // before timeouts: a name server may have one of its own
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return ClassTimeout
	}
	if class := classifyErrno(err); class != "" {
		return class
	}
	switch {
	case isTLS(err):
		return ClassTLS
	case errors.Is(err, errBodyLimit):
		return ClassBodyLimit
	case errors.Is(err, http1.ErrHead):
		return ClassHeadLimit
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return ClassEOF
	}
	return rest
}

// classifyErrno classes what the operating system said; "" if it said nothing
// known.
func classifyErrno(err error) string {
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return ClassDescriptors
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EADDRINUSE):
		return ClassPorts
	case errors.Is(err, syscall.ECONNREFUSED), isOp && op.Op == "dial":
		return ClassConnect
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return ClassReset
	}
	return ""
}

// isTLS reports whether err is of TLS itself and not of what it runs over.
// Alerts have no exported type, only an operation of their own.
func isTLS(err error) bool {
	if _, ok := errors.AsType[handshakeError](err); ok {
		// A handshake that was only cut off says nothing about TLS.
		return !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return ok
}

// A handshakeError marks an error as one of the TLS handshake.
type handshakeError struct{ error }

func (e handshakeError) Unwrap() error { return e.error }
