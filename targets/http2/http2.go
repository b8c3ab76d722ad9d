// Package http2 is the client side of an HTTP/2 connection, without the socket: it turns requests into bytes to write,
// and bytes as they arrive into answers.
//
//	c := http2.NewConn(http1.Limits{})
//	var r http2.Request
//	err := r.Encode("https", []byte("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"))
//	…
//	var s http2.Stream
//	if c.Room() > 0 {
//		c.Open(&s, &r, http1.Limits{Body: 1 << 20})
//	}
//	for {
//		for out := c.Output(); len(out) > 0; out = c.Output() { // write, as much as the socket takes
//			n, err := conn.Write(out)
//			c.Wrote(n)
//			…
//		}
//		n, err := conn.Read(buf)
//		err = c.Feed(buf[:n]) // or c.Fail(err)
//		for s := c.Ended(); s != nil; s = c.Ended() {
//			fmt.Println(s.Status(), s.Err())
//		}
//	}
//
// A stream may stay open and carry one message after the other: see LongLived.
//
// Guarantees: it performs no I/O and never blocks, so it serves a goroutine as well as an event loop. The way the bytes
// are split over calls of Feed changes no result. Memory is bounded, whatever the server sends: header blocks by the
// limit of heads, bodies by what is kept of them, and unwritten output by a constant. In the steady state a small
// request costs no allocation, except for headers of the answer that the server does not index.
//
// It follows RFC 9113 and RFC 7541 strictly. A malformed answer ends its stream only. A peer that breaks the rules of
// the connection, pushes, or sends thousands of frames that carry nothing, ends the connection.
//
// Not here: sockets, TLS, the choice of the protocol, and deadlines.
package http2

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/net/http2"

	"github.com/loadctl/loadctl/targets/http1"
)

// What a Conn allows its peer, and what it takes of it. Sizes are in bytes.
const (
	streamWindow  = 1 << 20  // of a body, before the peer must wait for us; we never let it wait for long
	connWindow    = 16 << 20 // of all bodies together
	firstWindow   = 65535    // before anybody says another (RFC 9113, 6.9.2)
	largestWindow = math.MaxInt32
	frameSize     = 16384   // of the payload of a frame, both ways, before anybody says another (RFC 9113, 4.2)
	largestFrame  = 1 << 24 // no peer may allow as much
	tableSize     = 4096    // of the table of the header compression
	streamsAtOnce = 100     // if the peer names no number

	maxUnwritten = 64 << 10 // of output; beyond it no streams are opened and no bodies are taken
	maxReplies   = 64 << 10 // of unwritten output that the peer asked for
	maxIdle      = 10_000   // frames in a row that bring no request forward
	keptBuffer   = 4 << 10  // a longer header block or frame leaves no larger buffer behind
	keptContent  = 64 << 10 // the same for a body
	lastID       = math.MaxInt32
)

// unknown is the length of a body that no header gives.
const unknown = -1

// Errors of streams. See also package http1 for those of an answer that exceeds its limits, and io.ErrUnexpectedEOF.
var (
	// ErrUnprocessed says that the server closed the connection without looking at the request (GOAWAY with a lower
	// stream). Sent again, the request is still sent once.
	ErrUnprocessed = errors.New("the server closed the connection without processing the request")

	errCanceled  = errors.New("the request was canceled")
	errMalformed = errors.New("the answer is malformed")
	errLonger    = fmt.Errorf("%w: it is longer than its content-length", errMalformed)
	errShorter   = fmt.Errorf("%w: it is shorter than its content-length", errMalformed)
	errNoWindow  = fmt.Errorf("%w: the server enlarged its window by nothing", errMalformed)
	errWindow    = fmt.Errorf("%w: the server made its window too large", errMalformed)
)

// A ResetError says that the server ended the stream before the answer was complete (RFC 9113, 6.4).
type ResetError struct{ Code http2.ErrCode }

func (e ResetError) Error() string { return "the server reset the stream: " + e.Name() }

// Name returns the name of the code in RFC 9113, such as REFUSED_STREAM; UNKNOWN for codes that it does not define, so
// there are few.
func (e ResetError) Name() string {
	if e.Code > http2.ErrCodeHTTP11Required {
		return "UNKNOWN"
	}
	return e.Code.String()
}

// A violation ends the connection. The peer receives the code.
type violation struct {
	code http2.ErrCode
	err  error
}

func (v violation) Error() string { return fmt.Sprintf("HTTP/2: %v (%s)", v.err, v.code) }

func (v violation) Unwrap() error { return v.err }

// violated returns a violation of the rules of the protocol. The text completes "the server".
func violated(code http2.ErrCode, text string) error {
	return violation{code, errors.New("the server " + text)}
}

// malformed returns an error of an answer. The text completes "the answer is malformed:".
func malformed(text string) error { return fmt.Errorf("%w: %s", errMalformed, text) }

// codeOf returns what to send the peer about a stream that ends with an error of ours.
func codeOf(err error) http2.ErrCode {
	switch {
	case errors.Is(err, errWindow):
		return http2.ErrCodeFlowControl
	case errors.Is(err, errMalformed):
		return http2.ErrCodeProtocol
	case errors.Is(err, http1.ErrHead), errors.Is(err, http1.ErrInterim):
		return http2.ErrCodeEnhanceYourCalm
	}
	return http2.ErrCodeCancel
}
