package http3

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"strings"

	"github.com/quic-go/quic-go/quicvarint"

	"github.com/loadctl/loadctl/targets/http1"
)

// Defaults of http1.Limits, and how much memory a Response keeps from one answer to the next.
const (
	defaultInterim = 8
	keptBuffer     = 4 << 10  // bytes; a longer head leaves no larger buffer behind
	keptContent    = 64 << 10 // the same for a body
	longestValue   = 8 << 10  // of a header that is kept, bytes
)

// A state is what the next byte of an answer belongs to.
type state uint8

const (
	frameType state = iota
	frameLength
	payload
	failed // err says why
)

// A Response reads one answer after the other. The zero value is not ready: call Begin. It is for one goroutine at a
// time. It implements check.Answer.
type Response struct {
	// Began is when the first byte of the answer came, ns of the clock of http1.Hold. The caller sets it after Begin.
	Began int64

	// At is when the bytes of the next Feed were read, for Limits.Sink, ns of the same clock.
	At int64

	limits  http1.Limits
	toHead  bool // the request's method is HEAD
	state   state
	err     error
	number  []byte // the beginning of a number that has not ended
	frame   uint64 // its type
	left    uint64 // bytes of its payload still to come
	section []byte // the payload of HEADERS so far
	taken   int    // bytes of all but the body so far
	interim int    // answers 1xx so far
	trailed bool   // the trailers were read
	head    head
	body    int64 // bytes so far
	content []byte
	fields  []field
	last    memo
}

// A field is a header that is kept.
type field struct{ name, value string }

// Begin prepares r for the answer to the next request. head says that its method is HEAD, so that no body follows.
func (r *Response) Begin(l http1.Limits, head bool) {
	l.Head = cmp.Or(max(0, l.Head), mostHead)
	l.Interim = cmp.Or(max(0, l.Interim), defaultInterim)
	l.Body = cmp.Or(max(0, l.Body), math.MaxInt64)
	r.Release()
	*r = Response{limits: l, toHead: head, number: r.number[:0], section: r.section, content: r.content, last: r.last}
}

// Release frees the memory that a long head or body has taken. Content and Field are then empty.
func (r *Response) Release() {
	r.section, r.content, r.fields = r.section[:0], r.content[:0], nil
	if cap(r.section) > keptBuffer {
		r.section = nil
	}
	if cap(r.content) > keptContent {
		r.content = nil
	}
}

// Feed reads the next bytes of the answer's stream. After an error it returns that error again. It does not keep b.
func (r *Response) Feed(b []byte) error {
	for len(b) > 0 && r.state != failed {
		n, err := r.step(b)
		if err != nil {
			r.state, r.err = failed, err
		}
		b = b[n:]
	}
	return r.err
}

// step reads one part of a frame.
func (r *Response) step(b []byte) (int, error) {
	if r.state == payload {
		return r.pay(b)
	}
	n, used, ok := number(&r.number, b)
	if !ok {
		return used, nil
	}
	first := r.state == frameType
	if first {
		r.frame, r.state = n, frameLength
	}
	if r.frame != frameData {
		r.taken += quicvarint.Len(n)
	}
	switch {
	case r.taken > r.limits.Head:
		return used, http1.ErrHead
	case first:
		return used, r.fits(n)
	}
	r.left, r.state = n, payload
	return used, r.begin()
}

// fits reports whether a frame of this type may come now.
func (r *Response) fits(frame uint64) error {
	switch frame {
	case frameData:
		if r.Status() == 0 || r.trailed {
			return errFrame
		}
	case frameHeaders:
		if r.trailed {
			return errFrame
		}
	case frameCancelPush, frameSettings, framePushPromise, frameGoAway, frameMaxPushID:
		return errFrame
	}
	if ofHTTP2(frame) {
		return errFrame
	}
	return nil
}

// begin is called when the length of a frame is known.
func (r *Response) begin() error {
	switch {
	case r.frame == frameData && r.left > 0 && (r.toHead || r.head.bodyless()):
		return errBodyless
	case r.frame == frameData && r.head.sized && r.left > uint64(max(0, r.head.length-r.body)):
		return errLength
	case r.frame == frameData && r.left > uint64(r.limits.Body-r.body):
		return http1.ErrBody
	case r.frame == frameData:
		if r.left == 0 { // many empty frames are no progress
			r.taken += 2
		}
	case r.left > uint64(r.limits.Head-r.taken):
		return http1.ErrHead // of an unknown frame too
	}
	if r.left == 0 {
		return r.end(nil)
	}
	return nil
}

// pay reads the payload of a frame, or a part of it.
func (r *Response) pay(b []byte) (int, error) {
	n := int(min(r.left, uint64(len(b))))
	r.left -= uint64(n)
	switch r.frame {
	case frameData:
		r.body += int64(n)
		if room := r.limits.Content - len(r.content); room > 0 {
			r.content = append(r.content, b[:min(n, room)]...)
		}
		if r.limits.Sink != nil {
			if err := r.limits.Sink.Take(b[:n], r.left == 0, r.At); err != nil {
				return n, err
			}
		}
	case frameHeaders:
		r.taken += n
		if r.left > 0 || len(r.section) > 0 {
			r.section = append(r.section, b[:n]...)
		}
	default:
		r.taken += n
	}
	if r.left > 0 {
		return n, nil
	}
	return n, r.end(b[:n])
}

// end is called at the end of a frame. whole is the payload, unless it came in parts.
func (r *Response) end(whole []byte) error {
	r.state = frameType
	if r.frame != frameHeaders {
		return nil
	}
	if len(r.section) > 0 {
		whole = r.section
	}
	err := r.readSection(whole)
	r.section = r.section[:0]
	return err
}

// readSection reads a head or the trailers.
func (r *Response) readSection(section []byte) error {
	if r.head.code != 0 && !r.head.interim() {
		r.trailed = true
		_, err := readTrailers(section, r.limits.Head)
		return err
	}
	keep := r.limits.Fields
	if !keep && r.last.head.code != 0 && bytes.Equal(section, r.last.section) && !r.limits.Hold.Keeps(r.last.head.code, r.Began) {
		r.head = r.last.head
		r.sink()
		return nil
	}
	keep = keep || r.limits.Hold.Bytes > 0
	head, fields, err := readHead(section, r.limits.Head, keep)
	if err != nil {
		return err
	}
	r.head, r.fields = head, fields
	if head.interim() {
		if r.interim++; r.interim > r.limits.Interim {
			return http1.ErrInterim
		}
		return nil
	}
	if len(section) <= keptBuffer {
		r.last = memo{append(r.last.section[:0], section...), head}
	}
	r.sink()
	if r.limits.Hold.Keeps(head.code, r.Began) {
		r.limits.Content = max(r.limits.Content, r.limits.Hold.Bytes)
	}
	return nil
}

// sink asks the Sink whether it wants the body.
func (r *Response) sink() {
	if r.limits.Sink != nil && !r.limits.Sink.Expects(r.head.code) {
		r.limits.Sink = nil
	}
}

// A memo is the last head: servers send the same one until the second of their Date ends. Without a dynamic table, equal
// bytes are equal heads.
type memo struct {
	section []byte
	head    head
}

// End informs r that the server ended the stream. It returns nil if that ends the answer, and io.ErrUnexpectedEOF if
// something is missing. After an error of Feed it returns that error.
func (r *Response) End() error {
	switch {
	case r.state == failed:
		return r.err
	case r.state != frameType || len(r.number) > 0 || r.Status() == 0:
		return io.ErrUnexpectedEOF
	case r.head.sized && r.body < r.head.length && !r.toHead && !r.head.bodyless():
		return io.ErrUnexpectedEOF
	}
	return nil
}

// Status is the status code, 200 to 999; 0 until the head of the final answer was read. It stays if the body fails.
func (r *Response) Status() int {
	if r.head.interim() {
		return 0
	}
	return r.head.code
}

// Location is the target of a redirect, as the server wrote it; "" for other answers.
func (r *Response) Location() string { return r.head.location }

// Length is how many bytes of the body were read.
func (r *Response) Length() int64 { return r.body }

// Content is the body as far as it was read and kept. It is valid until the next call of Begin or Release.
func (r *Response) Content() []byte { return r.content }

// Fields calls f for each header that was kept, in their order, until f returns false.
func (r *Response) Fields(f func(name, value string) bool) {
	for _, one := range r.fields {
		if !f(one.name, one.value) {
			return
		}
	}
}

// Field returns the values of all headers with this name, whatever its case, in their order. Headers must have been kept.
// Values longer than 8 KiB are cut off.
func (r *Response) Field(name string) (values []string) {
	for _, f := range r.fields {
		if strings.EqualFold(f.name, name) {
			values = append(values, f.value)
		}
	}
	return values
}
