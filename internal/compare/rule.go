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

// ParseRule reads a rule: a figure, > or <, and a difference in percent; of shares in percentage points.
func ParseRule(text string) (Rule, error) {
	m := regexp.MustCompile(`^\s*([a-z]+(?::[a-z]+(?:\([0-9.]+\))?)?)\s*([<>])\s*([+-]?[0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%\s*$`).FindStringSubmatch(text)
	if m == nil {
		return Rule{}, fmt.Errorf("%.60q: write a figure, > or <, and a difference in percent, such as 'latency:p(99)>+10%%'", text)
	}
	name := m[1]
	if name == "latency:med" {
		name = "latency:p(50)"
	}
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

// Judge says why a comparison fails by the rule; "" if it does not. It fails if the difference is beyond the bound and the interval leaves out
// 0, so that chance alone fails nothing. It fails too if there is no interval: what cannot be judged is not good.
func (r Rule) Judge(result Result) string {
	for _, row := range result.Rows {
		if row.Name != r.name {
			continue
		}
		change := row.Change()
		if row.Difference == nil || math.IsNaN(change) {
			return fmt.Sprintf("%s: undecided: %s", r.Text, row.Why)
		}
		beyond := r.above && change > r.bound || !r.above && change < r.bound
		if beyond && row.Difference.Differs() {
			return fmt.Sprintf("%s: the difference is %s (%s to %s)", r.Text, percent(change), percent(row.Difference.Low), percent(row.Difference.High))
		}
	}
	return ""
}
