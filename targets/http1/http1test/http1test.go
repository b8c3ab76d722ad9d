// Package http1test has odd and hostile responses of HTTP/1.1, and what is to
// be made of each. One table for everything that reads responses: the parser
// (package http1), the target that blocks, a client with an event loop.
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

// A Case is what a server sends after a request, and what is to be made of it.
type Case struct {
	Name string // unique

	Bytes  []byte // what the server sends
	Closes bool   // it closes after Bytes, in order; else it keeps the connection open and is silent

	Head      bool  // the request's method is HEAD
	BodyLimit int64 // bytes the request takes; 0: as many as come

	Status int    // of the outcome, also where the body fails; 0: none
	Class  string // as package targets writes it, without regard to the status; Timeout where the answer does not end
	Keep   bool   // the connection can carry another request
	In     int    // bytes of the answer, up to its end or to the first that is wrong; what follows in Bytes is not of it
	Body   int64  // bytes of the body, as far as it came

	// Unlike says why net/http takes it otherwise; "" where it does not, in
	// status, class, reuse of the connection and length of the body.
	Unlike string
}

// The classes that occur, as the constants of package targets.
const (
	OK        = ""
	EOF       = "eof"
	Protocol  = "protocol"
	BodyLimit = "body-limit"
	HeadLimit = "head-limit"
	Timeout   = "timeout"
)

// Cases returns the table, some three thousand, in the order of their names.
// The caller may change it.
func Cases() []Case {
	cases := slices.Concat(
		whole(), cutShort(), followed(),
		garbage(), statusLines(), statuses(), headerBytes(), headerLines(),
		lengths(), encodings(), persistence(), interims(),
		chunks(), limits(),
	)
	slices.SortFunc(cases, func(a, b Case) int { return cmp.Compare(a.Name, b.Name) })
	return cases
}

// The head of most answers.
const ok = "HTTP/1.1 200 OK\r\n"

// The ways in which a case differs from net/http.
const (
	strictVersion = "an answer of another major version is not one to an HTTP/1.1 request"
	strictStatus  = "a status is three digits from 100 on, between single spaces"
	strictReason  = "control characters are in no reason phrase"
	strictName    = "white space in a name, or between it and the colon, makes two readers see two headers (RFC 9112, 5.1)"
	strictFold    = "there are no folded headers any more (RFC 9112, 5.2)"
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
	cutTrailers   = "an end in the trailers is an early end like others"
)

// answered is an answer taken to its end, and rest what the server sends after
// it.
func answered(name, answer, rest string, status int, body int64, keep bool) Case {
	return Case{
		Name: name, Bytes: []byte(answer + rest), Status: status, In: len(answer), Body: body,
		Keep: keep && rest == "",
	}
}

// refused is an answer of which the last byte is wrong, and rest what follows.
func refused(name, answer, rest string, status int) Case {
	return Case{Name: name, Bytes: []byte(answer + rest), Status: status, Class: Protocol, In: len(answer)}
}

// because marks what net/http takes otherwise.
func (c Case) because(why string) Case {
	c.Unlike = why
	return c
}

// closing has the server close afterwards, which a connection does not
// survive.
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

// line returns the line that s begins with, and what follows it.
func line(s string) (first, rest string) {
	i := strings.IndexByte(s, '\n') + 1
	return s[:i], s[i:]
}
