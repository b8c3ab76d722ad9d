// Package guard decides when the guards of a run lower its rate, and when they raise it again. A guard is a threshold with
// `reduce` (docs/adr/0046-guard.md). It is arithmetic: the windows are judged elsewhere, and so are the orders given.
//
//	g := guard.New(conditions, time.Second)
//	for each second that can be judged {
//		verdicts[i] = conditions[i].Verdicts(stretch, n) // of every guard
//		if step, ok := g.Next(state, verdicts); ok {
//			// order step.To, if step.From is still in force
//		}
//	}
//
// One rule keeps steps apart: a window counts only if it began after the last step could be seen in the answers. So between
// two steps there are the reaction time, and the windows that have to fail.
//
// Guards know only what a run stores, the [State], and windows. If one judge replaces another, the new one judges windows
// again and comes to the same steps down. It counts the time to a step up anew, and forgets which factor failed last: that
// one may be tried once too early.
package guard

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
)

// One is the factor of a rate that is not lowered. Factors are in millionths of the rate that people asked for.
const One = 1_000_000

// mostBounces bounds how often the wait for a step up is doubled.
const mostBounces = 4

// A State is what a run stores.
type State struct {
	Factor int64         // in force, 1…One; 0 = One
	Most   int64         // the highest factor that a step up may reach, as a cut of a budget left it; 0 = One
	Since  time.Duration // when it came into force, from the start of the run
	Set    time.Duration // when somebody last set the rate, from the start of the run; that makes the factor One. 0 = never
	Peak   float64       // the highest rate that people asked for, per second as --qps counts; 0 = unknown, then floors have no effect
}

// A Step is the next change of the factor.
type Step struct {
	From, To  int64   // factors. It is void if From is not in force any more
	Threshold string  // of the guard that failed; "" of a step up
	Second    int64   // the end of the window that decided it, from the start of the run
	Value     float64 // measured in that window, in the unit of the threshold; 0 of a step up
	Reason    string  // for people, with the value
}

// Guards are the guards of a run, as one judge sees them. Use [New].
type Guards struct {
	all      []threshold.Threshold
	reaction time.Duration

	known   bool
	state   State
	rows    []row         // of each guard
	held    time.Duration // the longest time for which all have held since the last step
	raised  bool          // that was a step up
	ceiling int64         // the last factor that did not hold after a step up; 0 = none, or it has held since
	bounces int           // how often that happened
}

// A row is what the windows of a guard have shown since the last step.
type row struct {
	upto   int64             // the end of the last window, second of the run
	failed int64             // windows in a row
	held   time.Duration     // without a window that failed or was undecided
	last   threshold.Verdict // that was not idle
}

// New returns the guards among the conditions of a run. reaction is how long answers may still come to requests that were
// sent before a step, or wait behind them.
func New(conditions []threshold.Threshold, reaction time.Duration) *Guards {
	all := slices.DeleteFunc(slices.Clone(conditions), func(t threshold.Threshold) bool { return !t.Guards() })
	return &Guards{all: all, reaction: reaction}
}

// Conditions returns the guards, in the order in which [Guards.Next] takes their windows.
func (g *Guards) Conditions() []threshold.Threshold { return g.all }

// Next returns the next step, if there is one. verdicts has the newest windows of each guard, in the order of time. Windows
// that it has seen change nothing. Until the state shows the step, the next call returns it again.
func (g *Guards) Next(state State, verdicts [][]threshold.Verdict) (Step, bool) {
	if state.Factor == 0 {
		state.Factor = One
	}
	if state.Most == 0 {
		state.Most = One
	}
	g.follow(state)
	for i, windows := range verdicts {
		for _, w := range windows {
			g.rows[i].add(w, g.settled())
		}
	}
	g.held = max(g.held, g.allHeld())
	if step, ok := g.down(); ok {
		return step, true
	}
	return g.up()
}

// follow notices a step, a person who set the rate, and a cut of a budget.
func (g *Guards) follow(state State) {
	was := g.state
	g.state = state
	switch {
	case g.known && state.Set == was.Set && state.Most == was.Most && state.Since == was.Since && state.Factor == was.Factor:
		return
	case !g.known || state.Set != was.Set || state.Most != was.Most:
		g.bounces, g.ceiling, g.raised = 0, 0, false
	default:
		up, lasted := state.Factor > was.Factor, g.held >= g.wait()<<g.bounces
		switch {
		case lasted && was.Factor >= g.ceiling:
			g.bounces, g.ceiling = 0, 0
		case g.raised && !up:
			g.bounces, g.ceiling = min(g.bounces+1, mostBounces), was.Factor
		}
		g.raised = up
	}
	g.known, g.held, g.rows = true, 0, make([]row, len(g.all))
}

// settled returns the first second whose answers show the rate in force.
func (g *Guards) settled() int64 {
	return int64(math.Ceil((max(g.state.Since, g.state.Set) + g.reaction).Seconds()))
}

// add adds a window.
func (r *row) add(w threshold.Verdict, settled int64) {
	if w.End <= r.upto || w.Begin < settled {
		return
	}
	fresh := time.Duration(w.End-max(w.Begin, r.upto)) * time.Second
	r.upto = w.End
	switch w.Result {
	case "": // nothing was asked for, so nothing is known
		r.failed = 0
		return
	case threshold.Passed:
		r.failed, r.held = 0, r.held+fresh
	case threshold.Failed:
		r.failed, r.held = r.failed+1, 0
	default:
		r.failed, r.held = 0, 0
	}
	r.last = w
}

// allHeld returns for how long all guards have held.
func (g *Guards) allHeld() time.Duration {
	held := time.Duration(math.MaxInt64)
	for _, r := range g.rows {
		held = min(held, r.held)
	}
	return held
}

// down returns the step of the guard that wants the lowest rate.
func (g *Guards) down() (Step, bool) {
	step := Step{From: g.state.Factor, To: g.state.Factor}
	for i, t := range g.all {
		r := g.rows[i]
		if to := lower(t.Reduce, g.state); r.failed >= t.Reduce.After && to < step.To {
			step.To, step.Threshold, step.Second, step.Value = to, t.Text, r.last.End, r.last.Value
			step.Reason = t.StopReason(r.last.End) + ": " + r.last.Text
		}
	}
	return step, step.To < step.From
}

// lower returns the factor after a step down: the share that is left of the factor in force, or the share to which the rate
// is lowered. It is rounded up, so that no more steps lead up again.
func lower(r threshold.Reduce, s State) int64 {
	to := r.To
	if r.By > 0 {
		to = min(ratio(s.Factor, One-r.By, One), s.Factor-1)
	}
	if r.Floor > 0 && s.Peak > 0 {
		to = max(to, int64(math.Ceil(min(1, r.Floor/s.Peak)*One)))
	}
	return min(max(to, 1), s.Factor)
}

// wait returns for how long all guards have to hold before a step up; 0 = there is none, because one of them keeps the rate
// down.
func (g *Guards) wait() (longest time.Duration) {
	for _, t := range g.all {
		if t.Reduce.Restore == 0 {
			return 0
		}
		longest = max(longest, t.Reduce.Restore)
	}
	return longest
}

// up returns the step up that follows when all guards have held for long enough. A factor that failed after an earlier step up
// needs longer, each time twice as long.
func (g *Guards) up() (Step, bool) {
	wait, held := g.wait(), g.allHeld()
	if g.state.Factor >= g.state.Most || wait == 0 || held < wait {
		return Step{}, false
	}
	step := Step{From: g.state.Factor, To: g.state.Most}
	for i, t := range g.all {
		step.Second = max(step.Second, g.rows[i].last.End)
		if t.Reduce.By > 0 {
			step.To = min(step.To, ratio(g.state.Factor, One, One-t.Reduce.By))
		}
	}
	if g.ceiling > 0 && step.To >= g.ceiling && held < wait<<g.bounces {
		return Step{}, false
	}
	step.Reason = fmt.Sprintf("all guards held for %s up to second %d", units.Length(held), step.Second)
	return step, true
}

// ratio returns a·b/c, rounded up.
func ratio(a, b, c int64) int64 { return (a*b + c - 1) / c }
