package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// MaxThresholds is the highest number of conditions of a run.
const MaxThresholds = 100

// Conditions returns the conditions that the run must meet.
func (s Spec) Conditions() ([]threshold.Threshold, error) {
	var all []threshold.Threshold
	for _, text := range s.Thresholds {
		t, err := threshold.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// validateThresholds checks that the run can decide each threshold: one that it cannot decide would always fail.
func (s Spec) validateThresholds() error {
	switch {
	case len(s.Thresholds) > MaxThresholds:
		return fmt.Errorf("--threshold: give at most %d", MaxThresholds)
	case s.Warmup < 0 || s.Warmup > MaxDuration || s.Warmup%time.Second != 0:
		return errors.New("--warmup: give whole seconds, such as 30s; 0 means none")
	case s.Warmup > 0 && len(s.Thresholds) == 0:
		return errors.New("--warmup has no effect without --threshold: add one, such as --threshold 'latency:p(99)<250ms', or remove --warmup")
	case s.Warmup > 0 && s.Length() > 0 && s.Warmup >= s.Length():
		return fmt.Errorf("--warmup %v: the run takes only %v; give less", s.Warmup, s.Length())
	}
	all, err := s.Conditions()
	if err != nil {
		return fmt.Errorf("--threshold: %w", err)
	}
	for _, t := range all {
		switch err := s.Decides(t); {
		case err != nil:
			return fmt.Errorf("--threshold %w", err)
		case s.Warmup > 0 && t.Step != "":
			return fmt.Errorf("--threshold %q and --warmup: steps have no values over time, so no warm-up can be left out; remove one of the two", t.Text)
		case s.Warmup > 0 && !t.OverTime():
			return fmt.Errorf("--threshold %q and --warmup: %s has no values over time, so no warm-up can be left out; remove one of the two", t.Text, t.Metric)
		case t.Query != "" && !slices.ContainsFunc(s.Queries, func(q report.Query) bool { return q.Name == t.Query }):
			return fmt.Errorf("--threshold %q: there is no query %s; %s", t.Text, t.Query, s.knownQueries(t.Query))
		case t.Over > 0 && s.Length() > 0 && s.Warmup+t.Over > s.Length():
			return fmt.Errorf("--threshold %q: the run takes %v, %v of them warm-up; give a window that fits", t.Text, s.Length(), s.Warmup)
		case s.Max && (t.Metric == "dropped" || t.Metric == "lag"):
			return fmt.Errorf("--threshold %q and %s: without a rate nothing is due, so there is no %s; leave one of them out", t.Text, s.Loop(), t.Metric)
		}
	}
	return s.validateGuards(all)
}

// Decides says why no answer of the run can decide a condition; nil = one can.
func (s Spec) Decides(t threshold.Threshold) error {
	if t.Step != "" && !slices.Contains(s.CountedSteps(), t.Step) {
		return fmt.Errorf("%q: there is no step %.70q; %s", t.Text, t.Step, s.knownSteps())
	}
	if lack := s.Target.Lacks(t.Metric, t.Step); lack != "" {
		return fmt.Errorf("%q: %s", t.Text, lack)
	}
	return nil
}

// knownSteps says which steps thresholds may name.
func (s Spec) knownSteps() string {
	names := s.Target.StepNames()
	switch {
	case len(names) == 0:
		return "the run has one kind of request; leave {step=…} out"
	case len(names) > record.MaxSteps: // those beyond are pooled
		return fmt.Sprintf("there are %d, and each of the first %d has counts of its own", len(names), record.MaxSteps)
	default:
		return "there is " + strings.Join(names, ", ")
	}
}

// sameThreshold reports whether both ask for the same, however they are written.
func sameThreshold(a, b string) bool {
	x, errX := threshold.Parse(a)
	y, errY := threshold.Parse(b)
	return a == b || errX == nil && errY == nil && x.Same(y)
}
