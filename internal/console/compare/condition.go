package compare

import (
	"cmp"
	"fmt"
	"slices"
)

// Results of a condition.
const (
	Met       = "met"         // the comparison fails
	Undecided = "cannot tell" // there is no interval, or it is too wide
	NotMet    = "not met"
)

// A Condition is a rule applied to one result.
type Condition struct {
	Other      string    `json:"other"`                // the side that is compared with the base
	FailOn     string    `json:"fail_on"`              // the rule, as given
	Result     string    `json:"result"`               // Met, CannotTell or NotMet
	Difference *float64  `json:"difference,omitempty"` // as in a Row; absent without an interval
	Interval   *Interval `json:"interval,omitempty"`   // of the difference; absent if there is none
	Why        string    `json:"why,omitempty"`        // why there is no interval; absent if there is one
}

// Fails tells whether the condition fails the comparison: it is met, or there is no interval.
func (c Condition) Fails() bool {
	return c.Result == Met || c.Result == Undecided && c.Interval == nil
}

// String formats the condition and its result for people.
func (c Condition) String() string {
	found := "there is no interval: " + c.Why
	if c.Interval != nil {
		found = fmt.Sprintf("the difference is %s (%s to %s)", percent(*c.Difference), percent(c.Interval.Low), percent(c.Interval.High))
	}
	return fmt.Sprintf("%s: %s: %s, %s", c.Other, c.FailOn, c.Result, found)
}

// line is String after a sign for the result.
func (c Condition) line() string {
	sign := map[string]string{Met: "✗", Undecided: "?", NotMet: "✓"}[c.Result]
	return sign + " " + c.String()
}

// severity orders conditions: those that fail the comparison come first.
func (c Condition) severity() int {
	switch {
	case c.Result == Met:
		return 3
	case c.Fails():
		return 2
	case c.Result == Undecided:
		return 1
	default:
		return 0
	}
}

// Judge applies these rules to each result, the worst first.
func (c *Comparison) Judge(rules []Rule) {
	for _, r := range c.Results {
		for _, rule := range rules {
			condition := rule.Judge(r)
			c.Conditions = append(c.Conditions, condition)
			if condition.Fails() {
				c.Failed = append(c.Failed, condition.String())
			}
		}
	}
	slices.SortStableFunc(c.Conditions, func(a, b Condition) int { return cmp.Compare(b.severity(), a.severity()) })
}

// Open returns the undecided conditions, for people.
func (c Comparison) Open() []string {
	var all []string
	for _, one := range c.Conditions {
		if one.Result == Undecided && !one.Fails() {
			all = append(all, one.String())
		}
	}
	return all
}

// lines returns all conditions for people, a line each.
func (c Comparison) lines() []string {
	var all []string
	for _, one := range c.Conditions {
		all = append(all, one.line())
	}
	return all
}
