package http2

import (
	"bytes"
	"strings"

	"github.com/loadctl/loadctl/targets/http1"
)

// A Stream is one request in flight, and its answer. The zero value is ready for Conn.Open, and so is one that has ended
// or was canceled. It is for the goroutine that has the Conn; after its end, for one goroutine at a time.
type Stream struct {
	Owner any // the caller's; no function of this package uses it

	id     uint32
	limits http1.Limits
	toHead bool  // the method is HEAD
	at     int64 // how much output there was before the request
	body   []byte
	queued bool  // it waits for its turn to send of its body
	window int64 // bytes that we may send; negative after the peer lowered it (RFC 9113, 6.9.2)
	credit int64 // bytes that the peer may send
	taken  int64 // bytes that it has sent since we last gave it more
	in     int
	out    int

	first     int64 // when the first byte of the answer came: see Conn.At
	interim   int   // answers 1xx so far
	headSize  int   // of all header blocks so far, as RFC 9113, 6.5.2 counts it
	length    int64 // of the body, as the headers say; unknown if they do not
	status    int
	got       int64 // bytes of the body so far
	messages  messages
	longLived longLived
	err       error

	goal     []byte
	content  []byte
	fields   []byte // "name:value\n" for each header of the last head
	trailers []byte // the same for trailers
}

// begin prepares s for a request.
func (s *Stream) begin(id uint32, r *Request, l http1.Limits) {
	s.Release()
	*s = Stream{
		Owner: s.Owner, id: id, limits: l.InEffect(), toHead: r.head, body: r.body, credit: streamWindow, length: unknown, longLived: longLived{kind: r.LongLived},
		goal: s.goal[:0], content: s.content[:0], fields: s.fields[:0], trailers: s.trailers[:0],
	}
}

// begun notes when the answer began.
func (s *Stream) begun(at int64) {
	if s.first != 0 {
		return
	}
	if s.first = at; s.status != 0 { // a reply on a stream that stays open
		s.hold()
	}
}

// hold keeps more of the answer than was asked for, if it is one of those.
func (s *Stream) hold() {
	if s.limits.Hold.Keeps(s.status, s.first) {
		s.limits.Content = max(s.limits.Content, s.limits.Hold.Bytes)
	}
}

// Release frees the memory that a long answer has taken, and forgets the body of the request. Call it when the answer
// has been read: the next Open does the same, but may be far away. Location, Content, Field and Trailer are then empty.
func (s *Stream) Release() {
	s.goal, s.fields, s.trailers, s.content, s.body = kept(s.goal), kept(s.fields), kept(s.trailers), s.content[:0], nil
	if cap(s.content) > keptContent {
		s.content = nil
	}
}

// kept returns a buffer, emptied; nil if it has grown too large.
func kept(buf []byte) []byte {
	if cap(buf) > keptBuffer {
		return nil
	}
	return buf[:0]
}

// Err is nil if the answer is complete. It is known when Conn.Ended has returned s.
func (s *Stream) Err() error { return s.err }

// Status is the status code, 200 to 999; 0 until the whole head has been read. It stays if the body fails. Interim
// answers do not set it.
func (s *Stream) Status() int { return s.status }

// Content is the body as far as it was read and kept: see http1.Limits. It is valid until the next Open or Release.
func (s *Stream) Content() []byte { return s.content }

// Length is how many bytes of the body were read.
func (s *Stream) Length() int64 { return s.got }

// Field returns the values of all headers with this name, whatever its case, in their order. Headers must have been
// kept: see http1.Limits.
func (s *Stream) Field(name string) []string { return valuesOf(s.fields, name) }

// Trailer is Field for the headers after the body. An answer without a body has none: its headers are all in its head,
// as gRPC uses it.
func (s *Stream) Trailer(name string) []string { return valuesOf(s.trailers, name) }

func valuesOf(fields []byte, name string) (values []string) {
	lower := strings.ToLower(name)
	for line := range bytes.Lines(fields) {
		if field, value, _ := bytes.Cut(line[:len(line)-1], []byte(":")); string(field) == lower {
			values = append(values, string(value))
		}
	}
	return values
}

// Fields calls f for each header and trailer that was kept, in their order, until f returns false.
func (s *Stream) Fields(f func(name, value string) bool) {
	for _, all := range [][]byte{s.fields, s.trailers} {
		for line := range bytes.Lines(all) {
			name, value, _ := bytes.Cut(line[:len(line)-1], []byte(":"))
			if !f(string(name), string(value)) {
				return
			}
		}
	}
}

// First is when the first byte of the answer came, or of the reply on a stream that stays open, as Conn.At says; 0 = none
// came.
func (s *Stream) First() int64 { return s.first }

// Location is the target of an answer 301, 302, 303, 307 or 308, as the server wrote it; "" for others. Each call
// allocates.
func (s *Stream) Location() string {
	if s.status == 0 {
		return ""
	}
	return string(s.goal)
}

// In is how many bytes of frames of this stream arrived: payloads, and nine bytes for the header of each. Window updates
// do not count. Of a stream that stays open it is what came since the last request was over.
func (s *Stream) In() int { return s.in }

// Out is the same for the frames that were sent. After the end it is 0 if no byte of the request was written: then the
// server cannot have it. What Output returned counts as written until Wrote says what was.
func (s *Stream) Out() int { return s.out }
