package targets

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/loadctl/loadctl/targets/events"
)

// A lack is what a description has to say so that its answers have something.
type lack struct {
	thing, flag, key string
	has              func(o events.Options) bool
}

// lackOf returns what a metric needs, as conditions of a run name it. ok is false if all answers have it.
func lackOf(metric string) (l lack, ok bool) {
	switch metric {
	case "first_event", "first_event_service", "event_gap", "stream", "events":
		return lack{"events", "--stream, such as --stream sse", "stream, such as stream: sse,", events.Options.Any}, true
	case "per_token":
		return lack{"tokens", "--preset openai", "preset: openai", func(o events.Options) bool { return o.Preset != "" }}, true
	case "goodput":
		return lack{"goals", "--goal, such as --goal 'first_event<500ms'", "goals, such as goals: first_event<500ms,", func(o events.Options) bool { return len(o.Goals) > 0 }}, true
	}
	return l, false
}

// Lacks says why a metric of answers in pieces, as conditions of a run name it, can have no value, and what to do; "" = it can.
// step is the name of a step; "" = any.
func (s Spec) Lacks(metric, step string) string {
	l, ok := lackOf(metric)
	if !ok || len(s.Flows) == 0 && l.has(s.Stream) {
		return ""
	}
	if len(s.Flows) == 0 {
		return fmt.Sprintf("no answer has %s; describe the run with %s, or leave the condition out", l.thing, l.flag)
	}
	for _, f := range s.Flows {
		if slices.ContainsFunc(f.Steps, func(of Step) bool { return (step == "" || of.Name == step) && l.has(of.Stream) }) {
			return ""
		}
	}
	return fmt.Sprintf("no answer of %s has %s; write %s into a step of the --workload file, or leave the condition out", cmp.Or(step, "the run"), l.thing, l.key)
}
