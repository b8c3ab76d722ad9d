// Package classes finds the class of a failed request in the error that ended it: of the system, of TLS, of QUIC, or of a
// protocol. The classes are those of package targets.
//
//	outcome.Class = classes.Of(err, targets.ClassProtocol)
package classes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/reply"
)

// ErrRequest says that a message cannot be made for a call.
var ErrRequest = errors.New("the JSON does not fit the message")

// A classified error knows its class.
type classified interface {
	error
	Class() string
}

// Of returns the class of err, or rest if err does not determine it. The caller knows the phase in which err
// occurred.
func Of(err error, rest string) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return targets.ClassCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return targets.ClassTimeout // before DNS, because our own deadline may end a lookup
	}
	err = ofQUIC(err)
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return targets.ClassDNS // before timeouts, because a name server may have its own timeout
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return targets.ClassTimeout
	}
	if e, ok := errors.AsType[classified](err); ok {
		return e.Class()
	}
	if e, ok := errors.AsType[http2.ResetError](err); ok {
		return targets.ClassReset + " " + e.Name()
	}
	if class := classifyErrno(err); class != "" {
		return class
	}
	switch {
	case IsTLS(err):
		return targets.ClassTLS
	case errors.Is(err, ErrRequest):
		return targets.ClassRequest
	case errors.Is(err, reply.ErrTooLong):
		return targets.ClassBodyLimit
	case errors.Is(err, http1.ErrHead):
		return targets.ClassHeadLimit
	case errors.Is(err, http2.ErrUnprocessed):
		return targets.ClassReset + " GOAWAY"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return targets.ClassEOF
	}
	return rest
}

// classifyErrno returns the class of an error of the operating system; "" if it is unknown or no such error.
func classifyErrno(err error) string {
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return targets.ClassDescriptors
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EADDRINUSE):
		return targets.ClassPorts
	case errors.Is(err, syscall.ECONNREFUSED), isOp && op.Op == "dial":
		return targets.ClassConnect
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return targets.ClassReset
	}
	return ""
}

// IsTLS reports whether err is an error of TLS itself rather than of the connection below. Alerts have no exported
// type; they are known by their operation.
func IsTLS(err error) bool {
	if _, ok := errors.AsType[HandshakeError](err); ok {
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

// A HandshakeError marks an error as one of the TLS handshake.
type HandshakeError struct{ Err error }

func (e HandshakeError) Error() string { return e.Err.Error() }

func (e HandshakeError) Unwrap() error { return e.Err }
