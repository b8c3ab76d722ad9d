package report

import (
	"fmt"
	"slices"
	"strings"
)

// What a check came to.
const (
	passed    = "passed"
	failed    = "failed"
	undecided = "undecided" // it cannot be judged, which is not good either
)

// A check is something that a pipeline can rely on, or not.
type check struct {
	name, result string
	text         string // what was found, for people
}

// checks are all that is judged about a run. Formats for pipelines have them all.
func (r Report) checks() []check {
	return []check{r.checkAudit(), r.checkGenerator()} // verdicts of thresholds go here, a check for each
}

// checkAudit says whether the audit adds up and holds all that the workers did.
func (r Report) checkAudit() check {
	c := check{name: "audit"}
	switch err := r.Audit.Check(); {
	case err != nil:
		c.result, c.text = failed, strings.ReplaceAll(err.Error(), "\n", "; ")
	case r.Running:
		c.result, c.text = undecided, "the run goes on"
	case !r.Complete:
		c.result, c.text = undecided, "the report is incomplete: "+strings.Join(r.Notes, "; ")
	case r.StartedAt.IsZero():
		c.result, c.text = undecided, "the run never began"
	case r.ClosedLoop:
		c.result, c.text = passed, equation("sent", r.Audit.Sent, r.Audit.sentTerms())
	default:
		c.result, c.text = passed, equation("asked", r.Audit.Asked, r.Audit.reasonTerms())
	}
	return c
}

// checkGenerator says whether the times are those of the endpoint, and not of workers that were at their limit.
func (r Report) checkGenerator() check {
	c := check{name: "generator"}
	var texts []string
	for _, l := range r.limits() {
		if l.Limit == "generator" {
			texts = append(texts, l.String())
		}
	}
	blind := slices.IndexFunc(r.Workers, func(w WorkerReport) bool { return w.Sent > 0 && w.Self.MeasuredS == 0 })
	switch {
	case len(texts) > 0:
		c.result, c.text = failed, strings.Join(texts, "; ")
	case r.Audit.Sent == 0:
		c.result, c.text = undecided, "nothing was sent"
	case blind >= 0:
		c.result, c.text = undecided, fmt.Sprintf("worker %s measured nothing of itself", r.Workers[blind].ID)
	case r.Running:
		c.result, c.text = undecided, "the run goes on"
	default:
		c.result, c.text = passed, "the workers were no limit"
	}
	return c
}
