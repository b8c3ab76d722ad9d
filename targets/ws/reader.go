package ws

import (
	"encoding/binary"
	"unicode/utf8"
)

// An Event is what a Reader has found.
type Event int

// The events.
const (
	Nothing    Event = iota // more bytes are needed
	GotMessage              // a message is complete
	GotPing                 // a ping is complete
	GotPong                 // a pong is complete
	GotClose                // a closing frame is complete; nothing that follows is read
)

// The other errors of a Reader.
const (
	errReserved     Error = "a frame has a reserved bit or opcode"
	errMasked       Error = "a frame of the server is masked"
	errUnmasked     Error = "a frame of the client is not masked"
	errControl      Error = "a control frame is fragmented, or longer than 125 bytes"
	errLength       Error = "the length of a frame is malformed"
	errContinuation Error = "a fragment belongs to no message"
	errInterrupted  Error = "a message begins in another one"
	errCode         Error = "a closing frame has a code that may not be sent"
	errAfterClose   Error = "nothing is read after a closing frame"
)

// A Reader reads what a peer sends, as its bytes arrive. The zero value reads what a server sends and keeps nothing. It
// is for one goroutine at a time.
type Reader struct {
	// Masked says that the peer is a client, whose frames are masked.
	Masked bool
	// Limit is the most bytes of a message; 0 means any number. It may be changed at any time.
	Limit int64
	// Keep is how many bytes of each message, from its beginning, Content returns. It may be changed between messages.
	Keep int

	// Of the frame.
	head      [mostHead]byte
	have      int   // bytes of the head that have come
	inPayload bool  // the head is complete
	left      int64 // bytes of the payload to come
	at        int64 // bytes of the payload that have come
	op        Opcode
	final     bool
	key       Key

	// Of the message.
	open    bool // has begun
	text    bool
	length  int64
	content []byte
	utf8    utf8Reader

	control []byte // payload of the control frame
	err     error
}

// keptContent is how much memory of the content is kept from one message to the next, in bytes.
const keptContent = 32 << 10

// Next reads bytes up to the next event, and reports how many. It keeps nothing of b, but unmasks it in place.
// Its error is an Error. After that, and after GotClose, it reads nothing more and returns an Error.
func (r *Reader) Next(b []byte) (n int, e Event, err error) {
	for n < len(b) && r.err == nil {
		if !r.inPayload {
			n += r.readHead(b[n:])
			if !r.inPayload {
				continue // the head is not complete, or wrong
			}
		}
		k := int(min(int64(len(b)-n), r.left))
		if r.err = r.readPayload(b[n : n+k]); r.err != nil {
			break
		}
		if n += k; r.left > 0 {
			continue
		}
		r.inPayload, r.have = false, 0
		if e, r.err = r.endFrame(); e == GotClose {
			r.err = errAfterClose
			return n, e, nil
		}
		if e != Nothing {
			return n, e, nil
		}
	}
	return n, Nothing, r.err
}

// Content is the beginning of the message: see Keep. It is valid until the next call of Next or Release.
func (r *Reader) Content() []byte { return r.content }

// Release frees the memory that a long message has taken, unless another one has begun. Content is then empty.
func (r *Reader) Release() {
	if !r.open {
		r.release()
	}
}

// release empties the content, and leaves no large buffer behind.
func (r *Reader) release() {
	if r.content = r.content[:0]; cap(r.content) > keptContent {
		r.content = nil
	}
}

// Length is how many bytes the message has.
func (r *Reader) Length() int64 { return r.length }

// Text reports whether the message is a text, and not binary.
func (r *Reader) Text() bool { return r.text }

// Begun reports whether a message, or a frame of one, has begun and is not complete.
func (r *Reader) Begun() bool { return r.open || r.have > 0 && !Opcode(r.head[0]&0xf).control() }

// Control is the payload of a ping or pong. It is valid until the next call of Next.
func (r *Reader) Control() []byte { return r.control }

// Code is that of a closing frame; NoCode if it has none.
func (r *Reader) Code() int {
	if len(r.control) < 2 {
		return NoCode
	}
	return int(binary.BigEndian.Uint16(r.control))
}

// readHead reads bytes of the head of a frame, and returns how many. It sets inPayload at the end of the head, or err.
func (r *Reader) readHead(b []byte) (n int) {
	for n < len(b) {
		r.head[r.have] = b[n]
		n++
		r.have++
		switch r.have {
		case 1:
			r.err = r.begin()
		case 2:
			r.err = r.checkSecond()
		}
		if r.err != nil {
			return n
		}
		if r.have >= 2 && r.have == r.headSize() {
			r.err = r.endHead()
			r.inPayload = r.err == nil
			return n
		}
	}
	return n
}

// headSize is how long the head is. Its second byte has come.
func (r *Reader) headSize() int {
	size := 2
	switch r.head[1] & 0x7f {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if r.Masked {
		size += 4
	}
	return size
}

// begin checks the first byte of a frame.
func (r *Reader) begin() error {
	r.final, r.op = r.head[0]&0x80 != 0, Opcode(r.head[0]&0xf)
	if r.head[0]&0x70 != 0 {
		return errReserved
	}
	switch r.op {
	case Continuation:
		if !r.open {
			return errContinuation
		}
	case Text, Binary:
		if r.open {
			return errInterrupted
		}
	case Close, Ping, Pong:
		if !r.final {
			return errControl
		}
	default:
		return errReserved
	}
	return nil
}

// checkSecond checks the second byte of a frame.
func (r *Reader) checkSecond() error {
	switch masked := r.head[1]&0x80 != 0; {
	case masked && !r.Masked:
		return errMasked
	case !masked && r.Masked:
		return errUnmasked
	case r.op.control() && r.head[1]&0x7f > MostControl:
		return errControl
	}
	return nil
}

// endHead reads the length, in the shortest of its forms, and the key. It prepares for the payload.
func (r *Reader) endHead() error {
	r.left, r.at, r.key = int64(r.head[1]&0x7f), 0, 0
	switch r.left {
	case 126:
		if r.left = int64(binary.BigEndian.Uint16(r.head[2:])); r.left <= 125 {
			return errLength
		}
	case 127:
		if r.left = int64(binary.BigEndian.Uint64(r.head[2:])); r.left <= 0xffff { // also if the highest bit is set
			return errLength
		}
	}
	if r.Masked {
		r.key = Key(binary.LittleEndian.Uint32(r.head[r.have-4:]))
	}
	if r.op.control() {
		r.control = r.control[:0]
		return nil
	}
	if r.op != Continuation {
		r.open, r.text, r.length, r.utf8 = true, r.op == Text, 0, utf8Reader{}
		r.release()
	}
	if r.Limit > 0 && r.left > r.Limit-r.length {
		return ErrTooLong
	}
	return nil
}

// readPayload takes bytes of the payload.
func (r *Reader) readPayload(b []byte) error {
	if r.key != 0 {
		r.key.mask(b, r.at)
	}
	r.at += int64(len(b))
	r.left -= int64(len(b))
	if r.op.control() {
		r.control = append(r.control, b...)
		return nil
	}
	r.length += int64(len(b))
	if room := r.Keep - len(r.content); room > 0 {
		r.content = append(r.content, b[:min(room, len(b))]...)
	}
	if r.text && !r.utf8.add(b) {
		return ErrUTF8
	}
	return nil
}

// endFrame returns the event at the end of a frame.
func (r *Reader) endFrame() (Event, error) {
	switch r.op {
	case Ping:
		return GotPing, nil
	case Pong:
		return GotPong, nil
	case Close:
		switch {
		case len(r.control) == 1, len(r.control) > 1 && !Known(r.Code()):
			return Nothing, errCode
		case len(r.control) > 2 && !utf8.Valid(r.control[2:]):
			return Nothing, ErrUTF8
		}
		return GotClose, nil
	}
	if !r.final {
		return Nothing, nil
	}
	r.open = false
	if r.text && !r.utf8.whole() {
		return Nothing, ErrUTF8
	}
	return GotMessage, nil
}

// A utf8Reader checks a text that comes in parts.
type utf8Reader struct {
	part [utf8.UTFMax]byte // the beginning of a character
	n    int
}

// add takes a part of the text, and reports whether it may be one.
func (u *utf8Reader) add(b []byte) bool {
	if u.n > 0 {
		for len(b) > 0 && !utf8.FullRune(u.part[:u.n]) {
			u.part[u.n] = b[0]
			u.n++
			b = b[1:]
		}
		if !utf8.FullRune(u.part[:u.n]) {
			return true
		}
		if _, size := utf8.DecodeRune(u.part[:u.n]); size != u.n {
			return false
		}
		u.n = 0
	}
	whole := len(b)
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				whole = i
			}
			break
		}
	}
	u.n = copy(u.part[:], b[whole:])
	return utf8.Valid(b[:whole])
}

// whole reports whether the text ends with a whole character.
func (u *utf8Reader) whole() bool { return u.n == 0 }
