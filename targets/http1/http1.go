// Package http1 reads responses of HTTP/1.1, strictly, from bytes as they arrive.
//
//	var r http1.Response
//	r.Begin(http1.Limits{Body: 1 << 20}, false)
//	for done := false; !done; {
//		n, err := conn.Read(buf)
//		…
//		n, done, err = r.Feed(buf[:n])
//	}
//	fmt.Println(r.Status(), r.KeepAlive())
//
// Guarantees: it performs no I/O and never blocks, so it serves a waiting goroutine as well as an event loop. The way
// the bytes are split over calls of Feed changes no result. It reads each byte once, and copies only lines that were
// split, and what Limits asks it to keep. A response that arrives in one piece, and of which nothing is kept, costs no
// allocation.
//
// It follows RFC 9112, as strictly as possible without refusing what servers in use send. A generator that accepts what
// a browser would not counts broken answers as good. The lines of a head may end in LF alone, as the RFC allows; those
// of the chunked coding may not. A header may continue on lines that begin with white space, and a few blank lines may
// stand before a status line. Package http1test lists, case by case, where this package and net/http differ.
package http1

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"strings"
)

// Errors of a response that exceeds its Limits. All others are protocol errors, except io.ErrUnexpectedEOF. Errors are
// built once, so none says where it occurred.
var (
	ErrHead    = errors.New("the head of the answer is too long")
	ErrInterim = errors.New("too many interim answers")
	ErrBody    = errors.New("the body of the answer is too long")
)

// Defaults of Limits, and how much memory a Response keeps.
const (
	defaultHead    = 64 << 10
	defaultInterim = 8
	mostBlank      = 8        // blank lines before status lines
	keptBuffer     = 4 << 10  // bytes; a longer line leaves no larger buffer behind
	keptContent    = 64 << 10 // the same for a body
)

// Limits bounds a response. Zero or less stands for the default.
type Limits struct {
	Head    int   // bytes of its heads, including interim ones, and trailers: 64 KiB
	Interim int   // 1xx answers before the final one: 8
	Body    int64 // bytes of its body, without the chunked coding: no limit

	Content int  // bytes of its body that are kept for Content, from the beginning: none
	Fields  bool // keep its headers for Field

	// Messages says that the body consists of messages, each after a flag and its length, as gRPC has them. Body is then
	// the limit of each, and of the last one up to Content bytes are kept, or nothing. Only HTTP/2 has it.
	Messages bool

	// Hold keeps some answers of HTTP/2 and HTTP/3 as evidence. For those of HTTP/1.1 their bytes do.
	Hold Hold

	// Sink takes the body as it comes; nil = nobody does.
	Sink Sink
}

// A Sink takes the body of an answer as it comes, without its coding.
type Sink interface {
	// Expects reports whether the body of an answer with this status is wanted. It is called once for an answer of HTTP, before
	// Take. Messages have no status: of them it is not called.
	Expects(status int) bool
	// Take takes the next bytes, which were read at a time, ns of the caller's clock. end says that a part ends with them: a
	// chunk of HTTP/1.1, a frame of DATA, or a message. Its error ends the answer.
	Take(b []byte, end bool, at int64) error
}

// ErrEnough is the error of a Sink that wants no more of an answer, which is a success.
var ErrEnough = errors.New("the rest of the answer is not wanted")

// Hold says of which answers the headers and the beginning of the body are kept, whatever Content and Fields say.
type Hold struct {
	Bytes int                   // of the body; 0 = of no answer
	Good  func(status int) bool // an answer with another status is kept
	From  int64                 // one that begins at this time or later is kept, ns of the caller's clock
}

// Keeps reports whether an answer with this status, that began at some time, is kept.
func (h *Hold) Keeps(status int, began int64) bool {
	return h.Bytes > 0 && (began >= h.From || !h.Good(status))
}

// InEffect returns the limits with the defaults instead of what is zero or less.
func (l Limits) InEffect() Limits {
	l.Head = cmp.Or(max(0, l.Head), defaultHead)
	l.Interim = cmp.Or(max(0, l.Interim), defaultInterim)
	l.Body = cmp.Or(max(0, l.Body), math.MaxInt64)
	return l
}

// A state is what the next byte belongs to:
//
//	                ┌─ interim ─┐
//	                ▼           │
//	Begin ──► statusLine ──► headers ─┬──────────────────────────────────────────────────► over
//	                                  ├──► sized ────────────────────────────────────────► over
//	                                  ├──► unbounded ───────────────── EOF ──────────────► over
//	                                  └──► chunkSize ──── size 0 ────► trailer ──────────► over
//	                                        │      ▲
//	                                        ▼      │
//	                              chunkData ──► chunkCR ──► chunkLF
//
// and from each state to failed. A header that may continue on the next line goes from headers to fieldEnd, and back, if
// it does by way of fold. The order matters: the states up to fold are those of a head, and from over on no bytes are read.
type state uint8

const (
	statusLine state = iota // of a head
	headers                 // the rest of a head
	fieldEnd                // after the line of a header, held in Response.line: white space continues it
	fold                    // the white space before the rest of such a header
	sized                   // the body, left bytes more
	unbounded               // the body, until the peer closes
	chunkSize               // the line before a chunk
	chunkData               // a chunk, left bytes more
	chunkCR                 // the CR after a chunk
	chunkLF
	trailer // fields after the last chunk
	over    // the response is complete
	failed  // err says why
)

// A Response reads one response after the other. The zero value is not ready: call Begin. It is for one goroutine at a
// time.
type Response struct {
	// At is when the bytes of the next Feed were read, for Limits.Sink, ns of the caller's clock.
	At int64

	limits  Limits
	toHead  bool // the request's method is HEAD
	state   state
	err     error  // in the state failed
	line    []byte // the beginning of a line that has not ended
	taken   int    // bytes of heads and trailers so far
	interim int    // answers 1xx so far
	blank   int    // blank lines before status lines so far
	folded  bool   // line has a header and lines that continue it
	trailed bool   // a trailer precedes the line
	head    head   // the head being read, and later that of the response
	status  int
	left    int64 // bytes of the body or chunk still to come
	body    int64 // bytes of the body so far
	padding int64 // bytes of the chunked coding beyond the usual
	keep    bool  // the connection can carry another request
	sated   bool  // the Sink wants no more
	goal    []byte
	memo    *Memo // nil = heads are not remembered
	content []byte
	fields  []byte // "name:value\n" for each header of the last head
}

// Begin prepares r for the response to the next request. head says that its method is HEAD, so that no body follows.
func (r *Response) Begin(l Limits, head bool) {
	r.Release()
	*r = Response{At: r.At, limits: l.InEffect(), toHead: head, line: r.line[:0], goal: r.goal[:0], memo: r.memo, content: r.content[:0], fields: r.fields[:0]}
	r.head.length = unknown
}

// Release frees the memory that a long line or body has taken. Call it when the response has been read or is no longer
// wanted: the next Begin does the same, but may be far away. Location, Content and Field are then empty.
func (r *Response) Release() {
	r.line, r.goal, r.fields, r.content = kept(r.line), kept(r.goal), kept(r.fields), r.content[:0]
	if cap(r.content) > keptContent {
		r.content = nil
	}
}

// kept returns a buffer, emptied; nil if it has grown too large.
func kept(buf []byte) []byte {
	if cap(buf) > keptBuffer {
		return nil
	}
	return buf[:0]
}

// Feed reads the next bytes of the response and reports how many of them belong to it. n is less than len(b) in two
// cases: the response is done, and other data follows; or err is set, and the last byte read is the wrong one. A header
// can be judged only when it is known that the next line does not continue it: n may be 0 then. So the sum of all n is the
// length of the response. After the end Feed reads nothing and returns the same result again. It does not keep b.
func (r *Response) Feed(b []byte) (n int, done bool, err error) {
	for n < len(b) && r.state < over {
		k, err := r.step(b[n:])
		n += k
		if err != nil {
			r.state, r.err = failed, err
			return n, false, err
		}
	}
	if r.sated && r.state < over {
		r.state, r.err = failed, ErrEnough
		return n, false, r.err
	}
	if n < len(b) {
		r.keep = false // unrequested data must not answer the next request
	}
	return n, r.state == over, r.err
}

// step reads at least one byte of b in the present state, or goes on to another one. b must not be empty.
func (r *Response) step(b []byte) (n int, err error) {
	switch r.state {
	case statusLine, headers, fieldEnd, fold:
		if r.memo != nil && r.taken+len(r.line) == 0 && !r.limits.Fields {
			return r.readKnown(b)
		}
		return r.readHead(b)
	case sized, chunkData:
		return r.readSized(b)
	case unbounded:
		return r.take(b)
	case trailer:
		return r.readTrailer(b)
	default:
		return r.readChunked(b)
	}
}

// readSized reads bytes of a body or chunk of known size.
func (r *Response) readSized(b []byte) (n int, err error) {
	n, err = r.take(b[:min(int64(len(b)), r.left)])
	r.left -= int64(n)
	if err == nil && r.left == 0 {
		err = r.endPart()
	}
	switch {
	case err != nil || r.left > 0:
		return n, err
	case r.state == sized:
		r.state = over
	default:
		r.state = chunkCR
	}
	return n, nil
}

// take counts the next bytes of the body, or those up to the first that exceeds the limit, and keeps them if wanted.
func (r *Response) take(b []byte) (int, error) {
	if room := r.limits.Body - r.body; int64(len(b)) > room {
		r.body += room + 1
		return int(room + 1), ErrBody
	}
	r.body += int64(len(b))
	if r.limits.Sink != nil {
		if err := r.limits.Sink.Take(b, r.state == unbounded, r.At); err != nil {
			return len(b), r.enough(err)
		}
	}
	if wanted := r.limits.Content - len(r.content); wanted > 0 {
		r.content = append(r.content, b[:min(wanted, len(b))]...)
	}
	return len(b), nil
}

// endPart tells the Sink that a chunk has ended.
func (r *Response) endPart() error {
	if r.limits.Sink == nil {
		return nil
	}
	return r.enough(r.limits.Sink.Take(nil, true, r.At))
}

// enough returns an error of the Sink. If it wants no more, the rest of what was read may still end the answer: then the
// connection can be kept.
func (r *Response) enough(err error) error {
	if errors.Is(err, ErrEnough) {
		r.limits.Sink, r.sated = nil, true
		return nil
	}
	return err
}

// EOF informs r that the peer closed the connection, or its half of it. It returns nil if that ends the response, or if
// the response had ended before. It returns io.ErrUnexpectedEOF if something is missing. After an error of Feed it
// returns that error.
func (r *Response) EOF() error {
	r.keep = false
	switch r.state {
	case unbounded:
		r.state = over
	case over, failed:
	default:
		r.state, r.err = failed, io.ErrUnexpectedEOF
	}
	return r.err
}

// Status is the status code, 100 to 999; 0 until the whole head has been read. It stays if the body fails. Interim
// answers do not set it.
func (r *Response) Status() int { return r.status }

// Content is the body as far as it was read and kept: see Limits. It is valid until the next call of Begin or Release.
func (r *Response) Content() []byte { return r.content }

// Length is how many bytes of the body were read.
func (r *Response) Length() int64 { return r.body }

// Fields calls f for each header that was kept, in their order, until f returns false.
func (r *Response) Fields(f func(name, value string) bool) {
	for line := range bytes.Lines(r.fields) {
		name, value, _ := bytes.Cut(line[:len(line)-1], []byte(":"))
		if !f(string(name), string(value)) {
			return
		}
	}
}

// Field returns the values of all headers with this name, whatever its case, in their order. Headers must have been
// kept: see Limits. Values longer than 8 KiB are cut off.
func (r *Response) Field(name string) (values []string) {
	lower := strings.ToLower(name)
	for line := range bytes.Lines(r.fields) {
		if field, value, _ := bytes.Cut(line[:len(line)-1], []byte(":")); equalFold(field, lower) {
			values = append(values, string(value))
		}
	}
	return values
}

// KeepAlive reports whether the connection can carry another request, as far as this response says: it is done, the
// peer did not announce to close, and no other byte arrived.
func (r *Response) KeepAlive() bool { return r.state == over && r.keep }

// Location is the target of a response 301, 302, 303, 307 or 308, as the server wrote it; "" for others. It is known
// when Status is. Each call allocates.
func (r *Response) Location() string {
	if r.status == 0 {
		return ""
	}
	return string(r.goal)
}
