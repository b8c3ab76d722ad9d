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
	"github.com/loadctl/loadctl/targets/http2"
)

// The classes of failed requests. The set is fixed, so that reports of different workers and versions can be merged;
// ClassOther takes the rest. If several classes fit, the first in this list is used.
const (
	ClassCanceled    = "canceled"    // the run ended, or the target was closed
	ClassTimeout     = "timeout"     // did not end in time, in any phase
	ClassDNS         = "dns"         // the host name does not resolve
	ClassDescriptors = "descriptors" // this process or machine has no file descriptor left (EMFILE): see ulimit -n
	ClassPorts       = "ports"       // this machine has no free local port for the address (EADDRNOTAVAIL)
	ClassConnect     = "connect"     // no connection: refused or unreachable
	ClassReset       = "reset"       // the connection was cut while in use (RST), or a stream of HTTP/2 or HTTP/3; its code may follow, after a space, or GOAWAY
	ClassTLS         = "tls"         // a certificate was rejected by either side, or there is no common version
	ClassBodyLimit   = "body-limit"  // the body of the answer is longer than the spec allows
	ClassHeadLimit   = "head-limit"  // status line, headers and trailers of the answer together exceed 64 KiB
	ClassEOF         = "eof"         // the server closed the connection before the answer was complete
	ClassProtocol    = "protocol"    // the answer does not follow the protocol
	ClassRedirect    = "redirect"    // more redirects than allowed, or to a host that is not allowed
	ClassStatus      = "status"      // a complete answer with an unexpected status
	ClassReply       = "reply"       // a complete answer that is an error of the protocol; its code may follow, after a space
	ClassClosed      = "closed"      // a closing frame, or the end of an open stream, came in place of the answer; its code may follow, after a space
	ClassRequest     = "request"     // the request cannot be made, so it was not sent: its JSON does not fit the message
	ClassOther       = "other"       // none of these
)

// classTake begins the class of an answer that lacks what the step takes; the name of the value follows. Class names have
// at most 64 bytes.
const classTake = "take "

// Classes returns all classes of every target, in the order of the constants. Checks and takes have classes of their own.
func Classes() []string {
	return []string{
		ClassCanceled, ClassTimeout, ClassDNS, ClassDescriptors, ClassPorts, ClassConnect, ClassReset,
		ClassTLS, ClassBodyLimit, ClassHeadLimit, ClassEOF, ClassProtocol, ClassRedirect, ClassStatus, ClassReply, ClassClosed, ClassRequest,
		ClassOther,
	}
}

// errBodyLimit says that a reply is too long.
var errBodyLimit = errors.New("the body is longer than the limit")

// A classified error knows its class.
type classified interface {
	error
	class() string
}

// classify returns the class of err, or rest if err does not determine it. The caller knows the phase in which err
// occurred.
func classify(err error, rest string) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return ClassCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return ClassTimeout // before DNS, because our own deadline may end a lookup
	}
	err = ofQUIC(err)
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return ClassDNS // before timeouts, because a name server may have its own timeout
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return ClassTimeout
	}
	if e, ok := errors.AsType[classified](err); ok {
		return e.class()
	}
	if e, ok := errors.AsType[http2.ResetError](err); ok {
		return ClassReset + " " + e.Name()
	}
	if class := classifyErrno(err); class != "" {
		return class
	}
	switch {
	case isTLS(err):
		return ClassTLS
	case errors.Is(err, errRequest):
		return ClassRequest
	case errors.Is(err, errBodyLimit):
		return ClassBodyLimit
	case errors.Is(err, http1.ErrHead):
		return ClassHeadLimit
	case errors.Is(err, http2.ErrUnprocessed):
		return ClassReset + " GOAWAY"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return ClassEOF
	}
	return rest
}

// classifyErrno returns the class of an error of the operating system; "" if it is unknown or no such error.
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

// isTLS reports whether err is an error of TLS itself rather than of the connection below. Alerts have no exported
// type; they are known by their operation.
func isTLS(err error) bool {
	if _, ok := errors.AsType[handshakeError](err); ok {
		// A handshake that was only cut off is no TLS error.
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
