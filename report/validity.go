package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
)

// Invalid says in sentences why the run proves nothing; it is empty for a valid run, and while the run goes on. A
// finished run is valid exactly if its checks of the audit and of the generator have passed.
func (r Report) Invalid() []string {
	if r.Running {
		return nil
	}
	var why []string
	for _, c := range []Check{r.AuditCheck(), r.GeneratorCheck()} {
		if c.Result != threshold.Passed {
			why = append(why, c.doubt)
		}
	}
	return why
}

// doubt says why no threshold of the run may pass; "" = none, or the run goes on.
func (r Report) doubt() string {
	switch {
	case r.Running:
		return ""
	case r.CheckAudit() != nil:
		return "the audit does not add up"
	case !r.Complete:
		return "the report is INCOMPLETE"
	}
	return cmp.Or(r.generatorLimit(), r.shortOfWorkers())
}

// mostIdle is the largest share of what was asked for that may be skipped or lost in a run that still proves something.
const mostIdle = 0.02

// shortOfWorkers says that the endpoint did not get the load asked for: slots were skipped or lost, or the dead-man's
// switch ended the run; "" = it did. What the limiter held back is intended. Lost slots count in a complete report
// only: in any other they may have been sent. Overrun requests made up for as many.
func (r Report) shortOfWorkers() string {
	if slices.ContainsFunc(r.Events, func(e Event) bool { return e.Kind == "deadman" }) {
		return "the dead-man's switch stopped the run"
	}
	var why []string
	idle := -r.Audit.Overrun
	if n := r.Audit.Skipped; n > 0 {
		idle, why = idle+n, append(why, whySkipped)
	}
	if n := r.Audit.Lost; n > 0 && r.Complete {
		idle, why = idle+n, append(why, r.whyLost())
	}
	if float64(idle) <= mostIdle*float64(r.Audit.Asked) {
		return ""
	}
	share := units.Percent(units.Ratio(float64(idle), float64(r.Audit.Asked)))
	return fmt.Sprintf("%s %% of what was asked for was not sent, %s", share, strings.Join(why, ", or "))
}

// generatorLimit says whose generator was the limit; "" = none.
func (r Report) generatorLimit() string {
	first, more := "", 0
	for _, w := range r.Workers {
		for _, v := range w.Verdicts {
			if v.Limit != "generator" {
				continue
			}
			if first == "" {
				first = fmt.Sprintf("the generator was the limit: worker %s (%s)", w.ID, v.Cause)
			} else {
				more++
			}
			break // a worker counts once
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" and %d more", more)
	}
	return first
}
