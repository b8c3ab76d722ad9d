package report

import (
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

// doubt says why a threshold that passed or failed is undecided all the same; "" = it is not, or the run goes on.
func (r Report) doubt(t threshold.Threshold, result string) string {
	passed := result == threshold.Passed
	switch {
	case r.Running || !passed && result != threshold.Failed:
		return ""
	case passed && r.CheckAudit() != nil:
		return "the audit does not add up"
	case passed && !r.Complete:
		return "the report is INCOMPLETE"
	case !r.standsAnyway(t, result):
		return r.generatorDoubt()
	case passed:
		return r.shortOfWorkers()
	}
	return ""
}

// standsAnyway reports whether a result is the endpoint's whatever the generator was, or the generator was no limit.
// The rule is that of threshold.Stands. A run that passes must also have had its load.
func (r Report) standsAnyway(t threshold.Threshold, result string) bool {
	limited, delays := r.limited()
	switch {
	case !limited || result == threshold.Failed && t.LimitsFailures():
		return true
	case r.ClosedLoop || !delays || result == threshold.Passed && r.unsentShare() > mostIdle:
		return false
	}
	return t.Stands(result, r.lateShare() <= mostIdle)
}

// mostIdle is the largest share of what was asked for that may be skipped or lost in a run that still proves something;
// also the largest share that a generator at its limit may not send, or send late.
const mostIdle = 0.02

// unsentShare returns the share of what was asked for that somebody should have sent and did not. What the limiter held back
// is intended. Overrun requests have replaced as many. Lost slots may have been sent if the report is not complete.
func (r Report) unsentShare() float64 {
	followed := r.followedLate()
	n := r.Audit.LateDropped + r.Audit.Skipped - r.Audit.Overrun + followed
	if r.Complete {
		n += r.Audit.Lost
	}
	return units.Ratio(float64(max(0, n)), float64(r.Audit.Asked+r.Audit.Followed+followed))
}

// lateShare returns the share of slots that workers themselves saw late.
func (r Report) lateShare() float64 {
	var late, all int64
	for _, w := range r.Workers {
		late, all = late+w.SeenLate, all+w.Sent+w.LateDropped
	}
	return units.Ratio(float64(late), float64(all))
}

// shortOfWorkers says that the endpoint did not get the load asked for: slots were skipped or lost, or the dead-man's
// switch ended the run; "" = it did. What the limiter held back is intended. Lost slots count in a complete report
// only: in any other they may have been sent. Overrun requests have replaced as many.
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

// limited reports whether the generator of a worker was a limit. delays: no such limit did more than delay requests.
func (r Report) limited() (limited, delays bool) {
	delays = true
	for _, w := range r.Workers {
		for _, v := range w.Verdicts {
			if v.Limit == "generator" {
				limited, delays = true, delays && v.Delays()
			}
		}
	}
	return limited, delays
}

// generatorDoubt is generatorLimit with the share that was not sent or was late, if it is large.
func (r Report) generatorDoubt() string {
	limit, unsent, late := r.generatorLimit(), r.unsentShare(), r.lateShare()
	switch {
	case unsent > mostIdle:
		limit += fmt.Sprintf(", and %s %% of what was asked for was not sent", units.Percent(unsent))
	case late > mostIdle:
		limit += fmt.Sprintf(", and %s %% of the requests were late", units.Percent(late))
	}
	return limit
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
