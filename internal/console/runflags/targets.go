package runflags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/input/workload"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// targetsHelp is the help of --targets.
const targetsHelp = "`FILE` of requests to mix, instead of --url: METHOD URL [weight=N] [name=TEXT], then headers and @BODYFILE, as vegeta has them; " +
	"vegeta's JSON; or a URL a line. See docs/workloads.md#several-requests"

// targetsPickHelp is the help of --targets-pick.
const targetsPickHelp = "in which order the requests of --targets come, or the flows of --workload, `cycle|random`: in a cycle with exact shares, " +
	"or in a random order with these shares on average"

// pick sets the order of flows. "" is the cycle.
func (f *Spec) pick(s *spec.Spec) error {
	switch {
	case !slices.Contains(targets.Picks(), f.targetsPick):
		return fmt.Errorf("--targets-pick %.40q: write one of %s", f.targetsPick, strings.Join(targets.Picks(), ", "))
	case f.targetsFile.text == "" && f.workloadFile.text == "" && f.set.Changed("targets-pick"):
		return errors.New("--targets-pick: there are no requests to mix; give --targets FILE or --workload FILE, or leave it out")
	}
	s.Target.Pick = strings.TrimPrefix(f.targetsPick, targets.PickCycle)
	return nil
}

// readTargets reads the requests of --targets. Headers, expected statuses and checks of flags count for all of them; a
// header of the file wins over one of a flag.
func readTargets(run *spec.Spec, path string) error {
	s := &run.Target
	content, err := readInstead(s, spec.TargetsFlag, path)
	if err != nil {
		return err
	}
	all, err := workload.Targets(path, content)
	if err != nil {
		return fmt.Errorf("--targets: %w", err)
	}
	run.Origin = originOf(s, spec.TargetsFlag)
	common := ofFlags(s)
	for _, t := range all {
		if err := common.add(*s, &t.Step); err != nil {
			return fmt.Errorf("--targets: %s:%d: %w", path, t.Line, err)
		}
		s.Flows = append(s.Flows, t.Flow())
	}
	return nil
}

// originOf notes what flags say of all steps of a file.
func originOf(s *targets.Spec, flag string) *spec.Origin {
	return &spec.Origin{Flag: flag, Headers: s.Headers, Expect: s.Expect, Checks: s.Checks, QPS: pacer.Rate{Den: 1}}
}

// readInstead reads a file that says what is requested, instead of flags.
func readInstead(s *targets.Spec, flag, path string) ([]byte, error) {
	if s.URL != "" || s.Method != "" || len(s.Body) > 0 || s.Reply != "" {
		return nil, fmt.Errorf("%s: the file says what is requested; leave --url, --method, --body and --reply out", flag)
	}
	if err := unstreamed(s, flag); err != nil {
		return nil, err
	}
	content, err := cli.ReadAtMost(path, workload.MostBytes+1) // the reader of the format says what to do about more
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return content, nil
}

// common is what flags say of all steps of a file.
type common struct{ workload.Common }

// ofFlags moves it out of the spec.
func ofFlags(s *targets.Spec) common {
	c := common{workload.Common{Headers: s.Headers, Expect: s.Expect, Checks: s.Checks}}
	s.Headers, s.Expect, s.Checks = nil, "", nil
	return c
}

// add adds it to a step of a workload with these data files, and checks the step.
func (c common) add(s targets.Spec, step *targets.Step, taken ...string) error {
	c.Add(step)
	one := targets.Spec{URL: step.URL, Headers: step.Headers, Body: step.Body, Data: s.Data, Stream: step.Stream}
	typed(&one)
	step.Headers = one.Headers
	return wire.CheckStep(s, *step, taken...)
}
