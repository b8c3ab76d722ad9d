package member

import (
	"fmt"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// TestGoals: each step has its own goals, and a run without goals judges nothing.
func TestGoals(t *testing.T) {
	none := targets.Step{Name: "a", URL: "http://h/a"}
	one := targets.Step{Name: "b", URL: "http://h/b", Stream: events.Options{Kind: events.SSE, Goals: []string{"ttft<1s", "latency<2s"}}}
	for _, c := range []struct {
		spec targets.Spec
		want string
	}{
		{targets.Spec{URL: "http://h/"}, "[]"},
		{targets.Spec{Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{none, none}}}}, "[]"},
		{targets.Spec{URL: "http://h/", Stream: one.Stream}, "[[ttft<1s latency<2s]]"},
		{targets.Spec{Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{none, one}}, {Name: "g", Steps: []targets.Step{none}}}}, "[[] [ttft<1s latency<2s] []]"},
	} {
		all := [][]string{}
		for _, step := range goals(c.spec) {
			texts := []string{}
			for _, g := range step {
				texts = append(texts, g.Text)
			}
			all = append(all, texts)
		}
		if got := fmt.Sprint(all); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
