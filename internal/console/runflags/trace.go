package runflags

import (
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/input/workload"
	"github.com/loadctl/loadctl/targets/trace"
)

// addTraceFlags adds the flags for the trace context of requests.
func (f *Spec) addTraceFlags(s *pflag.FlagSet) {
	s.BoolVar(&f.target.Trace, "trace", false, "send a trace context (W3C traceparent) with each request, so that your tracing can show it. See docs/tracing.md")
	s.TextVar(&f.target.TraceSampled, "trace-sampled", trace.Share(0), "`SHARE` of traces that the endpoint is asked to record, such as 1%: with --trace, the sampled flag")
}

// traceOf sets what the file of a workload says of the trace context, unless a flag does.
func (f *Spec) traceOf(s *spec.Spec, of workload.Trace) {
	s.Origin.Trace, s.Origin.TraceSampled = of.On, of.Sampled
	if !f.set.Changed("trace") {
		s.Target.Trace = of.On
	}
	switch {
	case f.set.Changed("trace-sampled"):
	case s.Target.Trace:
		s.Target.TraceSampled = of.Sampled
	default: // --trace=false turns off all of it
		s.Origin.TraceSampled = 0
	}
}
