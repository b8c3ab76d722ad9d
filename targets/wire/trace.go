package wire

import (
	"crypto/rand"
	"errors"
	"net/http"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/template"
	"github.com/loadctl/loadctl/targets/trace"
)

// traced returns the line with the trace context; nothing if requests have none.
func traced(s targets.Spec) template.Text {
	if !s.Trace {
		return template.Text{}
	}
	line := func(b []byte, r template.Request) []byte {
		b = append(append(b, trace.Header...), ": "...)
		return append(r.Trace.Append(b, r.Number, r.Step, s.TraceSampled), "\r\n"...)
	}
	return template.Filled(line)
}

// unknownKey returns a key for requests of no run: theirs are not taken for those of another.
func unknownKey() string { return rand.Text() }

// checkTraced refuses a second trace context.
func checkTraced(s targets.Spec) error {
	if s.Trace && len(targets.HeaderValues(s.Headers, http.CanonicalHeaderKey(trace.Header))) > 0 {
		return errors.New("header traceparent: trace sends one too; leave one of them out")
	}
	return nil
}

// checkSampled checks the share of traces that servers record.
func checkSampled(s targets.Spec) error {
	switch {
	case s.TraceSampled < 0 || s.TraceSampled > trace.All:
		return errors.New("trace sampled: must be 0 to 100%")
	case s.TraceSampled > 0 && !s.Trace:
		return errors.New("trace sampled: without --trace there are no traces; add --trace, or leave it out")
	}
	return nil
}
