// Package http1 reads responses of HTTP/1.1 from bytes as they come.
package http1

import (
	"errors"
	"io"
)

// What a response may not pass. Other errors say that it is not of HTTP as we take it.
var (
	ErrHead    = errors.New("the head of the answer is too long")
	ErrInterim = errors.New("too many interim answers")
	ErrBody    = errors.New("the body of the answer is too long")
)

// Limits is what a response may take. Zero values are the defaults.
type Limits struct {
	Head    int   // bytes of all heads, with interim ones and trailers; default 1 MiB
	Interim int   // answers 1xx before the real one; default 8
	Body    int64 // bytes of the body; default: no limit
}

// A Response reads one response after the other. The zero value is not ready: call Begin.
type Response struct {
	status int
}

// Begin readies r for the response to a request, whose method may be HEAD.
func (r *Response) Begin(l Limits, head bool) {}

// Feed consumes bytes of the response. n is less than len(b) only when the
// response is done, so that the rest is not of it, or with an error.
func (r *Response) Feed(b []byte) (n int, done bool, err error) { return len(b), false, nil }

// EOF says that the peer closed: nil if that ends the body, else
// io.ErrUnexpectedEOF.
func (r *Response) EOF() error { return io.ErrUnexpectedEOF }

// Status is the status code; 0 until it is known.
func (r *Response) Status() int { return r.status }

// KeepAlive reports whether the connection can carry another request.
func (r *Response) KeepAlive() bool { return false }

// Location is where a redirect leads; "" if the answer is none.
func (r *Response) Location() string { return "" }
