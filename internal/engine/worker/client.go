package worker

import "github.com/loadctl/loadctl/targets"

// A Client sends the requests of one shard. It fits a library that blocks (package blocking) and an event loop that owns its
// sockets: between two sends the shard is inside Poll, and nowhere else.
//
// One goroutine uses it, except for Wake. All times are ns of the local clock that Now reads. This clock MUST be that
// of the worker's pacer.Clock. Package clienttest tests these rules.
type Client interface {
	// Now reads the clock. The shard calls it once a turn.
	Now() int64

	// Send starts the request that is due. It returns false, and does nothing, if every connection is busy or if as
	// many as allowed are being opened. It MUST NOT block. The number of the call is the ordinal of the slot. Slots sent
	// after a change of the rate that the worker did not know yet share their ordinals with slots of the new rate. A
	// closed loop has no slots: there the worker counts its requests.
	Send(now, due int64, c targets.Call) bool

	// Poll calls done for the requests that ended, exactly once for each Send that returned true. It returns soon
	// after it has reported some or Send can succeed again, when woken, or else at until. An error means that the
	// client itself failed and can do no more. A failed request is a Result.
	Poll(until int64, done func(targets.Result)) error

	// Wake makes the running Poll return, or the next one. Any goroutine may call it, even after Close.
	Wake()

	// Close ends the client: neither Send nor Poll is called after it. Requests still on the wire are abandoned. A client may
	// have a method Abandon(done func(targets.Result)), which is called before, and reports them as canceled.
	Close() error
}
