package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/report/threshold"
)

// Invalid is the outcome of a run that proves nothing; see Outcome. The others are results of thresholds.
const Invalid = "invalid"

// A Check is a judgement about a run, for pipelines.
type Check struct {
	Name, Result string
	Text         string // for people: what was found
	doubt        string // for the checks audit and generator: why the run proves nothing; "" = it does not make the run invalid
}

// Checks returns all judgements about the run: audit and generator; reduced, if a threshold may lower the rate; and the
// thresholds.
func (r Report) Checks() []Check {
	all := []Check{r.AuditCheck(), r.GeneratorCheck()}
	if r.hasGuards() {
		all = append(all, r.reducedCheck())
	}
	return append(all, r.ThresholdChecks()...)
}

// ThresholdChecks returns a check for each threshold.
func (r Report) ThresholdChecks() []Check {
	var all []Check
	for _, t := range r.Thresholds {
		result := t.Result
		if result != threshold.Passed && result != threshold.Failed { // an archive may contain any word
			result = threshold.Undecided
		}
		all = append(all, Check{Name: t.Threshold, Result: result, Text: t.Text})
	}
	return all
}

// Outcome is the result of the run for a pipeline. It is Failed if a threshold failed: even a run that is not valid
// proves that. Else it is Invalid if the check of the audit or of the generator has not passed. Else it is Undecided if
// a threshold is undecided, and Passed if not. It is "" while the run goes on, and for a run without thresholds.
func (r Report) Outcome() string {
	if r.Running || len(r.Thresholds) == 0 {
		return ""
	}
	thresholds := WorstResult(r.ThresholdChecks())
	if thresholds != threshold.Failed && len(r.Invalid()) > 0 {
		return Invalid
	}
	return thresholds
}

// WorstResult returns the worst result of all checks.
func WorstResult(all []Check) string {
	result := threshold.Passed
	for _, c := range all {
		if threshold.Severity(c.Result) > threshold.Severity(result) {
			result = c.Result
		}
	}
	return result
}

// AuditCheck checks that the audit adds up and contains all that the workers did.
func (r Report) AuditCheck() Check {
	c := Check{Name: "audit"}
	switch err := r.CheckAudit(); {
	case err != nil:
		c.Result, c.Text, c.doubt = threshold.Failed, strings.ReplaceAll(err.Error(), "\n", "; "), "the audit does not add up"
	case r.Running:
		c.Result, c.Text = threshold.Undecided, "the run goes on"
	case !r.Complete:
		c.Result, c.Text, c.doubt = threshold.Undecided, "the report is incomplete: "+strings.Join(r.Notes, "; "), "the report is INCOMPLETE"
	case r.StartedAt.IsZero():
		c.Result, c.Text, c.doubt = threshold.Undecided, "the run never began", "the run never began"
	default:
		left, right := r.Balance()
		c.Result, c.Text = threshold.Passed, Equation(left.Name, left.N, right)
	}
	return c
}

// decided reports whether the run is over, and each of its thresholds passed or failed. A threshold that the generator
// may have decided is undecided.
func (r Report) decided() bool {
	return !r.Running && len(r.Thresholds) > 0 &&
		!slices.ContainsFunc(r.ThresholdChecks(), func(c Check) bool { return c.Result == threshold.Undecided })
}

// GeneratorCheck checks that the measured times are those of the endpoint, and not of workers at their limit. A limit
// that decided no threshold does not count.
func (r Report) GeneratorCheck() Check {
	c := Check{Name: "generator"}
	var texts []string
	for _, l := range r.Limits() {
		if l.Limit == "generator" {
			texts = append(texts, l.String())
		}
	}
	blind := slices.IndexFunc(r.Workers, func(w WorkerReport) bool { return w.Sent > 0 && w.Self.MeasuredS == 0 })
	short := r.shortOfWorkers()
	switch {
	case len(texts) > 0 && !r.decided():
		c.Result, c.Text, c.doubt = threshold.Failed, strings.Join(texts, "; "), r.generatorDoubt()
	case r.Audit.Sent == 0:
		c.Result, c.Text, c.doubt = threshold.Undecided, "nothing was sent", "nothing was sent"
	case short != "" && !r.Running:
		c.Result, c.Text, c.doubt = threshold.Failed, short, short
	case blind >= 0:
		c.Result, c.Text = threshold.Undecided, fmt.Sprintf("worker %s has no measurements of itself", r.Workers[blind].ID)
		c.doubt = c.Text + ", so it may have been the limit"
	case r.Running:
		c.Result, c.Text = threshold.Undecided, "the run goes on"
	case len(texts) > 0:
		c.Result, c.Text = threshold.Passed, "the generator was a limit, but decided no threshold: "+strings.Join(texts, "; ")
	default:
		c.Result, c.Text = threshold.Passed, "the workers were not the limit"
	}
	return c
}
