package targets

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// dialsAtOnce is how many connections are opened at the same time at most. A
// server that stands still for a moment has room for some hundred that it has
// not accepted; who comes beyond them is not heard, and asks again a second
// later.
const dialsAtOnce = 128

// Opening reports whether requests wait because as many connections are being
// opened as may be at once, and not because all are busy.
func (t *httpTarget) Opening() bool { return t.pool.opening() }

// Preconnect opens n more connections to the endpoint, with TLS if it wants it,
// one each time that every has passed, as far as MaxConnections allows. It
// returns how many were opened, once all are or have failed, or ctx has ended.
// Each is tried once. No request is sent: later ones find them idle.
func (t *httpTarget) Preconnect(ctx context.Context, n int, every time.Duration) int {
	deadline := time.Now().Add(t.spec.timeout())
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	var opened atomic.Int64
	var dialling sync.WaitGroup
	turns := make(chan struct{})
	for range min(n, dialsAtOnce) {
		dialling.Go(func() {
			for range turns {
				if t.pool.fill(ctx, deadline, t.first.to) {
					opened.Add(1)
				}
			}
		})
	}
	for next := time.Now(); n > 0 && pause(ctx, next); n-- {
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
		}
		next = next.Add(every)
	}
	close(turns)
	dialling.Wait()
	return int(opened.Load())
}

// pause waits until a time, and reports false if ctx ended first.
func pause(ctx context.Context, until time.Time) bool {
	if wait := time.Until(until); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
