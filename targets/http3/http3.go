// Package http3 makes requests and reads answers of HTTP/3 (RFC 9114), as the bytes of a stream.
//
//	var e http3.Encoder
//	frames := e.Append(nil, []byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"))
//	…
//	var r http3.Response
//	r.Begin(http1.Limits{Body: 1 << 20}, false)
//	err := r.Feed(buf[:n]) // for each part of the stream
//	err = r.End()          // at its end
//
// Guarantees: it performs no I/O and never blocks. The way the bytes are split over calls of Feed changes no result.
// What it keeps of an answer is bounded by http1.Limits, whatever a server sends. It uses no dynamic table of QPACK (RFC
// 9204), so each field section stands for itself, and no stream waits for another.
//
// Not here: QUIC, and who may use a connection (package targets).
package http3

import (
	"errors"
	"strconv"

	"github.com/quic-go/quic-go/quicvarint"
)

// ALPN is the name of HTTP/3 in TLS (RFC 9114, section 3.1).
const ALPN = "h3"

// The types of frames (RFC 9114, section 7.2).
const (
	frameData        = 0x0
	frameHeaders     = 0x1
	frameCancelPush  = 0x3
	frameSettings    = 0x4
	framePushPromise = 0x5
	frameGoAway      = 0x7
	frameMaxPushID   = 0xd
)

// ofHTTP2 reports whether a type of frame is one of HTTP/2 that HTTP/3 forbids (RFC 9114, section 7.2.8).
func ofHTTP2(frame uint64) bool { return frame == 0x2 || frame == 0x6 || frame == 0x8 || frame == 0x9 }

// The types of streams in one direction (RFC 9114, section 6.2, and RFC 9204, section 4.2).
const (
	StreamControl = 0x0
	StreamPush    = 0x1
	StreamEncoder = 0x2
	StreamDecoder = 0x3
)

// The codes that this client sends (RFC 9114, section 8.1, and RFC 9204, section 6).
const (
	CodeNoError         = 0x100
	CodeStreamCreation  = 0x103
	CodeClosedCritical  = 0x104
	CodeFrameUnexpected = 0x105
	CodeExcessiveLoad   = 0x107
	CodeID              = 0x108
	CodeMissingSettings = 0x10a
	CodeCanceled        = 0x10c
	CodeMessage         = 0x10e
	CodeDecompression   = 0x200
)

// CodeName returns the name of a code of HTTP/3 or QPACK; "" if it has none.
func CodeName(code uint64) string {
	names := [...]string{
		"NO_ERROR", "GENERAL_PROTOCOL_ERROR", "INTERNAL_ERROR", "STREAM_CREATION_ERROR", "CLOSED_CRITICAL_STREAM",
		"FRAME_UNEXPECTED", "FRAME_ERROR", "EXCESSIVE_LOAD", "ID_ERROR", "SETTINGS_ERROR", "MISSING_SETTINGS",
		"REQUEST_REJECTED", "REQUEST_CANCELLED", "REQUEST_INCOMPLETE", "MESSAGE_ERROR", "CONNECT_ERROR", "VERSION_FALLBACK",
	}
	if i := code - CodeNoError; i < uint64(len(names)) {
		return "H3_" + names[i]
	}
	if qpack := [...]string{"DECOMPRESSION_FAILED", "ENCODER_STREAM_ERROR", "DECODER_STREAM_ERROR"}; code-0x200 < uint64(len(qpack)) {
		return "QPACK_" + qpack[code-0x200]
	}
	return ""
}

// mostHead bounds what a server may put into one field section, in bytes as RFC 9114, section 4.2.2, counts them.
const mostHead = 64 << 10

// Preface returns what the control stream of a client begins with: its type and SETTINGS. There is no dynamic table, and
// a head has at most 64 KiB.
func Preface() []byte {
	const maxFieldSection = 0x6
	settings := quicvarint.Append(quicvarint.Append(nil, maxFieldSection), mostHead)
	b := quicvarint.Append([]byte{StreamControl, frameSettings}, uint64(len(settings)))
	return append(b, settings...)
}

// Padding returns a frame without a meaning, for the control stream (RFC 9114, section 7.2.8). A server that is there
// confirms its packet. It is long enough for a stateless reset of a server that was restarted (RFC 9000, section 10.3).
func Padding() []byte {
	const length = 40
	return append([]byte{0x21, length}, make([]byte, length)...)
}

// What is wrong with an answer, or a control stream. Errors are built once, so none says where it occurred.
var (
	errFrame    = errors.New("the answer has a frame of HTTP/3 at a wrong place")
	errField    = errors.New("a header of the answer is malformed")
	errStatus   = errors.New("the answer's status is malformed")
	errLength   = errors.New("the answer's Content-Length is not that of its body")
	errBodyless = errors.New("the answer has a body, and must not have one")
	errQPACK    = errors.New("the head of the answer is not of QPACK without a dynamic table")
	errControl  = errors.New("the control stream of the server is malformed")
)

// Fault returns the code that says to the server why an answer was given up, and whether the error ends the connection.
func Fault(err error) (code uint64, connection bool) {
	switch {
	case errors.Is(err, errFrame):
		return CodeFrameUnexpected, true
	case errors.Is(err, errQPACK):
		return CodeDecompression, true
	case errors.Is(err, errField), errors.Is(err, errStatus), errors.Is(err, errLength), errors.Is(err, errBodyless):
		return CodeMessage, false
	}
	return CodeCanceled, false
}

// number reads a number of QUIC at the beginning of what was kept and b, together. It returns how many bytes of b it
// used. ok is false if more bytes are needed; then all of b is kept.
func number(kept *[]byte, b []byte) (n uint64, used int, ok bool) {
	if len(*kept) == 0 && len(b) > 0 && b[0] < 0x40 {
		return uint64(b[0]), 1, true
	}
	for used < len(b) {
		*kept = append(*kept, b[used])
		used++
		if n, _, err := quicvarint.Parse(*kept); err == nil {
			*kept = (*kept)[:0]
			return n, used, true
		}
	}
	return 0, used, false
}

// digits reads a number of bytes; false if it is none.
func digits(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil
}
