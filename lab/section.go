//go:build linux

package main

import (
	"fmt"
	"math"
	"strings"
)

// A section is the output of an experiment: the text between two marks of the document, and plots.
type section struct {
	name     string
	at       string // the last heading, for failures
	text     strings.Builder
	plots    map[string]string // SVG by file name
	steal    []float64         // share of each round, 0 to 1
	commands []string
	called   map[string]bool // contenders whose command was noted
	failures []string
	goals    []goal
}

// A goal is a limit that a figure should keep, and the measured figure.
type goal struct {
	what     string
	measured float64
	limit    float64
	atMost   bool // the limit is an upper one; else a lower one
	format   string
}

// met reports whether the goal was reached. It is false for NaN, a figure that was not measured.
func (g goal) met() bool {
	if g.atMost {
		return g.measured <= g.limit
	}
	return g.measured >= g.limit
}

// atLeast and atMost add a goal. format formats its figures, as in package fmt.
func (s *section) atLeast(what string, measured, limit float64, format string) {
	s.goals = append(s.goals, goal{what, measured, limit, false, format})
}

func (s *section) atMost(what string, measured, limit float64, format string) {
	s.goals = append(s.goals, goal{what, measured, limit, true, format})
}

// fail notes that a contender is missing in the tables, and why.
func (s *section) fail(who string, err error) {
	s.failures = append(s.failures, strings.TrimSpace(fmt.Sprintf("%s %s: %s", s.at, who, strings.ReplaceAll(err.Error(), "\n", " "))))
}

// command notes the command line of a contender, only the first time.
func (s *section) command(who, line string) {
	if s.called == nil {
		s.called = make(map[string]bool)
	}
	if !s.called[who] {
		s.called[who] = true
		s.commands = append(s.commands, fmt.Sprintf("%s: `%s`", who, line))
	}
}

// plot adds a picture.
func (s *section) plot(file, svg, what string) {
	if s.plots == nil {
		s.plots = make(map[string]string)
	}
	s.plots[file] = svg
	fmt.Fprintf(&s.text, "![%s](benchmarks/%s)\n\n", what, file)
}

// table adds a table. Each row has as many cells as the head.
func (s *section) table(head []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(&s.text, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "--:"
	}
	rule[0] = "---"
	line(rule)
	for _, r := range rows {
		line(r)
	}
	s.text.WriteByte('\n')
}

// heading adds a line in bold.
func (s *section) heading(format string, args ...any) {
	s.at = fmt.Sprintf(format, args...) + ","
	fmt.Fprintf(&s.text, "**%s**\n\n", fmt.Sprintf(format, args...))
}

// note adds a paragraph.
func (s *section) note(format string, args ...any) {
	fmt.Fprintf(&s.text, format+"\n\n", args...)
}

// render returns the whole text.
func (s *section) render() string {
	var out strings.Builder
	out.WriteString(s.text.String())
	if len(s.goals) > 0 {
		end := section{}
		var rows [][]string
		for _, g := range s.goals {
			rows = append(rows, g.cells())
		}
		end.table([]string{"goal", "limit", "measured", "met"}, rows)
		out.WriteString(end.text.String())
	}
	for _, f := range s.failures {
		fmt.Fprintf(&out, "Not measured: %s.\n\n", strings.TrimSuffix(f, "."))
	}
	if len(s.steal) > 0 {
		shares := make([]string, len(s.steal))
		for i, share := range s.steal {
			shares[i] = fmt.Sprintf("%.1f", 100*share)
		}
		fmt.Fprintf(&out, "Taken by other machines of the host, %% of the processor time of each round: %s.\n\n", strings.Join(shares, ", "))
	}
	if len(s.commands) > 0 {
		out.WriteString("Commands, of each the first:\n\n")
		for _, c := range s.commands {
			fmt.Fprintf(&out, "- %s\n", c)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// cells returns the goal as a row of a table.
func (g goal) cells() []string {
	sign, met := "≥", "no"
	if g.atMost {
		sign = "≤"
	}
	measured := fmt.Sprintf(g.format, g.measured)
	switch {
	case math.IsNaN(g.measured):
		measured, met = "", "not measured"
	case g.met():
		met = "yes"
	}
	return []string{g.what, sign + " " + fmt.Sprintf(g.format, g.limit), measured, met}
}

// spanned returns a median with its span, each figure in this format.
func spanned(v values, format string) string {
	if len(v) == 0 {
		return ""
	}
	low, high := v.span()
	if len(v) == 1 {
		return fmt.Sprintf(format, v.median())
	}
	return fmt.Sprintf(format+" ("+format+"–"+format+")", v.median(), low, high)
}

// spannedThousands does the same for large numbers.
func spannedThousands(v values) string {
	if len(v) == 0 {
		return ""
	}
	low, high := v.span()
	if low == high {
		return thousands(v.median())
	}
	return fmt.Sprintf("%s (%s–%s)", thousands(v.median()), thousands(low), thousands(high))
}

// thousands writes a number with commas: 12,345.
func thousands(x float64) string {
	text := fmt.Sprintf("%.0f", x)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// times writes a ratio of medians as "1.23 ×"; "" if one of them is missing.
func times(ratio float64) string {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return ""
	}
	return fmt.Sprintf("%.2f ×", ratio)
}
