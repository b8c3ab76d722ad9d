package targets

import "context"

// A Sender performs the requests of a scheme that is not ours: see Scheme.Open. Package targettest checks an implementation.
//
// It MUST be safe for concurrent use, MUST send at most one request per call of Do, MUST return from Do soon after its context
// ended, MUST NOT read more of an answer than Spec.EffectiveBodyLimit and a little, and SHOULD NOT panic. It keeps connections
// as it likes: each call of Do has a place of its own, and there are as many places as --max-connections says.
type Sender interface {
	// Do performs a request, and blocks until it has ended. The context ends with the request's deadline. A call that goes on
	// after that counts as timed out, and keeps its place until it returns. A panic is a request of ClassPanic.
	Do(ctx context.Context, r Request) Answer
	// Close frees what the Sender holds. Do after Close sends nothing, and its answer has an error. A second call does nothing.
	Close() error
}

// A Request is one request, with its placeholders filled. A Sender must not change it: others share it.
type Request struct {
	Number           uint64 // ordinal of the slot that started the flow
	Step             int    // index of the step in the workload
	Network, Address string // where to connect: "tcp" and host:port, after ConnectTo, or "unix" and a path; "" = nowhere
	URL              string // may have a user and a password
	Method           string // of a scheme with headers: as in the spec
	Headers          []Header
	Body             []byte
}

// An Answer is what became of a Request.
type Answer struct {
	// Outcome has the bytes of the request and of the answer. Class "" stands for that of Err. Another class must be one of the
	// Class constants, and a code may follow one, after a space; else it counts as ClassOther.
	Outcome
	// Body is what checks and takes look at. The Sender must not change it any more.
	Body []byte
	// Err says why there is no whole answer; nil if there is one. Errors of package net, of the system and of contexts have
	// classes; others are ClassOther. Samples show it.
	Err error
}
