// Package ws reads and writes the frames of WebSocket (RFC 6455), without sockets:
//
//	r := ws.Reader{Limit: 1 << 20, Keep: 1024}
//	for len(b) > 0 { // what a server has sent
//		n, event, err := r.Next(b)
//		if err != nil { … } // CloseCode says how to close
//		if event == ws.GotMessage { use(r.Content()) }
//		b = b[n:]
//	}
//	b = ws.AppendFrame(nil, ws.Text, []byte("hello"), ws.NewKey()) // what to send
//
// Guarantees: bytes may arrive in any parts. Memory is bounded by Reader.Keep and 125 bytes, whatever a peer sends or
// announces. A peer that breaks a rule of RFC 6455 gets an error at the first byte that shows it, and nothing of it is
// taken for a message.
//
// Not here: extensions, so there is no compression; the handshake, but for Accept; when to answer a ping.
package ws

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// An Opcode says what a frame is (RFC 6455, 5.2).
type Opcode byte

// The opcodes. All others are reserved.
const (
	Continuation Opcode = 0x0
	Text         Opcode = 0x1
	Binary       Opcode = 0x2
	Close        Opcode = 0x8
	Ping         Opcode = 0x9
	Pong         Opcode = 0xa
)

// control reports whether a frame may stand between the fragments of a message.
func (o Opcode) control() bool { return o&0x8 != 0 }

// Codes of closing (RFC 6455, 7.4.1). NoCode is never sent: it stands for a closing frame without a code.
const (
	Normal      = 1000
	GoingAway   = 1001
	BadProtocol = 1002
	NoCode      = 1005
	BadData     = 1007
	TooLong     = 1009
)

// MostControl is the most bytes that the payload of a control frame has.
const MostControl = 125

// An Error says what a peer does wrong (RFC 6455, 5 and 7.4).
type Error string

func (e Error) Error() string { return string(e) }

// Errors that have codes of their own.
const (
	ErrTooLong Error = "the message is longer than the limit"
	ErrUTF8    Error = "a text is not UTF-8"
)

// CloseCode returns the code with which to close a connection after the error.
func (e Error) CloseCode() int {
	switch e {
	case ErrTooLong:
		return TooLong
	case ErrUTF8:
		return BadData
	}
	return BadProtocol
}

// Known reports whether a code may stand in a closing frame: it has a meaning (RFC 6455, 7.4, and the registry of IANA),
// or is for libraries and applications.
func Known(code int) bool {
	switch {
	case code >= 1000 && code <= 1003, code >= 1007 && code <= 1014, code >= 3000 && code <= 4999:
		return true
	}
	return false
}

// Accept returns what a server answers to a Sec-WebSocket-Key (RFC 6455, 4.2.2).
func Accept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// A Key masks the frames of a client. 0 masks nothing: it is for servers.
type Key uint32

// NewKey returns a key that nobody can predict (RFC 6455, 5.3), and never 0.
func NewKey() Key {
	for {
		if k := Key(rand.Uint32()); k != 0 {
			return k
		}
	}
}

// mask masks or unmasks b, in place. The first byte is the one at place at of the payload.
func (k Key) mask(b []byte, at int64) {
	k = Key(bits.RotateLeft32(uint32(k), -8*int(at&3)))
	long := uint64(k)<<32 | uint64(k)
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^long)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= byte(long >> (8 * i))
	}
}

// mostHead is the most bytes that the head of a frame has.
const mostHead = 14

// appendHead appends the head of a whole message, or of a control frame.
func appendHead(b []byte, op Opcode, n int, key Key) []byte {
	var masked byte
	if key != 0 {
		masked = 0x80
	}
	b = append(b, 0x80|byte(op))
	switch {
	case n <= 125:
		b = append(b, masked|byte(n))
	case n <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, masked|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, masked|127), uint64(n))
	}
	if key != 0 {
		b = binary.LittleEndian.AppendUint32(b, uint32(key))
	}
	return b
}

// AppendFrame appends a whole message, or a control frame of at most MostControl bytes. A client needs a new key for
// each frame.
func AppendFrame(b []byte, op Opcode, payload []byte, key Key) []byte {
	b = appendHead(b, op, len(payload), key)
	at := len(b)
	b = append(b, payload...)
	if key != 0 {
		key.mask(b[at:], 0)
	}
	return b
}

// AppendFilled is AppendFrame for a payload that fill appends.
func AppendFilled(b []byte, op Opcode, fill func(b []byte) []byte, key Key) []byte {
	at := len(b)
	b = fill(append(b, make([]byte, mostHead)...))
	payload := b[at+mostHead:]
	var room [mostHead]byte
	head := appendHead(room[:0], op, len(payload), key)
	if key != 0 {
		key.mask(payload, 0)
	}
	copy(b[at+len(head):], payload)
	copy(b[at:], head)
	return b[:at+len(head)+len(payload)]
}

// AppendClose appends a closing frame. NoCode gives one without a code.
func AppendClose(b []byte, code int, key Key) []byte {
	if code == NoCode {
		return AppendFrame(b, Close, nil, key)
	}
	return AppendFrame(b, Close, []byte{byte(code >> 8), byte(code)}, key)
}
