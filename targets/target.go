// Package targets says what a request is, and what became of it: it is the part of a load generator that knows the target.
// A Spec describes requests, a Call is one of them, and an Outcome is its result. Its packages make bytes of requests and
// judge answers (wire), ask a server before a run (probe), and perform requests (client):
//
//	target, err := client.New(targets.Spec{URL: "http://127.0.0.1:8080/"}, targets.Local{})
//	if err != nil { … }
//	defer target.Close()
//	outcome := target.Do(ctx, targets.Call{})
//	fmt.Println(outcome.Status, outcome.Class)
//
// Guarantees: one call of Do is at most one request at the server, plus the redirects it was asked to follow. Nothing
// is sent a second time without the caller's knowledge. A failed request is data, with one of a small fixed set of
// classes, and never a Go error. No output of this package shows a secret: header values, bodies, URL credentials.
//
// Not here: when to send a request (package pacer), and how to record its outcome (package report).
package targets

import (
	"context"

	"github.com/loadctl/loadctl/targets/events"
)

// Outcome is the result of one request.
type Outcome struct {
	// Status is the protocol's status, for HTTP 200 to 999; 0 if no answer came or the protocol has none. It is also
	// set if the answer began well and ended in an error.
	Status int
	// Class is "" if the answer was as expected, else one of the Class constants.
	Class string
	// BytesIn and BytesOut are the bytes received and sent, also of a request that failed. Each target says what it
	// counts.
	BytesIn, BytesOut int64
	// Messages is how many messages came, over protocols that have them: WebSocket and gRPC. Those that came since the
	// last request on the same connection or stream are among them.
	Messages int64
}

// Result is the end of a request that was due at some time. Times are ns of one clock; Due ≤ Sent ≤ First ≤ Done.
type Result struct {
	Call            Call
	Due, Sent, Done int64 // Sent: when the request began, maybe with connecting; Done: when its answer ended
	First           int64 // when the first byte of the answer came; 0 = none came
	Connection      int64 // number of its connection with the engine, from 1; 0 = it had none
	Reused          bool  // that connection had carried a request before
	Outcome         Outcome
	Events          *events.Events // of an answer in pieces, valid until the next request; nil = it has none
	Exchange        *Exchange      // what was sent and what came; nil unless a Watcher wanted it
}

// Target performs requests.
//
// An implementation MUST be safe for concurrent use, MUST perform at most one request per call of Do, MUST return from
// Do soon after its context ended and MUST NOT panic.
type Target interface {
	// Do performs a request, and blocks until it has ended. It returns no Go error: a failed request is data. The end of
	// ctx ends the request with ClassCanceled, or with ClassTimeout if its deadline passed.
	Do(ctx context.Context, c Call) Outcome
	// Close frees what the target holds. Requests in flight go on to their end. Do after Close returns ClassCanceled
	// and sends nothing. A second call does nothing.
	Close() error
}
