package results

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/threshold/guard"
	"github.com/loadctl/loadctl/targets"
)

// mostReaction bounds the time for which windows after a step do not count, because requests from before it may still end.
// With a long timeout that costs one step more at worst (docs/adr/0046-guard.md).
const mostReaction = 5 * time.Second

// guardsOf returns the guards among the thresholds of a run.
func guardsOf(s spec.Spec, all []threshold.Threshold) *guard.Guards {
	return guard.New(all, min(mostReaction, cmp.Or(s.Target.Timeout, targets.DefaultTimeout)))
}

// guard lowers the rate of the run, or raises it again, if its guards say so at the end of a stretch. ordered: they did, so
// the state is old. A step is void if a command came in between. A step up for which there is no room at the endpoint is
// tried again in a second.
func (j *judge) guard(ctx context.Context, s *run.State, stretch threshold.Stretch) (ordered bool, err error) {
	conditions := j.guards.Conditions()
	if len(conditions) == 0 {
		return false, nil
	}
	verdicts := make([][]threshold.Verdict, len(conditions))
	for i, t := range conditions {
		verdicts[i] = t.Verdicts(stretch, t.Reduce.After) // a new judge has seen none of them
	}
	scale := s.Scale()
	step, ok := j.guards.Next(guardState(s), verdicts)
	if !ok {
		return false, nil
	}
	_, err = rights.Change(ctx, j.run, func() (run.Change, error) { return j.run.Scale(ctx, step.To, scale.After, step.Reason) })
	full := rights.Refused(err)
	switch {
	case full && !j.refused:
		j.log.Warn("cannot raise the rate again yet", "why", err)
	case err == nil && step.To < step.From:
		j.log.Warn("lowered the rate", "percent", float64(step.To)/1e4, "why", step.Reason)
	case err == nil:
		j.log.Info("raised the rate again", "percent", float64(step.To)/1e4, "why", step.Reason)
	}
	if j.refused = full; full || errors.Is(err, run.ErrChanged) {
		err = nil
	}
	return !full, err
}

// guardState returns what guards know of a run.
func guardState(s *run.State) guard.State {
	since := func(t time.Time) time.Duration {
		if t.IsZero() {
			return 0
		}
		return max(0, t.Sub(s.StartedAt))
	}
	x := s.Scale()
	return guard.State{Factor: x.Factor, Most: x.Most, Since: since(x.Since), Set: since(x.Set), Peak: x.Peak}
}
