package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// named is a spec with a flow of one step of each name.
func named(names ...string) Spec {
	s := constant(100)
	s.Target.URL = ""
	for _, name := range names {
		s.Target.Flows = append(s.Target.Flows, targets.Flow{Name: name, Steps: []targets.Step{{Name: name, URL: "noop://"}}})
	}
	return s
}

// numbered returns n names.
func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint("s", i))
	}
	return all
}

// TestStepCalledAsThePool: a step must not have the name under which others are counted together.
func TestStepCalledAsThePool(t *testing.T) {
	if err := named(append(numbered(31), "other")...).Validate(); err != nil {
		t.Error(err)
	}
	for _, at := range []int{0, 32} {
		err := named(slices.Insert(numbered(32), at, "other")...).Validate()
		if err == nil || !strings.Contains(err.Error(), "step other: ") || !strings.Contains(err.Error(), "choose another name") {
			t.Errorf("at %d: %v", at, err)
		}
	}
}

// TestFromAnswer: the pool is marked if the latency of a step in it counts from the answer before.
func TestFromAnswer(t *testing.T) {
	s, pause := named(numbered(40)...), time.Second
	after := func(flow int, name string) {
		s.Target.Flows[flow].Steps = append(s.Target.Flows[flow].Steps, targets.Step{Name: name, URL: "noop://", After: &pause})
	}
	after(39, "s2")
	if got := fmt.Sprint(s.FromAnswer()); got != "[s2]" {
		t.Error(got)
	}
	after(38, "late")
	if got := fmt.Sprint(s.FromAnswer()); got != "[other s2]" {
		t.Error(got)
	}
}
