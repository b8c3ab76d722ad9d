package http2test

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Types, flags and settings of RFC 9113, 6 and 7, written out: the table must not share a mistake with what it tests.
const (
	dataFrame    = 0
	headersFrame = 1
	priority     = 2
	rstStream    = 3
	settings     = 4
	pushPromise  = 5
	ping         = 6
	goAway       = 7
	windowUpdate = 8
	continuation = 9

	ack        = 0x1
	endStream  = 0x1
	endHeaders = 0x4
	padded     = 0x8
	weighted   = 0x20 // HEADERS begins with a priority

	tableSize  = 1
	enablePush = 2
	maxStreams = 3
	window     = 4
	maxFrame   = 5
)

// Frame returns a frame, right or wrong.
func Frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = binary.BigEndian.AppendUint32(append(b, flags), stream)
	return append(b, payload...)
}

// Data returns DATA.
func Data(stream uint32, body string, end bool) []byte {
	return Frame(dataFrame, flag(end, endStream), stream, []byte(body))
}

// Headers returns HEADERS with a whole block of names and values in turn, without any table.
func Headers(stream uint32, end bool, fields ...string) []byte {
	return Frame(headersFrame, flag(end, endStream)|endHeaders, stream, Block(fields...))
}

// Answer returns an answer 200 with the body "hello".
func Answer(stream uint32) []byte {
	return slices.Concat(Headers(stream, false, ":status", "200"), Data(stream, "hello", true))
}

// Settings returns SETTINGS with numbers and values in turn.
func Settings(pairs ...uint32) []byte {
	var b []byte
	for pair := range slices.Chunk(pairs, 2) {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(pair[0])), pair[1])
	}
	return Frame(settings, 0, 0, b)
}

// number returns a frame whose payload is a number: RST_STREAM or WINDOW_UPDATE.
func number(kind byte, stream, n uint32) []byte {
	return Frame(kind, 0, stream, binary.BigEndian.AppendUint32(nil, n))
}

// leave returns GOAWAY.
func leave(last, code uint32) []byte {
	return Frame(goAway, 0, 0, append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), code), "debug"...))
}

func flag(set bool, f byte) byte {
	if set {
		return f
	}
	return 0
}

// Block returns a header block of names and values in turn: literals that are not indexed.
func Block(fields ...string) []byte {
	var b []byte
	for pair := range slices.Chunk(fields, 2) {
		b = append(b, 0)
		b = appendText(b, pair[0])
		b = appendText(b, pair[1])
	}
	return b
}

// appendText appends a string of RFC 7541, 5.2.
func appendText(b []byte, s string) []byte {
	n := len(s)
	if n < 0x7f {
		return append(append(b, byte(n)), s...)
	}
	b = append(b, 0x7f)
	for n -= 0x7f; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(append(b, byte(n)), s...)
}

// repeat returns frames many times.
func repeat(n int, frames ...[]byte) []byte {
	return []byte(strings.Repeat(string(slices.Concat(frames...)), n))
}
