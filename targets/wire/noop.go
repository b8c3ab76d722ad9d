package wire

import (
	"errors"
	"net/url"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// checkNoop checks the spec of a noop target.
func checkNoop(s targets.Spec, u *url.URL) error {
	if s.Reply != "" {
		return errors.New("reply: noop has none; leave it out")
	}
	if len(s.Checks) > 0 {
		return errors.New("check: noop has no answers; leave the checks out")
	}
	_, err := noopLatency(u)
	return err
}

// sharedNoop refuses a trace context, which nobody would get.
func sharedNoop(s targets.Spec) error {
	if s.Trace {
		return errors.New("trace: noop sends nothing; leave it out")
	}
	return nil
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

// useNoop makes the Wire one of noop. That answers without sending anything, to measure the generator itself: noop:// at
// once, noop://?latency=1ms after that time. Its outcomes have no status and no bytes. It ignores the rest of a spec.
func (w *Wire) useNoop(_ targets.Spec, u *url.URL, _ targets.Local) (err error) {
	w.rests = true
	w.latency, err = noopLatency(u)
	return err
}

// Rests reports whether the Wire is one of noop: its requests send nothing, and each ends after the latency.
func (w *Wire) Rests() (latency time.Duration, ok bool) { return w.latency, w.rests }
