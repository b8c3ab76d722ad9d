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
		if c, ok := step.(connecting); ok {
			return c.Opening()
		}
	}
	return false
}

// connecting is a target that has connections.
type connecting interface {
	leads() endpoint // where to
	Opening() bool
	Preconnect(ctx context.Context, n int, every time.Duration) int
}

// Preconnect opens connections as those of httpTarget do: to each server its share of n, and to all at the same time,
// so that one that does not answer holds up no other.
func (t *mixTarget) Preconnect(ctx context.Context, n int, every time.Duration) int {
	counts := map[endpoint]int{}
	first := map[endpoint]connecting{}
	for _, step := range t.mix.Ahead(n) {
		if c, ok := t.steps[step].(connecting); ok {
			to := c.leads()
			counts[to]++
			first[to] = c
		}
	}
	var open atomic.Int64
	var all sync.WaitGroup
	for to, c := range first {
		share := counts[to]
		all.Go(func() { open.Add(int64(c.Preconnect(ctx, share, every*time.Duration(n)/time.Duration(share)))) })
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
