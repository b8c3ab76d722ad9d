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
var ErrNoQUIC = errors.New("nothing answers there over UDP; does the server speak HTTP/3?")

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

// Dropped returns how many datagrams this machine threw away because they came faster than they were read: those at the
// sockets of all steps of the workload, since their start. Only HTTP/3 has some.
func (t *httpTarget) Dropped() int64 { return t.pool.dropped() }

// told replaces an error of QUIC by one that has the class of what happened.
func (s *threeSession) told(err error, stream *quic.Stream) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*quic.StreamError](err); ok {
		if !e.Remote && s.refused(stream) {
			return errGoAway
		}
		return resetError{http3.CodeName(uint64(e.ErrorCode))}
	}
	return toldQUIC(err)
}

// toldQUIC does so for the end of a connection. It returns other errors as they are.
func toldQUIC(err error) error {
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

// errGoAway says that the server went away and did not process the request.
var errGoAway = resetError{"GOAWAY"}

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
