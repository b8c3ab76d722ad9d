// Package http1 reads responses of HTTP/1.1, strictly, from bytes as they come.
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
// Guarantees: it reads nothing itself and never blocks, so it serves a
// goroutine that waits as well as an event loop. How the bytes are cut into
// calls of Feed changes no result. It takes each byte once, copies only lines
// that were cut and bodies never. A response that comes in one piece costs no
// allocation.
//
// It follows RFC 9112, and is as strict as it can be without refusing what
// servers in use send: a generator that takes what a browser would not, counts
// as good what is broken. The lines of a head may end in LF alone, as the RFC
// allows; those of the chunked coding may not. What net/http takes and this
// package refuses, or the other way round, is told in package http1test, case
// by case.
package http1

import (
	"cmp"
	"errors"
	"io"
	"math"
)

// Errors of a response that took more than its Limits. All others are of the
// protocol, but io.ErrUnexpectedEOF. Errors are built once: none says where it
// was found.
var (
	ErrHead    = errors.New("the head of the answer is too long")
	ErrInterim = errors.New("too many interim answers")
	ErrBody    = errors.New("the body of the answer is too long")
)

// Defaults of Limits, and how much memory a Response keeps.
const (
	defaultHead    = 64 << 10
	defaultInterim = 8
	keptBuffer     = 4 << 10 // bytes; a longer line leaves no larger buffer behind
)

// Limits is what a response may take. Zero, and less, stands for the default.
type Limits struct {
	Head    int   // bytes of its heads, interim ones included, and trailers: 64 KiB
	Interim int   // answers 1xx before the real one: 8
	Body    int64 // bytes of its body, without what the chunked coding adds: no limit
}

// A state is what the next byte belongs to:
//
//	                ┌─ interim ─┐
//	                ▼           │
//	Begin ──► statusLine ──► fields ──┬──────────────────────────────────────────────────► over
//	                                  ├──► sized ────────────────────────────────────────► over
//	                                  ├──► unbounded ───────────────── EOF ──────────────► over
//	                                  └──► chunkSize ──── size 0 ────► trailer ──────────► over
//	                                        │      ▲
//	                                        ▼      │
//	                              chunkData ──► chunkCR ──► chunkLF
//
// and from each to failed. The order tells: from over on nothing is taken.
type state uint8

const (
	statusLine state = iota // of a head
	fields                  // the rest of a head
	sized                   // the body, left bytes more
	unbounded               // the body, until the peer closes
	chunkSize               // the line before a chunk
	chunkData               // a chunk, left bytes more
	chunkCR                 // what follows a chunk
	chunkLF
	trailer // fields after the last chunk
	over    // the response is complete
	failed  // err says why
)

// A Response reads one response after the other. The zero value is not ready:
// call Begin. It is for one goroutine at a time.
type Response struct {
	limits  Limits
	toHead  bool // the request's method is HEAD
	state   state
	err     error  // of failed
	line    []byte // the beginning of a line whose end has not come
	taken   int    // bytes of heads and trailers so far
	interim int    // answers 1xx so far
	head    head   // the one being read, and later that of the response
	status  int
	left    int64 // bytes to come of the body or of its chunk
	body    int64 // bytes of the body so far
	padding int64 // bytes of the chunked coding beyond what is usual
	keep    bool  // the connection can carry another request
	goal    []byte
	memo    *Memo // nil = heads are not remembered
}

// Begin makes r ready for the response to the next request; head says that
// its method is HEAD, so that no body follows.
func (r *Response) Begin(l Limits, head bool) {
	l.Head = cmp.Or(max(0, l.Head), defaultHead)
	l.Interim = cmp.Or(max(0, l.Interim), defaultInterim)
	l.Body = cmp.Or(max(0, l.Body), math.MaxInt64)
	r.Release()
	*r = Response{limits: l, toHead: head, line: r.line[:0], goal: r.goal[:0], memo: r.memo}
	r.head.length = unknown
}

// Release gives up the memory that a long line has taken. Call it when the
// response has been read, or is not waited for any more: the next Begin does
// the same, but may be far away. Location is then empty.
func (r *Response) Release() {
	r.line, r.goal = kept(r.line), kept(r.goal)
}

// kept is a buffer, emptied, or nil where it has grown too large.
func kept(buf []byte) []byte {
	if cap(buf) > keptBuffer {
		return nil
	}
	return buf[:0]
}

// Feed takes the next bytes of the response. It reports how many of them are
// of it: n is less than len(b) only when the response is done, and what
// follows is of something else, or together with an error, and then the last
// of the n bytes is the one that was wrong. Whoever adds up all n knows how
// long the response was. After the end it takes nothing and says the same
// again. b is not kept.
func (r *Response) Feed(b []byte) (n int, done bool, err error) {
	for n < len(b) && r.state < over {
		k, err := r.step(b[n:])
		n += k
		if err != nil {
			r.state, r.err = failed, err
			return n, false, err
		}
	}
	if n < len(b) {
		r.keep = false // what nobody asked for must not answer the next request
	}
	return n, r.state == over, r.err
}

// step takes at least one byte of b, which has one, in the present state.
func (r *Response) step(b []byte) (n int, err error) {
	switch r.state {
	case statusLine, fields:
		if r.memo != nil && r.taken+len(r.line) == 0 {
			return r.readKnown(b)
		}
		return r.readHead(b)
	case sized, chunkData:
		return r.readSized(b)
	case unbounded:
		return r.take(len(b))
	case trailer:
		return r.readTrailer(b)
	default:
		return r.readChunked(b)
	}
}

// readSized takes bytes of a body, or of a chunk, whose size is known.
func (r *Response) readSized(b []byte) (n int, err error) {
	n, err = r.take(int(min(int64(len(b)), r.left)))
	r.left -= int64(n)
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

// take takes n bytes of the body, or up to the first that is past the limit.
func (r *Response) take(n int) (int, error) {
	if room := r.limits.Body - r.body; int64(n) > room {
		r.body += room + 1
		return int(room + 1), ErrBody
	}
	r.body += int64(n)
	return n, nil
}

// EOF tells r that the peer closed the connection, or its half of it. The
// answer is nil if that ends the response, or if it had ended before;
// io.ErrUnexpectedEOF if something is missing; after an error of Feed that one.
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

// Status is the status code, 100 to 999; 0 until the head has been read to its
// end. It stays when the body fails. Interim answers have none.
func (r *Response) Status() int { return r.status }

// KeepAlive reports whether the connection can carry another request, as far
// as this response tells: it is done, the peer did not say that it will close,
// and no byte came that is not of it.
func (r *Response) KeepAlive() bool { return r.state == over && r.keep }

// Location is where a response 301, 302, 303, 307 or 308 leads, as the server
// wrote it; "" for others. It is known when Status is. Each call allocates.
func (r *Response) Location() string {
	if r.status == 0 {
		return ""
	}
	return string(r.goal)
}
