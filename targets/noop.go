package targets

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
	"time"
)

// noop answers without sending anything, to measure the generator itself: noop:// at once, noop://?latency=1ms after
// that time. Its outcomes have no status and no bytes. It ignores the rest of a spec.
type noop struct {
	latency time.Duration
	closed  atomic.Bool
}

// checkNoop checks the spec of a noop target.
func checkNoop(s Spec, u *url.URL) error {
	if s.Reply != "" {
		return errors.New("reply: noop has none; leave it out")
	}
	if len(s.Checks) > 0 {
		return errors.New("check: noop has no answers; leave the checks out")
	}
	_, err := noopLatency(u)
	return err
}

// newNoop is the constructor in the registry.
func newNoop(s Spec, _ Local, _ *pool) (Target, error) {
	_, u, err := s.kind()
	if err != nil {
		return nil, err
	}
	latency, err := noopLatency(u)
	if err != nil {
		return nil, err
	}
	return &noop{latency: latency}, nil
}

// noopLatency reads the latency from the query; 0 if there is none. It refuses other parameters, because a typing error
// would measure something else.
func noopLatency(u *url.URL) (time.Duration, error) {
	query := u.Query()
	for name := range query {
		if name != "latency" {
			return 0, errors.New("url: noop takes only latency; write noop://?latency=1ms")
		}
	}
	text := query.Get("latency")
	if text == "" {
		return 0, nil
	}
	latency, err := time.ParseDuration(text)
	if err != nil || latency < 0 {
		return 0, errors.New("url: latency must be a duration; write noop://?latency=1ms")
	}
	return latency, nil
}

// useNoop makes the Wire one of noop.
func (w *Wire) useNoop(_ Spec, u *url.URL, _ Local) (err error) {
	w.rests = true
	w.latency, err = noopLatency(u)
	return err
}

// Rests tells whether the Wire is one of noop: its requests send nothing, and each ends after the latency.
func (w *Wire) Rests() (latency time.Duration, ok bool) { return w.latency, w.rests }

// Do waits for the latency. Go's timers add up to about 1 ms.
func (t *noop) Do(ctx context.Context, _ Call) Outcome {
	if t.closed.Load() {
		return Outcome{Class: ClassCanceled}
	}
	// Without latency there is no timer: the measurement is of the generator, and not of this target's timers.
	if t.latency > 0 {
		timer := time.NewTimer(t.latency)
		defer timer.Stop()
		select {
		case <-timer.C:
			return Outcome{}
		case <-ctx.Done():
		}
	}
	return Outcome{Class: classify(ctx.Err(), ClassOther)}
}

// Connects reports whether requests use connections. A wait for this target is not a wait for a connection. Targets
// without this method are taken to connect.
func (t *noop) Connects() bool { return false }

// Close ends the target.
func (t *noop) Close() error {
	t.closed.Store(true)
	return nil
}
