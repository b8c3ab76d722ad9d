// Package http2test lists what odd and hostile servers of HTTP/2 send, and the expected outcome of each request. It is
// one table for everything that reads answers: the connection (package http2), and a client with an
// event loop. A server plays a case on real sockets.
//
//	http2test.Run(t, func(t *testing.T, x *http2test.Try) {
//		… send x.Count() requests to x.URL at once
//		x.Check(t, outcomes)
//	})
package http2test

import (
	"cmp"
	"slices"
)

// A Case is what a server sends on a connection with requests in flight, and the expected result.
type Case struct {
	Name string // unique; begins with the section of RFC 9113 that it is about

	Requests  int    // in flight at the same time, on streams 1, 3, … of one connection; 0 = 1
	Method    string // "" = GET
	Body      int    // bytes of the body of each request
	BodyLimit int64  // largest body that the requests accept; 0 = any

	Raw    bool   // the connection begins with Steps; else with the server's settings
	Steps  []Step // what the server sends, in order, once it has seen the heads of all requests; First it sends before
	Leaves bool   // on later connections it answers each request with GOAWAY; else with 200 and "hello"
	Closes bool   // it closes after the steps; else it keeps the connection open and silent

	Want []Outcome // of the requests, in the order of their streams; the last one is also that of those without
	Sent string    // the RST_STREAM and GOAWAY frames that the client sends, such as "RST_STREAM 1 CANCEL"; with "; " between them
	Ends bool      // the connection takes no further requests
}

// A Step is something that the server sends.
type Step struct {
	After int // once it has got so many bytes of all bodies together
	Bytes []byte
}

// An Outcome is the expected result of a request.
type Outcome struct {
	Class  string // as in package targets, regardless of the status; see also Unprocessed and Timeout
	Status int    // even if the body fails; 0: none
	Body   int64  // bytes of the body, as far as it was read
}

// The classes that occur, as in package targets. Resets have the code after a space.
const (
	OK        = ""
	EOF       = "eof"
	Protocol  = "protocol"
	BodyLimit = "body-limit"
	HeadLimit = "head-limit"
	Reset     = "reset "

	Timeout     = "timeout"     // the answer does not end
	Unprocessed = "unprocessed" // the request may be sent once more, on another connection
)

// Outcome returns the expected result of the request on stream 2i+1.
func (c *Case) Outcome(i int) Outcome { return c.Want[min(i, len(c.Want)-1)] }

// Count is the number of requests.
func (c *Case) Count() int { return max(1, c.Requests) }

// First returns what the server sends at once.
func (c *Case) First() []byte {
	if c.Raw {
		return nil
	}
	return slices.Concat(Settings(), Frame(settings, ack, 0, nil))
}

// Cases returns the table, sorted by name. The caller may change it.
func Cases() []Case {
	cases := slices.Concat(
		prefaces(), frames(), compressed(), closed(), idle(), data(), headers(), resets(), changes(), pings(), leaving(),
		windows(), continued(), sequences(), fields(), pseudo(), lengths(), heads(), bodies(), floods(), uploads(),
	)
	slices.SortFunc(cases, func(a, b Case) int { return cmp.Compare(a.Name, b.Name) })
	return cases
}

// answered returns a case in which the request is answered with 200 and a body of five bytes.
func answered(name string, bytes ...[]byte) Case {
	return Case{Name: name, Steps: steps(bytes...), Want: []Outcome{{Status: 200, Body: 5}}}
}

// broken returns a case in which the server breaks a rule of the connection. All requests fail.
func broken(name, code string, bytes ...[]byte) Case {
	return Case{Name: name, Steps: steps(bytes...), Want: []Outcome{{Class: Protocol}}, Sent: "GOAWAY " + code, Ends: true}
}

// malformed returns a case in which the first answer is malformed, and its stream alone is reset. A second request on
// the connection is answered.
func malformed(name string, bytes ...[]byte) Case {
	return Case{
		Name: name, Requests: 2, Steps: append(steps(bytes...), steps(Answer(3))...),
		Want: []Outcome{{Class: Protocol}, {Status: 200, Body: 5}}, Sent: "RST_STREAM 1 PROTOCOL_ERROR",
	}
}

// steps returns one step.
func steps(bytes ...[]byte) []Step { return []Step{{Bytes: slices.Concat(bytes...)}} }

// with returns the case after a change.
func (c Case) with(change func(*Case)) Case {
	c.Want = slices.Clone(c.Want)
	change(&c)
	return c
}

// status sets the status of the first outcome, and how much of its body is read.
func (c Case) status(status int, body int64) Case {
	return c.with(func(c *Case) { c.Want[0].Status, c.Want[0].Body = status, body })
}
