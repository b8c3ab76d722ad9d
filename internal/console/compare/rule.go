package compare

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A Rule is a difference that fails a comparison, as in "latency:p(99)>+10%".
type Rule struct {
	Text  string
	name  string
	above bool
	bound float64 // 0.1 = 10 %
}

// ParseRule reads a rule: a figure, > or <, and a difference in percent; for shares in percentage points.
func ParseRule(text string) (Rule, error) {
	m := regexp.MustCompile(`^\s*([a-z_]+(?::[a-z]+(?:\([0-9.]+\))?)?)\s*([<>])\s*([+-]?[0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%\s*$`).FindStringSubmatch(text)
	if m == nil {
		return Rule{}, fmt.Errorf("%.60q: write a figure, > or <, and a difference in percent, such as 'latency:p(99)>+10%%'", text)
	}
	name := canonical(m[1])
	var names []string
	known := false
	for _, f := range figures() {
		names, known = append(names, f.name), known || f.name == name
	}
	if !known {
		return Rule{}, fmt.Errorf("%.60q: no figure %q; there are %s", text, m[1], strings.Join(names, ", "))
	}
	percent, err := strconv.ParseFloat(m[3], 64)
	if err != nil {
		return Rule{}, fmt.Errorf("%.60q: %w", text, err)
	}
	return Rule{Text: strings.TrimSpace(text), name: name, above: m[2] == ">", bound: percent / 100}, nil
}

// canonical returns the name of a figure that has other names in thresholds.
func canonical(name string) string {
	of, aggregate, _ := strings.Cut(name, ":")
	if other := map[string]string{"ttft": "first_event", "itl": "event_gap", "tpot": "per_token"}[of]; other != "" {
		of = other
	}
	if aggregate == "med" {
		aggregate = "p(50)"
	}
	if aggregate == "" {
		return of
	}
	return of + ":" + aggregate
}

// Judge applies the rule to a result. A rule without an interval fails the comparison too: a service that answers
// nothing has none.
func (r Rule) Judge(result Result) Condition {
	c := Condition{Other: result.Name, FailOn: r.Text, Result: Undecided}
	for _, f := range figures() {
		if f.name == r.name {
			c.Why = f.of.lack() // unless the sides have it
		}
	}
	for _, row := range result.Rows {
		if row.Name != r.name {
			continue
		}
		change := row.Change()
		if c.Why = row.Why; row.Difference == nil || math.IsNaN(change) {
			break
		}
		c.Difference, c.Interval, c.Result = &change, row.Difference, r.judge(change, *row.Difference)
	}
	return c
}

// judge compares a difference and its interval with the bound:
//
//	met:         the difference is beyond the bound and the interval excludes 0, so that chance alone fails nothing;
//	             or the whole interval is beyond the bound
//	not met:     no part of the interval is beyond the bound
//	cannot tell: everything else
func (r Rule) judge(change float64, i Interval) string {
	bound, nearest, farthest := r.bound, i.Low, i.High
	if !r.above {
		bound, change, nearest, farthest = -bound, -change, -i.High, -i.Low
	}
	switch {
	case change > bound && i.Differs(), nearest > bound:
		return Met
	case farthest <= bound:
		return NotMet
	default:
		return Undecided
	}
}
