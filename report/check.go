package report

import (
	"fmt"
	"slices"
	"strings"
)

// A check is a judgement about a run, for pipelines.
type check struct {
	name, result string
	text         string // for people: what was found
	doubt        string // for the checks audit and generator: why the run proves nothing; "" = it does not make the run invalid
}

// checks returns all judgements about the run: the thresholds, audit and generator.
func (r Report) checks() []check {
	return append([]check{r.checkAudit(), r.checkGenerator()}, r.thresholdChecks()...)
}

// thresholdChecks returns a check for each threshold.
func (r Report) thresholdChecks() []check {
	var all []check
	for _, t := range r.Thresholds {
		result := t.Result
		if result != Passed && result != Failed { // an archive may contain any word
			result = Undecided
		}
		all = append(all, check{name: t.Threshold, result: result, text: t.Text})
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
	thresholds := worst(r.thresholdChecks())
	if thresholds != Failed && len(r.Invalid()) > 0 {
		return Invalid
	}
	return thresholds
}

// worst returns the worst result of all checks.
func worst(all []check) string {
	result := Passed
	for _, c := range all {
		if severity(c.result) > severity(result) {
			result = c.result
		}
	}
	return result
}

// checkAudit checks that the audit adds up and contains all that the workers did.
func (r Report) checkAudit() check {
	c := check{name: "audit"}
	switch err := r.CheckAudit(); {
	case err != nil:
		c.result, c.text, c.doubt = Failed, strings.ReplaceAll(err.Error(), "\n", "; "), "the audit does not add up"
	case r.Running:
		c.result, c.text = Undecided, "the run goes on"
	case !r.Complete:
		c.result, c.text, c.doubt = Undecided, "the report is incomplete: "+strings.Join(r.Notes, "; "), "the report is INCOMPLETE"
	case r.StartedAt.IsZero():
		c.result, c.text, c.doubt = Undecided, "the run never began", "the run never began"
	case r.ClosedLoop:
		c.result, c.text = Passed, equation("sent", r.Audit.Sent, r.Audit.sentTerms())
	default:
		c.result, c.text = Passed, equation("asked", r.Audit.Asked, r.Audit.reasonTerms())
	}
	return c
}

// checkGenerator checks that the measured times are those of the endpoint, and not of workers at their limit.
func (r Report) checkGenerator() check {
	c := check{name: "generator"}
	var texts []string
	for _, l := range r.limits() {
		if l.Limit == "generator" {
			texts = append(texts, l.String())
		}
	}
	blind := slices.IndexFunc(r.Workers, func(w WorkerReport) bool { return w.Sent > 0 && w.Self.MeasuredS == 0 })
	short := r.shortOfWorkers()
	switch {
	case len(texts) > 0:
		c.result, c.text, c.doubt = Failed, strings.Join(texts, "; "), r.generatorLimit()
	case r.Audit.Sent == 0:
		c.result, c.text, c.doubt = Undecided, "nothing was sent", "nothing was sent"
	case short != "" && !r.Running:
		c.result, c.text, c.doubt = Failed, short, short
	case blind >= 0:
		c.result, c.text = Undecided, fmt.Sprintf("worker %s has no measurements of itself", r.Workers[blind].ID)
		c.doubt = c.text + ", so it may have been the limit"
	case r.Running:
		c.result, c.text = Undecided, "the run goes on"
	default:
		c.result, c.text = Passed, "the workers were not the limit"
	}
	return c
}
