package spec

import (
	"fmt"
	"slices"

	"github.com/loadctl/loadctl/report/record"
)

// CountedSteps returns the names of the steps that reports count apart, in the order of the workload. They count the others
// together.
func (s Spec) CountedSteps() []string {
	names := s.Target.StepNames()
	return names[:min(len(names), record.MaxSteps)]
}

// FromAnswer returns the steps, by their names in reports, that are due some time after the answer before them.
func (s Spec) FromAnswer() (names []string) {
	counted := s.CountedSteps()
	for _, name := range s.Target.FromAnswer() {
		if !slices.Contains(counted, name) {
			name = record.OtherStep
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// validateSteps refuses a step whose counts would be mixed with those of the steps that are counted together.
func (s Spec) validateSteps() error {
	names := s.Target.StepNames()
	if len(names) > record.MaxSteps && slices.Contains(names, record.OtherStep) {
		return fmt.Errorf("step %s: there are %d steps, and reports count those after the first %d together under this name; choose another name",
			record.OtherStep, len(names), record.MaxSteps)
	}
	return nil
}
