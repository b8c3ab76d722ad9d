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
	"github.com/loadctl/loadctl/targets/formula"
	"github.com/loadctl/loadctl/targets/program"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/template"
)

// The bounds of a workload.
const (
	MaxFlows      = 10_000
	MaxWeight     = 10_000
	MaxSteps      = program.MaxSteps
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
	// Body says in which order the steps are sent, by conditions and loops; none = one after the other. Package program
	// runs it. Least and Most are how many requests the flow then has, if none fails.
	Body  []*program.Block `json:"body,omitempty"`
	Least int64            `json:"least,omitempty"`
	Most  int64            `json:"most,omitempty"`
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
	// Pause draws the time instead, with After as its mean: "exp 2s" or "uniform 1s..3s", as program.ParsePause reads it.
	Pause string `json:"pause,omitempty"`
	// Takes are values of the answer for placeholders of later steps of the flow: ${NAME}.
	Takes []Take `json:"takes,omitempty"`
}

// A Take keeps a part of an answer under a name.
type Take struct {
	Name string `json:"name"`
	// From says which part, as check.ParseTake reads it: "json PATH", "header NAME", "cookie NAME" or "regex /REGEX/".
	From string `json:"from"`
}

// Program returns the compiled Body; nil if there is none.
func (f Flow) Program() (*program.Program, error) {
	if len(f.Body) == 0 {
		return nil, nil
	}
	takes := make([][]string, len(f.Steps))
	for i, step := range f.Steps {
		for _, t := range step.Takes {
			takes[i] = append(takes[i], t.Name)
		}
	}
	return program.Compile(f.Body, takes)
}

// Known returns for each step the names that the flow may have taken before it, in the order of a Session. A flow need not
// take all of them: see formula.Unsure. The flow must be valid.
func (f Flow) Known() (all [][]string) {
	if p, err := f.Program(); p != nil && err == nil {
		return p.Known
	}
	var taken []string
	for _, step := range f.Steps {
		all = append(all, taken)
		taken = with(taken, step.Takes)
	}
	return all
}

// Times returns for each step how often the flow sends it at most. The flow must be valid.
func (f Flow) Times() []int64 {
	if p, err := f.Program(); p != nil && err == nil {
		return p.Times
	}
	return slices.Repeat([]int64{1}, len(f.Steps))
}

// with returns the names that a flow has taken after it took more.
func with(taken []string, more []Take) []string {
	taken = slices.Clone(taken)
	for _, t := range more {
		if i := slices.IndexFunc(taken, func(name string) bool { return strings.TrimPrefix(name, formula.Unsure) == t.Name }); i >= 0 {
			taken[i] = t.Name
			continue
		}
		taken = append(taken, t.Name)
	}
	return taken
}

// requests returns how many requests the flow has at most.
func (f Flow) requests() int64 {
	if len(f.Body) > 0 {
		return f.Most
	}
	return int64(len(f.Steps))
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

// Walks reports whether a flow may have several requests.
func (s Spec) Walks() bool { return slices.ContainsFunc(s.Flows, Flow.walks) }

func (f Flow) walks() bool { return len(f.Steps) > 1 || len(f.Body) > 0 }

// Bounds returns how many requests a slot has on average: at least, and at most. Both are the same if no flow has conditions
// and loops.
func (s Spec) Bounds() (least, most float64) {
	var weights float64
	for _, f := range s.Flows {
		w, n := float64(f.weight()), f.requests()
		weights, most = weights+w, most+w*float64(n)
		if least += w * float64(n); len(f.Body) > 0 {
			least -= w * float64(n-f.Least)
		}
	}
	if weights == 0 {
		return 1, 1
	}
	return least / weights, most / weights
}

// MeanSteps returns the mean number of requests of a slot, as a fraction; 1/1 without flows, or if each request has a slot. A
// flow with conditions and loops counts with the most that it may have. The weight w of a flow with n requests gives
//
//	Σ w·n / Σ w
//
// The flows need not be valid.
func (s Spec) MeanSteps() (requests, slots int64) {
	if len(s.Flows) == 0 || s.SlotEach() {
		return 1, 1
	}
	for _, f := range s.Flows {
		requests, slots = requests+f.weight()*f.requests(), slots+f.weight()
	}
	return requests, slots
}

// StepsPerFlow is MeanSteps as a number: 1 if each request has a slot.
func (s Spec) StepsPerFlow() float64 {
	requests, slots := s.MeanSteps()
	return float64(requests) / float64(slots)
}

// Pauses returns how long the longest flow takes if answers come at once, and the longest pause between two of its
// requests; with conditions and loops, at most. The flows must be valid.
func (s Spec) Pauses() (flow, pause time.Duration) {
	for _, f := range s.Flows {
		var due, at time.Duration
		times := f.Times()
		if p, err := f.Program(); p != nil && err == nil {
			due, pause = p.Paused, max(pause, p.Paused)
		}
		for i, step := range f.Steps {
			if step.After != nil {
				longest := *step.After
				if p, err := program.ParsePause(step.Pause); err == nil {
					longest = p.Most
				}
				due, pause = due+longest*time.Duration(times[i]), max(pause, longest)
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
// the flows that use them in turn. taken are the names that its flow may have taken before, as Flow.Known has them.
func (s Spec) Single(step Step, mix *Mix, taken []string) Spec {
	s.earlier, s.taken, s.takes = taken, with(taken, step.Takes), step.Takes
	s.URL, s.Method, s.Headers, s.Body, s.Expect, s.Checks, s.Reply, s.Stream = step.URL, step.Method, step.Headers, step.Body, step.Expect, step.Checks, step.Reply, step.Stream
	s.Flows, s.Pick, s.RateOf, s.mix = nil, "", "", mix
	return s
}

// Taken returns the names of the values that the flow has taken when the step has ended, if s is the spec of one step.
func (s Spec) Taken() []string {
	names := slices.Clone(s.taken)
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, formula.Unsure)
	}
	return names
}

// Takes returns what the step takes.
func (s Spec) Takes() []Take { return s.takes }

// FollowsTakes reports whether steps before this one take values, if s is the spec of one step.
func (s Spec) FollowsTakes() bool { return len(s.earlier) > 0 }

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
		known := f.Known()
		for i, step := range f.Steps {
			one := s.Single(step, mix, known[i])
			one.Cookies = s.Cookies && s.remembers(f)
			all = append(all, one)
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
	case s.Pause == "":
		return nil
	}
	p, err := program.ParsePause(s.Pause)
	if err == nil && (s.After == nil || *s.After != p.Mean) {
		err = errors.New("its mean is not that of after; give both the same")
	}
	if err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	return nil
}

// checkTakes checks what the step takes.
func (s Step) checkTakes(taken []string) error {
	for i, t := range s.Takes {
		earlier := func(o Take) bool { return o.Name == t.Name }
		if _, err := check.ParseTake(t.From); err != nil {
			return fmt.Errorf("take %.40q: %w", t.Name, err)
		}
		if err := CheckValueName(t.Name); err != nil {
			return fmt.Errorf("take %.40q: %w", t.Name, err)
		}
		if slices.ContainsFunc(s.Takes[:i], earlier) {
			return fmt.Errorf("take %s: the step takes this name twice; choose another one", t.Name)
		}
	}
	if len(with(taken, s.Takes)) > MaxTakes {
		return fmt.Errorf("take: a flow takes at most %d values", MaxTakes)
	}
	return nil
}

// CheckValueName checks a name under which a flow keeps a value.
func CheckValueName(name string) error {
	switch {
	case !rows.IsName(name):
		return errors.New("a name has letters, digits, dashes and underscores; write one such as token")
	case template.IsName(name):
		return fmt.Errorf("${%s} has a meaning already; choose another name", name)
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
	if err := s.checkBody(f); err != nil {
		return fmt.Errorf("flow %s: %w", f.Name, err)
	}
	known := f.Known()
	last := time.Duration(0)
	for i, step := range f.Steps {
		if err := checkName(step.Name); err != nil {
			return fmt.Errorf("flow %s: step %d: %w", f.Name, i+1, err)
		}
		if err := s.CheckStepWith(protocol, step, known[i]...); err != nil {
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
	}
	return nil
}

// checkBody checks the order of the steps of a flow.
func (s Spec) checkBody(f Flow) error {
	p, err := f.Program()
	switch {
	case err != nil:
		return err
	case p == nil && f.Least+f.Most > 0:
		return errors.New("least and most: they are those of a body; leave them out")
	case p == nil:
		return nil
	case p.Least != f.Least || p.Most != f.Most:
		return fmt.Errorf("the body sends %d to %d requests, and not %d to %d; give these numbers", p.Least, p.Most, f.Least, f.Most)
	}
	for i, step := range f.Steps {
		if p.Looped[i] && step.At > 0 {
			return fmt.Errorf("step %s: a step in a loop has no time after the begin of its flow; give after", step.Name)
		}
	}
	for _, name := range p.Columns {
		if err := s.CheckColumn(name); err != nil {
			return err
		}
	}
	for _, name := range p.Names {
		if err := CheckValueName(name); err != nil {
			return fmt.Errorf("set %.40q: %w", name, err)
		}
	}
	if len(p.Names) > MaxTakes {
		return fmt.Errorf("set and take: a flow has at most %d values", MaxTakes)
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
