package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Table has a line for each kind: the worst of its results, and for how many seeds the bound was broken. Columns of excess
// are for the windows of 1 ms … 10 s: requests above the integral of the rate and 1, and behind the slash above the bound.
func Table(results []Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %5s", "fault", "seeds")
	for _, w := range Windows() {
		fmt.Fprintf(&b, " %13v", w)
	}
	fmt.Fprintf(&b, " %11s %11s %6s %6s %6s %7s %7s %7s %7s %7s\n", "early", "overrun", "broken", "twice", "audit", "worst s", "1 in 20", "median", "healthy", "sent")
	for _, k := range Kinds() {
		var own []Result
		for _, r := range results {
			if r.Kind == k {
				own = append(own, r)
			}
		}
		if len(own) > 0 {
			b.WriteString(line(k, own))
		}
	}
	return b.String()
}

func line(kind string, results []Result) string {
	excess, over := make([]float64, len(Windows())), make([]float64, len(Windows()))
	var broken, twice, audit, sent, early, overrun int
	var asked, overrunOver float64
	var earlyBy time.Duration
	var faulty, healthy []float64
	for _, r := range results {
		for i := range excess {
			excess[i], over[i] = max(excess[i], r.Excess[i]), max(over[i], r.Over[i])
		}
		early, earlyBy = max(early, r.Early), max(earlyBy, r.EarlyBy)
		overrun, overrunOver = max(overrun, r.Overrun), max(overrunOver, r.OverrunOver)
		if r.broken() {
			broken++
		}
		twice += r.Duplicates
		if len(r.Errors) > 0 {
			audit++
		}
		faulty, healthy = append(faulty, r.Faulty...), append(healthy, r.Healthy...)
		sent, asked = sent+r.Sent, asked+r.Asked
	}
	slices.Sort(faulty)
	slices.Sort(healthy)
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %5d", kind, len(results))
	for i := range excess {
		fmt.Fprintf(&b, " %13s", fmt.Sprintf("%.1f/%.1f", excess[i], over[i]))
	}
	fmt.Fprintf(&b, " %11s %11s", fmt.Sprintf("%d/%dms", early, earlyBy.Milliseconds()), fmt.Sprintf("%d/%.1f", overrun, overrunOver))
	fmt.Fprintf(&b, " %6d %6d %6d %7s %7s %7s %7s %7s\n", broken, twice, audit, percent(quantile(faulty, 0)), percent(quantile(faulty, 0.05)),
		percent(quantile(faulty, 0.5)), percent(quantile(healthy, 0)), percent(float64(sent)/asked))
	return b.String()
}

// broken tells whether one of the bounds was.
func (r Result) broken() bool {
	return slices.Max(r.Over) > tolerance || r.Raised > tolerance || r.Sluggish > 0 || r.EarlyOver > 0 || r.OverrunOver > tolerance
}

// Check is an error that says which promises were broken, and nil if none was.
func (r Result) Check() error {
	var problems []error
	wrong := func(format string, a ...any) { problems = append(problems, fmt.Errorf(format, a...)) }
	if slices.Max(r.Over) > tolerance {
		wrong("more than the bound by %.2f in windows of %v that end at %v", r.Over, Windows(), r.At)
	}
	if r.Raised > tolerance {
		wrong("%.2f more than the bound where everybody had heard of the last change", r.Raised)
	}
	if r.Sluggish > 0 {
		wrong("a command was in force %v later than it may be", r.Sluggish)
	}
	if r.EarlyOver > 0 {
		wrong("a permit was fired %v before the server had it begin, %v too early", r.EarlyBy, r.EarlyOver)
	}
	if r.OverrunOver > tolerance {
		wrong("%d sent after their generation's end, %.1f more for one change than could be on their way", r.Overrun, r.OverrunOver)
	}
	if r.Duplicates > 0 {
		wrong("%d slots sent twice", r.Duplicates)
	}
	for _, e := range r.Errors {
		wrong("%s", e)
	}
	if r.Share < r.Least {
		wrong("%s sent in healthy seconds", percent(r.Share))
	}
	if worst := slices.Min(append(r.Faulty, 1)); worst < r.Floor {
		wrong("%s sent in a second, at least %s is promised", percent(worst), percent(r.Floor))
	}
	return errors.Join(problems...)
}

// tolerance is what the sums in floating point and times in whole µs may add, in requests.
const tolerance = 0.01

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

func percent(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*x)
}
