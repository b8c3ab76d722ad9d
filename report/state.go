package report

import "time"

// incomplete is the state of a report that lacks something.
const incomplete = "INCOMPLETE"

// state describes the state of the run in a word or two.
func (r Report) state() string {
	switch {
	case r.Running && r.StartedAt.IsZero():
		return "waiting"
	case r.Running:
		return "running"
	case !r.Complete:
		return incomplete
	case r.StartedAt.IsZero():
		return "never begun"
	}
	return "complete"
}

// length returns DurationS as a time.
func (r Report) length() time.Duration {
	return time.Duration(r.DurationS * float64(time.Second))
}

// timed tells whether a request has ended, so that there are times to report.
func (r Report) timed() bool { return r.Audit.Completed+r.Audit.Failed > 0 }
