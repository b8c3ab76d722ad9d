// Package await lets tests wait for events, however slow the machine is.
//
//	await.True(t, "500 arrivals", func() bool { return server.Count() >= 500 })
//	reply := await.Receive(t, "a reply", replies)
//	await.Closed(t, "the end of the worker", worker.Exited)
//
// A wait has no bound of its own, so no machine is too slow for it. Shortly before `go test -timeout` ends the whole
// process, a wait fails its test and says what did not happen. So a test may have no timeout of its own either: it uses
// t.Context(). How long something took is checked by Soon, on a quiet machine only.
package await

import (
	"context"
	"testing"
	"time"
)

// The time between two looks at a condition is a twentieth of the time waited so far, within these bounds. So a wait is hardly
// longer. After an expensive look, such as one that starts a process, the pause is three times its length, but not long:
// what it waits for may pass. So many waits at once leave the processor to what they wait for.
const (
	shortest = 5 * time.Millisecond
	longest  = 50 * time.Millisecond
	rest     = 3
	mostRest = 200 * time.Millisecond
)

// spare is the time before the end of go test in which a test cleans up and reports.
const spare = 20 * time.Second

// True returns as soon as ok does. Only the goroutine of the test may call it.
func True(t testing.TB, what string, ok func() bool) {
	t.Helper()
	look(t, what, ok, rest)
}

// look is True with a pause of so many times the length of a look.
func look(t testing.TB, what string, ok func() bool, rest time.Duration) {
	t.Helper()
	began := time.Now()
	for end := deadline(t); ; {
		before := time.Now()
		if ok() {
			return
		}
		now := time.Now()
		if !end.IsZero() && now.After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
		patience := min(max(shortest, now.Sub(began)/20), longest)
		time.Sleep(max(patience, min(rest*now.Sub(before), mostRest)))
	}
}

// Polled is True for what only happens while poll is called. It polls without a pause, as long as little is missing.
func Polled(t testing.TB, what string, poll func(), ok func() bool) {
	t.Helper()
	look(t, what, func() bool {
		for range 20 {
			if ok() {
				return true
			}
			poll()
		}
		return ok()
	}, 0)
}

// Receive returns the next value of a channel, or the zero value if the channel is closed. Only the goroutine of the
// test may call it.
func Receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	var late <-chan time.Time // never
	if end := deadline(t); !end.IsZero() {
		timer := time.NewTimer(time.Until(end))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case value := <-from:
		return value
	case <-late:
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// Closed waits for the end of what closes a channel. Only the goroutine of the test may call it.
func Closed(t testing.TB, what string, done <-chan struct{}) {
	t.Helper()
	Receive(t, what, done)
}

// Done runs do, which blocks until something has happened, and returns when it has.
func Done(t testing.TB, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	Closed(t, what, done)
}

// Within returns a context that ends, at the latest, when a wait would fail.
func Within(parent context.Context, t testing.TB) (context.Context, context.CancelFunc) {
	if end := deadline(t); !end.IsZero() {
		return context.WithDeadline(parent, end)
	}
	return context.WithCancel(parent)
}

// deadline returns until when a wait may last. Zero means without end: go test has no timeout, or t is a benchmark.
func deadline(t testing.TB) time.Time {
	limited, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return time.Time{}
	}
	end, ok := limited.Deadline()
	if !ok {
		return time.Time{}
	}
	return end.Add(-spare)
}
