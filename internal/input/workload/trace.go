package workload

import (
	"go.yaml.in/yaml/v3"

	"github.com/loadctl/loadctl/targets/trace"
)

// A Trace is what a workload file says of the trace context of requests. The zero value says nothing.
type Trace struct {
	On      bool
	Sampled trace.Share // of all traces, those that servers are asked to record
}

// trace reads the trace context.
func (d *document) trace(on, sampled *yaml.Node) (t Trace, err error) {
	if t.On, err = d.given(on, "trace: true"); err != nil || sampled == nil {
		return t, err
	}
	const example = "trace_sampled: 1%"
	text, err := d.text(sampled, example)
	if err != nil {
		return t, err
	}
	if t.Sampled, err = trace.ParseShare(text); err != nil {
		return t, d.fail(sampled, "%.20q is no share; %w", text, err)
	}
	if t.Sampled > 0 && !t.On {
		return t, d.fail(sampled, "is a share of the traces that requests carry; write trace: true beside it, or leave it out")
	}
	return t, nil
}
