package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
)

// A Scaling is a change of the part of its plan's rates that a run sends.
type Scaling struct {
	At     time.Time `json:"at"`     // Redis clock: when it was ordered
	What   string    `json:"what"`   // reduced or restored, by a guard; capped, by a cut of its endpoint's budget; set, by a person who set another rate
	Factor float64   `json:"factor"` // of its plan's rates that the run sent from then on, 0…1
	Why    string    `json:"why"`    // for people: of a guard its threshold and the measured value; of set the new rate
}

// What a Scaling may be.
const (
	Reduced  = "reduced"
	Restored = "restored"
	Capped   = "capped"
	setAnew  = "set"
)

// ofThePlan divides the factor from the reason in the text of an event.
const ofThePlan = " % of the plan, "

// ScaledText is what an event says of a run that sends some millionths of its plan's rates, and why.
func ScaledText(factor int64, why string) string {
	return fmt.Sprintf("%.4g%s%s", float64(factor)/1e4, ofThePlan, why)
}

// scaledBy reads what ScaledText writes.
func scaledBy(text string) (factor float64, why string, ok bool) {
	percent, why, found := strings.Cut(text, ofThePlan)
	factor, err := strconv.ParseFloat(percent, 64)
	return factor / 100, why, found && err == nil && factor > 0 && factor <= 100
}

// factors follows the factors of runs through their events. In a combined report several runs have one each, by name.
type factors map[string]float64

// of returns the factor of the run of an event.
func (f factors) of(e Event) (run string, factor float64) {
	run, _, combined := strings.Cut(e.Who, ": ")
	if !combined {
		run = ""
	}
	if factor, known := f[run]; known {
		return run, factor
	}
	return run, 1
}

// take takes the next event. It returns what it changed; changed is false if that is nothing.
func (f factors) take(e Event) (x Scaling, changed bool) {
	run, was := f.of(e)
	x = Scaling{At: e.At, Factor: 1, What: setAnew, Why: e.What}
	switch e.Kind {
	case "scale", "cap":
		if x.Factor, x.Why, changed = scaledBy(e.What); !changed {
			return x, false
		}
		if x.What = Reduced; e.Kind == "cap" {
			x.What = Capped
		} else if x.Factor > was {
			x.What = Restored
		}
	case "set-rate":
		changed = was < 1
	}
	if changed {
		f[run] = x.Factor
	}
	return x, changed
}

// below reports whether a run sends less than its plan.
func (f factors) below() bool {
	for _, factor := range f {
		if factor < 1 {
			return true
		}
	}
	return false
}

// takeScalings finds the scalings among the events, and how long a run sent less than its plan.
func (r *Report) takeScalings() {
	var since time.Time
	now := factors{}
	for _, e := range r.Events {
		was := now.below()
		x, changed := now.take(e)
		if !changed {
			continue
		}
		r.Scalings = append(r.Scalings, x)
		switch {
		case !was && now.below():
			since = e.At
		case was && !now.below():
			r.ScaledS += max(0, e.At.Sub(since).Seconds())
		}
	}
	if now.below() {
		r.ScaledS += max(0, r.StartedAt.Add(r.Length()).Sub(since).Seconds())
	}
}

// leastFactor returns the lowest factor that these scalings left, and how many there were of one kind.
func (r Report) leastFactor(what string) (least float64, n int) {
	least = 1
	for _, x := range r.Scalings {
		if x.What == what {
			least, n = min(least, x.Factor), n+1
		}
	}
	return least, n
}

// noteScalings notes for how long the run sent less than its plan, and for how long its endpoint was frozen.
func (r *Report) noteScalings() {
	if text := r.ScaledText(); text != "" {
		r.Notes = append(r.Notes, "the run sent less than its plan for "+text)
	}
	var frozen time.Duration
	var since time.Time
	for _, e := range r.Events {
		switch {
		case e.Kind == "pause" && e.What == frozenText:
			since = e.At
		case e.Kind == "resume" && !since.IsZero():
			frozen, since = frozen+e.At.Sub(since), time.Time{}
		}
	}
	if !since.IsZero() {
		frozen += max(0, r.StartedAt.Add(r.Length()).Sub(since))
	}
	if frozen > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("the run was paused for %v, because %s", frozen.Round(time.Millisecond), frozenText))
	}
}

// frozenText is the reason of a pause by a freeze (lua/right.lua).
const frozenText = "its endpoint is frozen"

// ScaledText says for how long a run sent less than its plan, and why; "" = it did not.
func (r Report) ScaledText() string {
	if len(r.Scalings) == 0 {
		return ""
	}
	parts := []string{units.Length(time.Duration(r.ScaledS * float64(time.Second)).Round(time.Millisecond))}
	for _, kind := range []struct{ what, by string }{{Reduced, "guards reduced it"}, {Capped, "a cut of its endpoint's budget capped it"}} {
		if least, n := r.leastFactor(kind.what); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s, to %s %% at the least", kind.by, times(n), percentOf(least)))
		}
	}
	return strings.Join(parts, "; ")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// percentOf formats a factor as an event does.
func percentOf(factor float64) string { return fmt.Sprintf("%.4g", factor*100) }

// reducedBy returns how often a guard lowered the rate, and the lowest factor that it left.
func (r *Report) reducedBy(t threshold.Threshold) (least float64, n int) {
	least = 1
	for _, c := range r.Described.Commands {
		if factor, why, ok := scaledBy(c.What); t.Guards() && c.Command == "scale" && ok && strings.HasPrefix(why, t.StopPrefix()) {
			least, n = min(least, factor), n+1
		}
	}
	return least, n
}

// hasGuards reports whether a threshold of the report lowers the rate.
func (r Report) hasGuards() bool {
	return slices.ContainsFunc(r.Thresholds, func(t threshold.Result) bool { return guards(t) })
}

// guards reports whether a threshold lowers the rate. That of a combined report may have the name of a run before it.
func guards(t threshold.Result) bool {
	text := t.Threshold
	given, err := threshold.Parse(text)
	if _, after, named := strings.Cut(text, ": "); err != nil && named {
		given, err = threshold.Parse(after)
	}
	return err == nil && given.Guards()
}

// reducedCheck checks that no guard has lowered the rate.
func (r Report) reducedCheck() Check {
	c := Check{Name: Reduced, Result: threshold.Passed, Text: "no guard lowered the rate"}
	if _, n := r.leastFactor(Reduced); n > 0 {
		c.Result, c.Text = threshold.Failed, r.ScaledText()
	} else if r.Running {
		c.Result, c.Text = threshold.Undecided, "the run goes on"
	}
	return c
}

// GuardsForgiven returns the report with each guard that failed as one that passed: it has done what it is for.
func (r Report) GuardsForgiven() Report {
	r.Thresholds = slices.Clone(r.Thresholds)
	for i, t := range r.Thresholds {
		if t.Result == threshold.Failed && guards(t) {
			r.Thresholds[i].Result = threshold.Passed
		}
	}
	return r
}
