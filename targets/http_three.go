package targets

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"

	"github.com/quic-go/quic-go"

	"github.com/loadctl/loadctl/targets/http3"
)

// ErrNoQUIC says that no server answered. Over UDP silence is all that tells it, whatever the reason.
var ErrNoQUIC = errors.New("nothing there answers in HTTP/3 over UDP")

// checkThree checks what HTTP/3 needs beyond other versions.
func checkThree(s Spec, u *url.URL) error {
	switch {
	case s.version() != HTTP3:
		return nil
	case u.Scheme != "https":
		return errors.New("http: HTTP/3 needs https; write https:// in the URL, or leave out --http 3")
	case s.UnixSocket != "":
		return errors.New("unix socket: HTTP/3 goes over UDP; leave one of them out")
	}
	return nil
}

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
				return handshakeError{wrong} // it says more than the code
			}
			return handshakeError{err}
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

func (e protocolError) class() string { return ClassProtocol }

// A resetError says that the server gave up a request or its connection, and why; "" if the reason has no name.
type resetError struct{ name string }

func (e resetError) Error() string { return "the server reset the stream: " + e.name }

func (e resetError) class() string {
	if e.name == "" {
		return ClassReset
	}
	return ClassReset + " " + e.name
}
