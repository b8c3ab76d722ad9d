package classes

import (
	"crypto/tls"
	"errors"
	"io"
	"net"

	"github.com/quic-go/quic-go"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http3"
)

// ofQUIC replaces an error of QUIC by one that has the class of what happened. It returns other errors as they are.
func ofQUIC(err error) error {
	if e, ok := errors.AsType[*quic.StreamError](err); ok {
		return resetError{http3.CodeName(uint64(e.ErrorCode))}
	}
	if e, ok := errors.AsType[*quic.ApplicationError](err); ok {
		switch {
		case !e.Remote:
			return errThree
		case e.ErrorCode == http3.CodeNoError || e.ErrorCode == 0:
			return io.ErrUnexpectedEOF
		}
		return resetError{http3.CodeName(uint64(e.ErrorCode))}
	}
	if e, ok := errors.AsType[*quic.TransportError](err); ok {
		switch {
		case e.ErrorCode.IsCryptoError():
			if wrong, ours := errors.AsType[*tls.CertificateVerificationError](err); ours {
				return HandshakeError{wrong} // it says more than the code
			}
			return HandshakeError{err}
		case e.ErrorCode == quic.ConnectionRefused:
			return &net.OpError{Op: "dial", Net: "udp", Err: err}
		case e.ErrorCode == quic.NoError && e.Remote:
			return io.ErrUnexpectedEOF
		case !e.Remote:
			return errQUIC
		case e.ErrorCode <= quic.NoViablePathError:
			return resetError{e.ErrorCode.String()}
		}
		return resetError{}
	}
	if _, ok := errors.AsType[*quic.StatelessResetError](err); ok {
		return resetError{}
	}
	if _, ok := errors.AsType[*quic.VersionNegotiationError](err); ok {
		return errQUIC
	}
	if _, ok := errors.AsType[*quic.StreamLimitReachedError](err); ok {
		return errThree // not even a control stream is allowed
	}
	return err
}

// Errors of a server that breaks the rules.
const (
	errQUIC  protocolError = "the server does not follow QUIC"
	errThree protocolError = "the server does not follow HTTP/3"
)

// A protocolError says that a server breaks a protocol, at any time from the handshake on.
type protocolError string

func (e protocolError) Error() string { return string(e) }

func (e protocolError) Class() string { return targets.ClassProtocol }

// A resetError says that the server gave up a request or its connection, and why; "" if the reason has no name.
type resetError struct{ name string }

func (e resetError) Error() string { return "the server reset the stream: " + e.name }

func (e resetError) Class() string {
	if e.name == "" {
		return targets.ClassReset
	}
	return targets.ClassReset + " " + e.name
}
