package record

import "fmt"

const (
	// MaxSteps bounds the steps that are counted apart, besides OtherStep.
	MaxSteps = 32

	// OtherStep pools the steps of a workload after the first MaxSteps.
	OtherStep = "other"

	maxStepBytes = 64
)

// Step holds what is known of the requests of one step of a workload. All counts are ≥ 0; they are part of those of the
// Snapshot.
type Step struct {
	// Reached counts the flows that have the step after their first one, from their start on, and in a loop each further time
	// that a flow comes to it. Each is Followed, FollowedLate, Ended or Bypassed, or on its way to the step. 0 if the step is
	// always the first.
	Reached      int64            `json:"reached,omitempty"`
	Followed     int64            `json:"followed,omitempty"`      // of Sent, those after the first request of their flow
	FollowedLate int64            `json:"followed_late,omitempty"` // the same of LateDropped
	Ended        int64            `json:"ended,omitempty"`         // flows that ended before the step: a request failed, or the run was stopped
	Bypassed     int64            `json:"bypassed,omitempty"`      // flows that did not have the step because of a condition
	Sent         int64            `json:"sent"`
	LateDropped  int64            `json:"late_dropped,omitempty"`
	Completed    int64            `json:"completed"`
	Failed       int64            `json:"failed"`
	Errors       map[string]int64 `json:"errors,omitempty"`    // of Failed, by class, at most 65 classes
	Latency      *Histogram       `json:"latency"`             // done − due
	FirstByte    *Compact         `json:"first_byte,omitzero"` // first byte − sent
	Judged       int64            `json:"judged,omitempty"`    // answers that had goals
	Good         int64            `json:"good,omitempty"`      // of these, those that met them all
	Streams      Streams          `json:"streams,omitzero"`    // of answers in pieces
}

// NewStep returns an empty one.
func NewStep() *Step {
	return &Step{Errors: map[string]int64{}, Latency: NewHistogram(), FirstByte: NewCompact(), Streams: NewStreams()}
}

// Merge adds the counts and buckets of o.
func (s *Step) Merge(o *Step) {
	s.Reached += o.Reached
	s.Ended += o.Ended
	s.Bypassed += o.Bypassed
	s.Followed += o.Followed
	s.FollowedLate += o.FollowedLate
	s.Sent += o.Sent
	s.LateDropped += o.LateDropped
	s.Completed += o.Completed
	s.Failed += o.Failed
	s.Judged += o.Judged
	s.Good += o.Good
	s.Streams.Merge(&o.Streams)
	for class, n := range o.Errors {
		s.fail(class, n)
	}
	s.Latency.Merge(o.Latency)
	s.FirstByte.Merge(o.FirstByte)
}

// addTimes adds the histograms of o.
func (s *Step) addTimes(o *Step) {
	s.Latency.Merge(o.Latency)
	s.FirstByte.Merge(o.FirstByte)
	s.Streams.addTimes(&o.Streams)
}

// fail counts n failed requests by class.
func (s *Step) fail(class string, n int64) {
	if _, known := s.Errors[class]; !known {
		class = pooledClass(class, s.Errors)
	}
	s.Errors[class] += n
}

// check makes a decoded Step safe to use.
func (s *Step) check(name string) error {
	if len(name) > maxStepBytes {
		return fmt.Errorf("step of %d bytes, more than %d", len(name), maxStepBytes)
	}
	if s == nil {
		return fmt.Errorf("step %q is empty", name)
	}
	if s.Latency == nil {
		s.Latency = NewHistogram()
	}
	if s.FirstByte == nil {
		s.FirstByte = NewCompact()
	}
	if err := s.Streams.Normalize(); err != nil {
		return err
	}
	if s.Errors == nil {
		s.Errors = map[string]int64{}
	}
	if len(s.Errors) > MaxClasses+1 {
		return fmt.Errorf("step %q has %d error classes, more than %d", name, len(s.Errors), MaxClasses+1)
	}
	for class, n := range s.Errors {
		if len(class) > maxClassBytes {
			return fmt.Errorf("error class of %d bytes, more than %d", len(class), maxClassBytes)
		}
		if err := checkCount("errors", n); err != nil {
			return err
		}
	}
	for name, n := range map[string]int64{"reached": s.Reached, "ended": s.Ended, "bypassed": s.Bypassed, "followed": s.Followed, "followed_late": s.FollowedLate, "sent": s.Sent,
		"late_dropped": s.LateDropped, "completed": s.Completed, "failed": s.Failed, "judged": s.Judged, "good": s.Good} {
		if err := checkCount(name, n); err != nil {
			return err
		}
	}
	return nil
}

// Step returns the entry of a step; beyond the limit that of OtherStep.
func (s *Snapshot) Step(name string) *Step {
	if step, ok := s.Steps[name]; ok {
		return step
	}
	if n := len(s.Steps); n > MaxSteps || n == MaxSteps && s.Steps[OtherStep] == nil {
		name = OtherStep
	}
	step, ok := s.Steps[name]
	if !ok {
		step = NewStep()
		if s.Steps == nil {
			s.Steps = map[string]*Step{}
		}
		s.Steps[name] = step
	}
	return step
}

// recordedSteps are the steps in a Recorder.
type recordedSteps struct {
	of  []int // by index of the step: its place in all
	all []*recordedStep
}

// recordedStep is one of them. It survives Reset, so that nothing is allocated again.
type recordedStep struct {
	name      string
	Step      // without histograms
	latency   paged
	firstByte paged
	streams   *recordedStreams // nil until there is one
}

// newSteps returns the records of steps with these names; equal names share one. The first MaxSteps names have one of
// their own.
func newSteps(names []string) (s recordedSteps) {
	places := map[string]int{}
	for _, name := range names {
		if _, known := places[name]; !known && len(places) >= MaxSteps {
			name = OtherStep
		}
		place, known := places[name]
		if !known {
			place = len(s.all)
			places[name] = place
			s.all = append(s.all, &recordedStep{name: name, Step: Step{Errors: map[string]int64{}}, latency: newPaged(), firstByte: pagedCompact()})
		}
		s.of = append(s.of, place)
	}
	return s
}

// step returns the record of the step with this index; nil if the Recorder was made without steps.
func (s *recordedSteps) step(i int) *recordedStep {
	if i >= len(s.of) {
		return nil
	}
	return s.all[s.of[i]]
}

// StepSent counts a request that Sent counts too, as one of the step with this index.
func (r *Recorder) StepSent(step int) {
	if s := r.steps.step(step); s != nil {
		s.Sent++
	}
}

// StepReached counts a flow that starts, and has the step with this index later.
func (r *Recorder) StepReached(step int) {
	if s := r.steps.step(step); s != nil {
		s.Reached++
	}
}

// StepEnded counts a flow that ended before the step with this index.
func (r *Recorder) StepEnded(step int) {
	if s := r.steps.step(step); s != nil {
		s.Ended++
	}
}

// StepBypassed counts a flow that ended without the step with this index, because a condition left it out.
func (r *Recorder) StepBypassed(step int) {
	if s := r.steps.step(step); s != nil {
		s.Bypassed++
	}
}

// StepLate counts a slot that LateDropped counts too, as one of the step with this index.
func (r *Recorder) StepLate(step int) {
	if s := r.steps.step(step); s != nil {
		s.LateDropped++
	}
}

// done records the end of a request.
func (s *recordedStep) done(class string, latency int64) {
	if class == "" {
		s.Completed++
	} else {
		s.Failed++
		s.fail(class, 1)
	}
	if ns, ok := inRange(latency); ok {
		s.latency.record(ns)
	}
}

// reset forgets all but the memory.
func (s *recordedSteps) reset() {
	for _, step := range s.all {
		clear(step.Errors)
		step.Step = Step{Errors: step.Errors}
		step.latency.reset()
		step.firstByte.reset()
		if step.streams != nil {
			step.streams.reset()
		}
	}
}

// addSteps adds those that a Recorder holds.
func (s *Snapshot) addSteps(r *recordedSteps) {
	for _, from := range r.all {
		if from.Reached+from.Ended+from.Bypassed+from.Sent+from.LateDropped+from.Completed+from.Failed == 0 && from.streams == nil {
			continue
		}
		to := s.Step(from.name)
		counts := from.Step
		to.Merge(&counts)
		from.latency.addTo(to.Latency)
		from.firstByte.addTo(to.FirstByte.Histogram())
		to.Streams.record(from.streams)
	}
}

// mergeSteps adds those of another snapshot.
func (s *Snapshot) mergeSteps(o *Snapshot) {
	for name, step := range o.Steps {
		s.Step(name).Merge(step)
	}
}
