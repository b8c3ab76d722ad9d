package report

import "time"

// Incomplete is the state of a report that lacks something.
const Incomplete = "INCOMPLETE"

// State describes the state of the run in a word or two.
func (r Report) State() string {
	switch {
	case r.Running && r.StartedAt.IsZero():
		return "waiting"
	case r.Running:
		return "running"
	case !r.Complete:
		return Incomplete
	case r.StartedAt.IsZero():
		return "never begun"
	}
	return "complete"
}

// Length returns DurationS as a time.
func (r Report) Length() time.Duration {
	return time.Duration(r.DurationS * float64(time.Second))
}

// HasTimes reports whether a request has ended, so that there are times to report.
func (r Report) HasTimes() bool { return r.Audit.Completed+r.Audit.Failed > 0 }
