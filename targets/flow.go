package targets

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/template"
)

// The bounds of a workload.
const (
	MaxFlows      = 10_000
	MaxWeight     = 10_000
	MaxSteps      = 100 // of a flow
	MaxTakes      = 100 // of a flow
	MaxPause      = time.Hour
	maxLabelBytes = 64
)

// A Flow is what one slot of a workload starts: one or more requests, one after the other. The number of the slot decides
// which flow it starts, so that the flows have exact shares: see Mix.
type Flow struct {
	// Name of the flow, for errors.
	Name string `json:"name"`
	// Weight is the flow's part of the mix, Weight / sum of weights; 0 means 1.
	Weight int64  `json:"weight,omitempty"`
	Steps  []Step `json:"steps"`
}

// A Step is one request of a flow. Its fields mean what they mean in Spec, unless they are described here.
type Step struct {
	// Name is the step's label in reports, up to 64 bytes. Steps may share one: then they are counted together.
	Name    string   `json:"name"`
	URL     string   `json:"url"`
	Method  string   `json:"method,omitempty"`
	Headers []Header `json:"headers,omitempty"`
	Body    []byte   `json:"body,omitempty"`
	Expect  string   `json:"expect,omitempty"`
	Checks  []string `json:"checks,omitempty"`
	Reply   string   `json:"reply,omitempty"`

	Stream events.Options `json:"stream,omitzero"`

	// At is when the step is due, in ns after the flow's slot. A step whose answer before it comes later is sent then, and
	// its latency counts from At. 0 in the first step.
	At time.Duration `json:"at_ns,omitempty"`
	// After makes the step due this long after the end of the answer before it, instead of At. nil = At counts.
	After *time.Duration `json:"after_ns,omitempty"`
	// Takes are values of the answer for placeholders of later steps of the flow: ${NAME}.
	Takes []Take `json:"takes,omitempty"`
}

// A Take keeps a part of an answer under a name.
type Take struct {
	Name string `json:"name"`
	// From says which part, as check.ParseTake reads it: "json PATH", "header NAME", "cookie NAME" or "regex /REGEX/".
	From string `json:"from"`
}

// weight is the weight in effect.
func (f Flow) weight() int64 { return max(1, f.Weight) }

// StepNames returns the names of the steps, each once, in the order of the flows.
func (s Spec) StepNames() (all []string) {
	seen := map[string]bool{}
	for _, f := range s.Flows {
		for _, step := range f.Steps {
			if !seen[step.Name] {
				seen[step.Name] = true
				all = append(all, step.Name)
			}
		}
	}
	return all
}

// Walks reports whether a flow has several steps.
func (s Spec) Walks() bool {
	return slices.ContainsFunc(s.Flows, func(f Flow) bool { return len(f.Steps) > 1 })
}

// MeanSteps returns the mean number of requests of a slot, as a fraction; 1/1 without flows, or if each request has a slot.
// The weight w of a flow with n steps gives
//
//	Σ w·n / Σ w
//
// The flows need not be valid.
func (s Spec) MeanSteps() (requests, slots int64) {
	if len(s.Flows) == 0 || s.SlotEach() {
		return 1, 1
	}
	for _, f := range s.Flows {
		requests, slots = requests+f.weight()*int64(len(f.Steps)), slots+f.weight()
	}
	return requests, slots
}

// StepsPerFlow is MeanSteps as a number: 1 if each request has a slot.
func (s Spec) StepsPerFlow() float64 {
	requests, slots := s.MeanSteps()
	return float64(requests) / float64(slots)
}

// Pauses returns how long the longest flow takes if answers come at once, and the longest pause between two of its
// requests.
func (s Spec) Pauses() (flow, pause time.Duration) {
	for _, f := range s.Flows {
		var due, at time.Duration
		for _, step := range f.Steps {
			if step.After != nil {
				due, pause = due+*step.After, max(pause, *step.After)
				continue
			}
			due, pause, at = max(due, step.At), max(pause, step.At-at), step.At
		}
		flow = max(flow, due)
	}
	return flow, pause
}

// FromAnswer returns the names of the steps that are due some time after the answer before them. Where each request has a
// slot, steps are due with their slots.
func (s Spec) FromAnswer() (names []string) {
	if s.SlotEach() {
		return nil
	}
	for _, f := range s.Flows {
		for _, step := range f.Steps {
			if step.After != nil {
				names = append(names, step.Name)
			}
		}
	}
	return names
}

// Single returns the spec of one step: what all steps have in common, and what is its own. Its data files give rows to
// the flows that use them in turn. taken are the names that earlier steps of its flow take.
func (s Spec) Single(step Step, mix *Mix, taken []string) Spec {
	s.taken, s.takes = taken, step.Takes
	for _, t := range step.Takes {
		s.taken = append(slices.Clip(s.taken), t.Name)
	}
	s.URL, s.Method, s.Headers, s.Body, s.Expect, s.Checks, s.Reply, s.Stream = step.URL, step.Method, step.Headers, step.Body, step.Expect, step.Checks, step.Reply, step.Stream
	s.Flows, s.Pick, s.RateOf, s.mix = nil, "", "", mix
	return s
}

// Taken returns the names of the values that the flow has taken when the step has ended, if s is the spec of one step.
func (s Spec) Taken() []string { return s.taken }

// Takes returns what the step takes; their names are the last of Taken.
func (s Spec) Takes() []Take { return s.takes }

// Steps returns the spec of each step; s alone if it has no flows. The flows must be valid.
func (s Spec) Steps() []Spec {
	if len(s.Flows) == 0 {
		return []Spec{s}
	}
	s = s.described()
	var mix *Mix
	if len(s.Data) > 0 { // for their rows
		mix = s.Mix()
	}
	var all []Spec
	for _, f := range s.Flows {
		var taken []string
		for _, step := range f.Steps {
			one := s.Single(step, mix, taken)
			one.Cookies = s.Cookies && s.remembers(f)
			all, taken = append(all, one), one.taken
		}
	}
	return all
}

// CheckWith checks the spec but for what the protocol of a request needs: that is for protocol, which gets the spec of each
// step. Its error is the first problem found. See wire.Validate.
func (s Spec) CheckWith(protocol func(Spec) error) error {
	var err error
	switch {
	case len(s.Flows) > 0:
		err = s.checkFlows(protocol)
	case s.RateOf != "":
		err = errors.New("rate of: there are no flows, so the rate is of requests; give a workload, or leave it out")
	case s.Pick != "":
		err = errors.New("targets pick: there are no requests to mix; give a file of targets or a workload, or leave it out")
	default:
		err = protocol(s)
	}
	return cmp.Or(err, s.checkData())
}

// CheckStepWith checks one step of s in the same way. taken are the names that earlier steps of its flow take.
func (s Spec) CheckStepWith(protocol func(Spec) error, step Step, taken ...string) error {
	if err := cmp.Or(checkName(step.Name), step.checkTimes(), step.checkTakes(taken)); err != nil {
		return err
	}
	return protocol(s.Single(step, nil, taken))
}

// checkTimes checks At and After.
func (s Step) checkTimes() error {
	switch {
	case s.At < 0 || s.At > MaxPause || s.After != nil && (*s.After < 0 || *s.After > MaxPause):
		return fmt.Errorf("at and after: give times up to %v", MaxPause)
	case s.At > 0 && s.After != nil:
		return errors.New("at and after: give one of them")
	}
	return nil
}

// checkTakes checks what the step takes.
func (s Step) checkTakes(taken []string) error {
	for i, t := range s.Takes {
		earlier := func(o Take) bool { return o.Name == t.Name }
		switch _, err := check.ParseTake(t.From); {
		case err != nil:
			return fmt.Errorf("take %.40q: %w", t.Name, err)
		case !rows.IsName(t.Name):
			return fmt.Errorf("take %.40q: a name has letters, digits, dashes and underscores, as in ${token}", t.Name)
		case template.IsName(t.Name):
			return fmt.Errorf("take %s: ${%s} has a meaning already; choose another name", t.Name, t.Name)
		case slices.Contains(taken, t.Name) || slices.ContainsFunc(s.Takes[:i], earlier):
			return fmt.Errorf("take %s: the flow takes this name twice; choose another one", t.Name)
		}
	}
	if len(taken)+len(s.Takes) > MaxTakes {
		return fmt.Errorf("take: a flow takes at most %d values", MaxTakes)
	}
	return nil
}

// checkName checks the name of a flow or a step.
func checkName(name string) error {
	switch {
	case name == "" || len(name) > maxLabelBytes || !utf8.ValidString(name):
		return fmt.Errorf("name %.70q: give 1 to %d bytes of text", name, maxLabelBytes)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune("{},", r) }):
		return fmt.Errorf("name %q: leave out braces, commas and control characters", name)
	}
	return nil
}

// checkFlow checks the steps of a flow, one after the other.
func (s Spec) checkFlow(f Flow, protocol func(Spec) error) error {
	var taken []string
	last := time.Duration(0)
	for i, step := range f.Steps {
		if err := checkName(step.Name); err != nil {
			return fmt.Errorf("flow %s: step %d: %w", f.Name, i+1, err)
		}
		if err := s.CheckStepWith(protocol, step, taken...); err != nil {
			return fmt.Errorf("step %s: %w", step.Name, err)
		}
		switch {
		case slices.ContainsFunc(f.Steps[:i], func(o Step) bool { return o.Name == step.Name }):
			return fmt.Errorf("step %s: the flow has two steps of this name; choose another one", step.Name)
		case i == 0 && (step.At > 0 || step.After != nil):
			return fmt.Errorf("step %s: the first step is sent when the flow starts; leave at and after out", step.Name)
		case step.After == nil && step.At < last:
			return fmt.Errorf("step %s: at %v is before the step before it; give at least %v, or after", step.Name, step.At, last)
		}
		last = max(last, step.At)
		for _, t := range step.Takes {
			taken = append(taken, t.Name)
		}
	}
	return nil
}

// checkFlows checks the flows, each as a spec of its own.
func (s Spec) checkFlows(protocol func(Spec) error) error {
	switch {
	case s.URL != "" || s.Method != "" || len(s.Headers) > 0 || len(s.Body) > 0 || s.Expect != "" || len(s.Checks) > 0 || s.Reply != "" || s.Binary || !s.Stream.IsZero():
		return errors.New("flows: they say what is requested; leave out URL, method, headers, body, reply, stream, goals, expect and checks beside them")
	case len(s.Flows) > MaxFlows:
		return fmt.Errorf("flows: at most %d; put the part that differs into a data file", MaxFlows)
	}
	s = s.described()
	for _, f := range s.Flows {
		if err := checkName(f.Name); err != nil {
			return fmt.Errorf("flow: %w", err)
		}
		switch {
		case f.Weight < 0 || f.Weight > MaxWeight:
			return fmt.Errorf("flow %s: the weight must be 1 to %d", f.Name, MaxWeight)
		case len(f.Steps) == 0 || len(f.Steps) > MaxSteps:
			return fmt.Errorf("flow %s: give it 1 to %d steps", f.Name, MaxSteps)
		}
		if err := s.checkFlow(f, protocol); err != nil {
			return err
		}
	}
	if n := cycle(s.Flows); n > maxCycle {
		return fmt.Errorf("weights: their sum is %d after division by their common divisor, at most %d; round them", n, maxCycle)
	}
	return cmp.Or(s.checkPick(), s.checkRateOf())
}

// Blame says which step an error is about.
func (s Spec) Blame(step int, err error) error {
	if len(s.Flows) == 0 {
		return err
	}
	return fmt.Errorf("step %s: %w", s.Mix().names[step], err)
}
