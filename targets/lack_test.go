package targets

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/events"
)

// TestLacks asserts which metrics have values, by what a run and its steps say of answers, and that else one line says what to
// add.
func TestLacks(t *testing.T) {
	plain, sse, model := events.Options{}, events.Options{Kind: events.SSE}, events.Options{Preset: events.OpenAI}
	goals := events.Options{Goals: []string{"latency<1s"}}
	flows := Spec{Flows: []Flow{{Steps: []Step{{Name: "a", Stream: sse}, {Name: "b", Stream: goals}}}, {Steps: []Step{{Name: "c", Stream: model}, {Name: "a"}}}}}
	const events, tokens, good = "first_event first_event_service event_gap stream events", "per_token", "goodput"
	for _, c := range []struct {
		of      Spec
		step    string
		metrics string
		add     string // in the line; "" = there is none
	}{
		{Spec{Stream: plain}, "", "latency service lag first_byte errors rate query", ""},
		{Spec{Stream: plain}, "", events, "no answer has events; describe the run with --stream, such as --stream sse, or"},
		{Spec{Stream: plain}, "", tokens, "no answer has tokens; describe the run with --preset openai, or"},
		{Spec{Stream: plain}, "", good, "no answer has goals; describe the run with --goal"},
		{Spec{Stream: sse}, "", events, ""},
		{Spec{Stream: sse}, "", tokens, "--preset openai"},
		{Spec{Stream: model}, "", events + " " + tokens, ""},
		{Spec{Stream: model}, "", good, "--goal"},
		{Spec{Stream: goals}, "", good, ""},
		{Spec{Stream: goals}, "", events, "--stream"},
		{flows, "", strings.Join([]string{events, tokens, good}, " "), ""},
		{flows, "a", events, ""},
		{flows, "a", tokens, "no answer of a has tokens; write preset: openai into a step of the --workload file, or"},
		{flows, "b", events, "no answer of b has events; write stream, such as stream: sse, into"},
		{flows, "b", good, ""},
		{flows, "c", good, "no answer of c has goals; write goals, such as goals: first_event<500ms, into"},
		{Spec{Flows: flows.Flows[:1]}, "", tokens, "no answer of the run has tokens"},
	} {
		for metric := range strings.FieldsSeq(c.metrics) {
			if got := c.of.Lacks(metric, c.step); !strings.Contains(got, c.add) || c.add == "" && got != "" {
				t.Errorf("%s of %q: %q, want %q", metric, c.step, got, c.add)
			}
		}
	}
}
