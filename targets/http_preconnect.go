package targets

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// dialsAtOnce bounds the connections opened at the same time. A server that pauses for a moment has room for a few
// hundred connections that it has not accepted. Further ones are ignored, and try again a second later.
const dialsAtOnce = 128

// Opening reports whether requests wait because the maximum number of connections is being opened, rather than because
// all are busy.
func (t *httpTarget) Opening() bool { return t.pool.opening() }

// Preconnect opens n more connections to the endpoint, with TLS if needed: one in each interval every, as far as
// MaxConnections allows. It tries each once, and sends no request. It returns how many are open when all have opened or
// failed, or ctx has ended. Later requests use them.
func (t *httpTarget) Preconnect(ctx context.Context, n int, every time.Duration) int {
	return t.pool.preconnect(ctx, t.first.to, t.spec.timeout(), n, every)
}

func (t *httpTarget) leads() endpoint { return t.first.to }

// preconnect opens n more connections to an endpoint.
func (p *pool) preconnect(ctx context.Context, to endpoint, patience time.Duration, n int, every time.Duration) int {
	return preconnect(ctx, patience, n, every, func(ctx context.Context, deadline time.Time) bool { return p.fill(ctx, deadline, to) })
}

// preconnect calls fill n times, once in each interval every, and returns how often it opened a connection.
func preconnect(ctx context.Context, patience time.Duration, n int, every time.Duration, fill func(context.Context, time.Time) bool) int {
	deadline := time.Now().Add(patience)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	var opened atomic.Int64
	var dialling sync.WaitGroup
	turns := make(chan struct{})
	for range min(n, dialsAtOnce) {
		dialling.Go(func() {
			for range turns {
				if fill(ctx, deadline) {
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

// pause waits until a time. It reports false if ctx ended first.
func pause(ctx context.Context, until time.Time) bool {
	if wait := time.Until(until); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
