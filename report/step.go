package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// StepReport is one step of a workload in a Report. Its requests are among those of the report.
type StepReport struct {
	Name         string              `json:"name"`                    // "other" pools those after the first 32
	Reached      int64               `json:"reached,omitempty"`       // flows that have the step after their first one; in a loop, each time
	Ended        int64               `json:"ended_before,omitempty"`  // of these, flows that ended before it
	Bypassed     int64               `json:"bypassed,omitempty"`      // of these, flows that a condition led past it
	Unfinished   int64               `json:"unfinished,omitempty"`    // of these, flows on their way to it, also those of workers that are gone
	FromAnswer   bool                `json:"from_answer,omitempty"`   // it is due some time after the answer before it; latency counts from then
	FollowedLate int64               `json:"followed_late,omitempty"` // of LateDropped, those after the first request of their flow
	Sent         int64               `json:"sent"`
	LateDropped  int64               `json:"late_dropped"` // too late to send
	Completed    int64               `json:"completed"`
	Failed       int64               `json:"failed"`
	InFlight     int64               `json:"in_flight"`
	Errors       map[string]int64    `json:"errors"` // failed requests by class
	Latency      record.Distribution `json:"latency_ns"`
	FirstByte    record.Distribution `json:"first_byte_ns,omitzero"` // of FirstBytes requests, as in Report
	FirstBytes   int64               `json:"first_bytes,omitempty"`
	Streams      Streams             `json:"streams,omitzero"` // as in Report
	Goodput      Goodput             `json:"goodput,omitzero"`
}

// setSteps fills in the steps in an order of names. Those that it does not name come after it, sorted by name, the pool at
// the end.
func (r *Report) setSteps(steps map[string]*record.Step, order []string) {
	r.Steps = nil
	place := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	inOrder := func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), compareSteps(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(steps), inOrder) {
		s := steps[name]
		kept := keptOf(s.Sent, s.LateDropped)
		r.Steps = append(r.Steps, StepReport{
			Name: name, FollowedLate: s.FollowedLate, Reached: s.Reached, Ended: s.Ended, Bypassed: s.Bypassed,
			Unfinished: max(0, s.Reached-s.Followed-s.FollowedLate-s.Ended-s.Bypassed), Sent: s.Sent, LateDropped: s.LateDropped, Completed: s.Completed, Failed: s.Failed,
			InFlight: s.Sent - s.Completed - s.Failed, Errors: maps.Clone(s.Errors),
			Latency:   s.Latency.Distribution(kept),
			FirstByte: s.FirstByte.Histogram().Distribution(1), FirstBytes: s.FirstByte.Count(),
			Streams: streamsOf(&s.Streams, kept, r.DurationS), Goodput: goodputOf(s.Judged, s.Good, r.DurationS),
		})
		r.Histograms.setStep(name, s.Latency)
		r.Histograms.Phases.setStep(name, s.FirstByte)
		r.Histograms.setStepStreams(name, s.Streams)
	}
}

// joined returns the names of both orders. A name that only b has comes before the one that follows it in b.
func joined(a, b []string) []string {
	all := slices.Clone(a)
	at := len(all)
	for _, name := range slices.Backward(b) {
		if i := slices.Index(all, name); i >= 0 {
			at = i
			continue
		}
		all = slices.Insert(all, at, name)
	}
	return all
}

// stepNames returns the names of the steps in their order.
func (r *Report) stepNames() (names []string) {
	for _, s := range r.Steps {
		names = append(names, s.Name)
	}
	return names
}

// compareSteps sorts by name, the pool at the end.
func compareSteps(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == record.OtherStep || b != record.OtherStep && a > b:
		return 1
	default:
		return -1
	}
}

// keptOf returns the share that was not dropped late of what was sent or dropped.
func keptOf(sent, late int64) float64 { return Audit{Asked: sent + late, LateDropped: late}.kept(0) }

func (h *Histograms) setStep(name string, latency *record.Histogram) {
	if h.Steps == nil {
		h.Steps = map[string]*record.Histogram{}
	}
	h.Steps[name] = latency
}

// recorded returns the steps of a report as workers record them.
func (r *Report) recorded() map[string]*record.Step {
	all := map[string]*record.Step{}
	for _, s := range r.Steps {
		step := &record.Step{Reached: s.Reached, Ended: s.Ended, Bypassed: s.Bypassed, FollowedLate: s.FollowedLate,
			Followed: s.Reached - s.Ended - s.Bypassed - s.Unfinished - s.FollowedLate, Sent: s.Sent, LateDropped: s.LateDropped, Completed: s.Completed, Failed: s.Failed, Errors: s.Errors, Latency: record.NewHistogram(), FirstByte: record.NewCompact(),
			Judged: s.Goodput.Judged, Good: s.Goodput.Good, Streams: record.NewStreams()}
		if h := r.Histograms.Phases.Steps[s.Name]; h != nil {
			step.FirstByte = h
		}
		if h := r.Histograms.Steps[s.Name]; h != nil {
			step.Latency = h
		}
		if h := r.Histograms.StepStreams[s.Name]; h != nil {
			step.Streams = *h
		}
		all[s.Name] = step
	}
	return all
}

// addSteps adds the steps of another report. Those of r come first: if there are too many, others are pooled.
func (r *Report) addSteps(o *Report) {
	sum, from := record.NewSnapshot("", ""), map[string]bool{}
	for _, part := range []*Report{r, o} {
		recorded := part.recorded()
		for _, s := range part.Steps {
			sum.Step(s.Name).Merge(recorded[s.Name])
			name := s.Name
			if sum.Steps[name] == nil {
				name = record.OtherStep
			}
			from[name] = from[name] || s.FromAnswer
		}
	}
	r.setSteps(sum.Steps, joined(r.stepNames(), o.stepNames()))
	for i := range r.Steps {
		r.Steps[i].FromAnswer = from[r.Steps[i].Name]
	}
}

// followedLate returns how many requests of flows after their first ones were dropped late.
func (r *Report) followedLate() (n int64) {
	for _, s := range r.Steps {
		n += s.FollowedLate
	}
	return n
}

// stepWindow returns a step of a part of a run as a window, by which thresholds are judged. A nil step has no requests.
func stepWindow(s *record.Step, seconds float64, slower, unknown int64) threshold.Window {
	if s == nil {
		s = record.NewStep()
	}
	return threshold.Window{
		Seconds: seconds, Asked: s.Sent + s.LateDropped, Sent: s.Sent, OK: s.Completed, Failed: s.Failed,
		Latency: s.Latency, FirstByte: s.FirstByte.Histogram(), NotSent: s.LateDropped, Kept: keptOf(s.Sent, s.LateDropped), Slower: slower, Unknown: unknown,
		Streams: s.Streams, Judged: s.Judged, Good: s.Good,
	}
}
