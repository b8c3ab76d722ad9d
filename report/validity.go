package report

import (
	"fmt"
	"slices"
)

// Invalid says, a sentence each, why the run proves nothing; nothing of a run that is valid, or goes on. A run that is over is valid exactly
// if its checks of the audit and of the generator have passed.
func (r Report) Invalid() []string {
	if r.Running {
		return nil
	}
	var why []string
	for _, c := range []check{r.checkAudit(), r.checkGenerator()} {
		if c.result != passed {
			why = append(why, c.doubt)
		}
	}
	return why
}

// doubts say, a sentence each, why no threshold of the run may pass; nothing of a run that goes on.
func (r Report) doubts() []string {
	if r.Running {
		return nil
	}
	var why []string
	if err := r.Audit.Check(); err != nil {
		why = append(why, "the audit does not add up")
	} else if !r.Complete {
		why = append(why, "the report is INCOMPLETE")
	}
	if limit := r.generatorLimit(); limit != "" {
		why = append(why, limit)
	}
	return why
}

// generatorLimit says whose generator was the limit; "" = nobody's.
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

// GeneratorLimited tells whether the worker itself was a limit in what the snapshot holds. closed: in a closed loop.
func (s *Snapshot) GeneratorLimited(closed bool) bool {
	return slices.ContainsFunc(verdicts(s, closed), func(v Verdict) bool { return v.Limit == "generator" })
}
