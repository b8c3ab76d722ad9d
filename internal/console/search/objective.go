package search

import (
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report/threshold"
)

// Decided says which objective no answer of a run can decide; nil = there is none.
func (t Task) Decided(s spec.Spec) error {
	for _, objective := range t.Objectives {
		if err := s.Decides(objective); err != nil {
			return fmt.Errorf("--slo %w", err)
		}
	}
	return nil
}

// LeastRequests is the least number of requests in a window at the first rate.
const LeastRequests = 20

// Objective says why a threshold cannot be an objective of a search whose probes have this length; nil = it can.
func Objective(t threshold.Threshold, length time.Duration) error {
	switch {
	case t.Over > 0:
		return fmt.Errorf("%q: each probe is one window, of --step-for; leave out 'over'", t.Text)
	case t.Metric == "rate":
		return fmt.Errorf("%q: the search sets the rate; give an objective of the service, such as latency:p(99)<50ms or errors:rate<0.1%%", t.Text)
	case t.IsTime() && t.Limit >= float64(length):
		return fmt.Errorf("%q: within --step-for %v no request can miss it; give a longer --step-for", t.Text, length)
	}
	return nil
}
