package worker

import "github.com/loadctl/loadctl/targets"

// A Client fires the requests of one shard. One shape serves a library that blocks (Adapter) and an event loop
// that owns its sockets: between two sends the shard is inside Poll, and nowhere else.
//
// It is used by one goroutine, except for Wake. All times are ns of the local clock that Now reads, which MUST be
// that of the worker's pacer.Clock. Package clienttest tests what is asked for here.
type Client interface {
	// Now reads the clock. The shard does so once a turn.
	Now() int64

	// Send starts the request that is due; false means that every connection is busy, or that as many are being opened as
	// may be at once, and nothing was done. It MUST NOT block. request is its index, unique in this worker's run and growing from call to call.
	Send(now, due int64, request uint64) bool

	// Poll calls done for the requests that ended, exactly once for each Send that returned true. It returns soon
	// after some were reported or Send would succeed again, when woken, or else at until. An error means that the client can do no more: our
	// own machinery failed. A failed request is a Result.
	Poll(until int64, done func(Result)) error

	// Wake makes the Poll that is running return, or the next one. Any goroutine may call it, also after Close.
	Wake()

	// Close ends the client: neither Send nor Poll is called after it. What is still on the wire is abandoned.
	Close() error
}

// Result is the end of one request. Times are ns of the client's clock; Due ≤ Sent ≤ Done.
type Result struct {
	Request         uint64 // as given to Send
	Due, Sent, Done int64  // as given to Send; when its Target began, which may have had to connect first; when its response ended
	Outcome         targets.Outcome
}
