package targets

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// mixTarget performs the requests of a mix. Its steps share their connections.
type mixTarget struct {
	mix   *Mix
	steps []Target
}

// Do performs the step of the call.
func (t *mixTarget) Do(ctx context.Context, c Call) Outcome { return t.steps[c.Step].Do(ctx, c) }

// Connects reports whether any request uses a connection.
func (t *mixTarget) Connects() bool {
	return slices.ContainsFunc(t.steps, func(step Target) bool {
		c, tells := step.(interface{ Connects() bool })
		return !tells || c.Connects()
	})
}

// Opening reports whether requests wait because the maximum number of connections is being opened. All steps have the
// same pool.
func (t *mixTarget) Opening() bool {
	for _, step := range t.steps {
		if h, ok := step.(*httpTarget); ok {
			return h.Opening()
		}
	}
	return false
}

// Preconnect opens connections as those of httpTarget do: to each server its share of n, and to all at the same time,
// so that one that does not answer holds up no other.
func (t *mixTarget) Preconnect(ctx context.Context, n int, every time.Duration) int {
	counts := map[endpoint]int{}
	first := map[endpoint]*httpTarget{}
	for _, step := range t.mix.Ahead(n) {
		if h, ok := t.steps[step].(*httpTarget); ok {
			to := h.first.to
			counts[to]++
			first[to] = h
		}
	}
	var open atomic.Int64
	var all sync.WaitGroup
	for to, h := range first {
		share := counts[to]
		all.Go(func() { open.Add(int64(h.Preconnect(ctx, share, every*time.Duration(n)/time.Duration(share)))) })
	}
	all.Wait()
	return int(open.Load())
}

// Close closes all steps.
func (t *mixTarget) Close() (err error) {
	for _, step := range t.steps {
		if e := step.Close(); e != nil {
			err = e
		}
	}
	return err
}
