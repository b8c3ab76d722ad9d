// Package http1test lists odd and hostile HTTP/1.1 responses, and the expected result of each. It is one table for
// everything that reads responses: the parser (package http1), and a client with an event loop.
//
//	for _, c := range http1test.Cases() {
//		… write c.Bytes, close if c.Closes, compare
//	}
package http1test

import (
	"cmp"
	"slices"
	"strings"
)

// A Case is what a server sends after a request, and the expected result.
type Case struct {
	Name string // unique

	Bytes  []byte // what the server sends
	Closes bool   // it closes after Bytes; else it keeps the connection open and silent

	Head      bool  // the request's method is HEAD
	BodyLimit int64 // largest body that the request accepts; 0: any

	Status int    // of the outcome, even if the body fails; 0: none
	Class  string // as in package targets, regardless of the status; Timeout if the answer does not end
	Keep   bool   // the connection can carry another request
	In     int    // bytes of the answer, up to its end or the first wrong byte; later bytes do not belong to it
	Body   int64  // bytes of the body, as far as it arrived

	// Unlike says why net/http gives another result; "" if it agrees in status, class, reuse of the connection and
	// length of the body.
	Unlike string
}

// The classes that occur, as in package targets.
const (
	OK        = ""
	EOF       = "eof"
	Protocol  = "protocol"
	BodyLimit = "body-limit"
	HeadLimit = "head-limit"
	Timeout   = "timeout"
)

// Cases returns the table, about three thousand cases, sorted by name. The caller may change it.
func Cases() []Case {
	cases := slices.Concat(
		whole(), cutShort(), followed(),
		garbage(), statusLines(), statuses(), headerBytes(), headerLines(),
		lengths(), encodings(), persistence(), interims(), folded(), blank(),
		chunks(), limits(),
	)
	slices.SortFunc(cases, func(a, b Case) int { return cmp.Compare(a.Name, b.Name) })
	return cases
}

// The head of most answers.
const ok = "HTTP/1.1 200 OK\r\n"

// Reasons for differences from net/http.
const (
	strictVersion = "an answer of another major version is not one to an HTTP/1.1 request"
	strictStatus  = "a status is three digits from 100 on"
	strictReason  = "control characters are in no reason phrase"
	strictName    = "white space in a name, or between it and the colon, makes two readers see two headers (RFC 9112, 5.1)"
	strictLine    = "lines of the chunked coding end in CR LF, trailers too"
	strictSize    = "a size beyond an int64 is none that could come"
	strictHead    = "the limit is exact, and was up to a buffer more"
	strictValue   = "a header that concerns the reader is at most 8 KiB long"
	strictTrailer = "trailers are a part of the head, and of its limit"
	strictKeep    = "a server that frames an answer in two ways is not trusted with the next one"
	laxLengths    = "a list of equal lengths is what gateways make of two headers (RFC 9110, 8.6)"
	laxInterim    = "the eighth may be there, as the limit says"
	laxExtension  = "white space before an extension is allowed (RFC 9112, 7.1.1)"
	laxTrailers   = "trailers need not fit in a buffer, and the names announced mean nothing"
	laxBlank      = "some servers end a body with a line too many, and browsers skip it"
	laxCodings    = "a close ends what is in other codings, and the last chunk what is in chunks of them (RFC 9112, 6.3)"
	laxNone       = "parts of a list may be empty (RFC 9110, 5.6.1), and identity was the name of no coding"
	cutTrailers   = "an end in the trailers is an early end like others"
)

// answered returns an answer that is read to its end; rest is what the server sends after it.
func answered(name, answer, rest string, status int, body int64, keep bool) Case {
	return Case{
		Name: name, Bytes: []byte(answer + rest), Status: status, In: len(answer), Body: body,
		Keep: keep && rest == "",
	}
}

// refused returns an answer whose last byte is wrong; rest is what follows.
func refused(name, answer, rest string, status int) Case {
	return Case{Name: name, Bytes: []byte(answer + rest), Status: status, Class: Protocol, In: len(answer)}
}

// because marks a case for which net/http gives another result.
func (c Case) because(why string) Case {
	c.Unlike = why
	return c
}

// closing makes the server close afterwards, so the connection cannot be reused.
func (c Case) closing() Case {
	c.Closes = true
	c.Keep = false
	return c
}

// toHead makes it an answer to HEAD.
func (c Case) toHead() Case {
	c.Head = true
	return c
}

// line returns the first line of s, and the rest.
func line(s string) (first, rest string) {
	i := strings.IndexByte(s, '\n') + 1
	return s[:i], s[i:]
}
