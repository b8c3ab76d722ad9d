package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/report"
)

// Doubts returns the reasons not to compare these sides: they asked for different things, or a run reflects its
// generator rather than its target. Each is a sentence; there are none if all is well.
func Doubts(base, other Side) []string {
	var all []string
	first := base.Runs[0]
	for _, side := range []Side{base, other} {
		for _, r := range side.Runs {
			if d := differences(first, r); len(d) > 0 {
				all = append(all, fmt.Sprintf("%s and %s are not the same test: %s", base.Name, side.Name, strings.Join(d, ", and ")))
			}
			if limit := limited(r); limit != "" {
				all = append(all, fmt.Sprintf("%s: %s", side.Name, limit))
			}
			if r.Running {
				all = append(all, side.Name+" is still running; wait for its end")
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// differences returns how the requests of two runs differ.
func differences(a, b report.Report) []string {
	var all []string
	for _, d := range []struct {
		what string
		a, b any
	}{
		{"closed loop", a.ClosedLoop, b.ClosedLoop},
		{"rate", a.TargetRate, b.TargetRate},
		{"limiter", a.Limiter, b.Limiter},
	} {
		if d.a != d.b {
			all = append(all, fmt.Sprintf("%s %v, %v", d.what, d.a, d.b))
		}
	}
	return append(all, specified(a, b)...)
}

// limited says which worker of a run, or its machine, was a limit; "" if none was. A threshold that a run meets
// although the hypervisor took time from it (machine) is still met, because latency counts from when a request was due.
// In a comparison it would make the other side look better.
func limited(r report.Report) string {
	for _, w := range r.Workers {
		for _, v := range w.Verdicts {
			if v.Limit == "generator" || v.Limit == "machine" {
				return fmt.Sprintf("worker %s was the limit (%s, %s), so the times reflect it", w.ID, v.Limit, v.Cause)
			}
		}
	}
	return ""
}

// notes says what the runs can and cannot show.
func notes(base, other Side) []string {
	var all []string
	for _, side := range []Side{base, other} {
		for _, r := range side.Runs {
			if !r.Complete && !r.Running {
				all = append(all, side.Name+" is not complete: the missing data may differ")
			}
		}
	}
	all = append(all, unequal(base, other)...)
	const enoughRuns = 3
	switch runs := min(len(base.Runs), len(other.Runs)); {
	case runs == 1:
		all = append(all, "one run a side shows how these runs differ. Runs of the same test differ too, by placement, caches and neighbours. "+
			"To see the effect of a change, compare 3 or more runs a side, taken in turns: loadctl compare a1,a2,a3 b1,b2,b3")
	case runs < enoughRuns:
		all = append(all, fmt.Sprintf("%d runs a side say little about how runs of the same test differ; use 3 or more, taken in turns", runs))
	case !inTurns(base, other):
		all = append(all, "the runs of the two sides were not taken in turns: changes over time look like a difference")
	}
	return slices.Compact(all)
}

// unequal says which runs were planned longer or shorter than the first one.
func unequal(base, other Side) []string {
	var all []string
	for _, side := range []Side{base, other} {
		for _, r := range side.Runs {
			if d := lengths(base.Runs[0], r); d != "" {
				all = append(all, fmt.Sprintf("%s and %s differ in length (%s): changes over time look like a difference", base.Name, side.Name, d))
			}
		}
	}
	return all
}

// inTurns tells whether no three consecutive runs, by their start, are of the same side: a b a b, or a b b a a b.
func inTurns(base, other Side) bool {
	type start struct {
		at    int64
		other bool
	}
	var all []start
	for _, r := range base.Runs {
		all = append(all, start{r.StartedAt.UnixNano(), false})
	}
	for _, r := range other.Runs {
		all = append(all, start{r.StartedAt.UnixNano(), true})
	}
	slices.SortFunc(all, func(a, b start) int { return int(min(1, max(-1, a.at-b.at))) })
	for i := 2; i < len(all); i++ {
		if all[i].other == all[i-1].other && all[i].other == all[i-2].other {
			return false
		}
	}
	return true
}
