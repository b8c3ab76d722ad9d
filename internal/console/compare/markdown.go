package compare

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// Upper bounds of a comment on a pull request: GitHub accepts 65,536 characters.
const (
	maxMarkdownName  = 80  // characters
	maxMarkdownText  = 300 // of a sentence
	maxMarkdownLines = 12
	maxMarkdownSides = 8 // side by side
)

// Markdown writes c for a comment on a pull request: first the results of --fail-on, then the differences.
func Markdown(w io.Writer, c Comparison) error {
	var b bytes.Buffer
	base, others := c.Sides[0], c.Results
	names := []string{}
	for _, r := range others[:min(len(others), maxMarkdownSides)] {
		names = append(names, printable.MarkdownCode(r.Name, maxMarkdownName))
	}
	fmt.Fprintf(&b, "### %s compared with %s\n\n", strings.Join(names, ", "), printable.MarkdownCode(base.Name, maxMarkdownName))
	markdownList(&b, "", c.lines())
	markdownList(&b, "warning: ", c.Warnings)
	for i, r := range others[:min(len(others), maxMarkdownSides)] {
		markdownFigures(&b, base, c.Sides[i+1], r.Rows, c.notes(i))
	}
	if hidden := len(others) - maxMarkdownSides; hidden > 0 {
		fmt.Fprintf(&b, "And %d more.\n\n", hidden)
	}
	sides := c.Sides[:min(len(c.Sides), maxMarkdownSides+1)]
	markdownPercentiles(&b, sides)
	markdownErrors(&b, sides)
	_, err := w.Write(b.Bytes())
	return err
}

// markdownList writes some lines, each with the same beginning.
func markdownList(b *bytes.Buffer, begin string, all []string) {
	for _, text := range all[:min(len(all), maxMarkdownLines)] {
		fmt.Fprintf(b, "- %s%s\n", begin, printable.Markdown(text, maxMarkdownText))
	}
	if hidden := len(all) - maxMarkdownLines; hidden > 0 {
		fmt.Fprintf(b, "- and %d more\n", hidden)
	}
	if len(all) > 0 {
		b.WriteByte('\n')
	}
}

func markdownFigures(b *bytes.Buffer, base, other Summary, rows []Row, notes []string) {
	fmt.Fprintf(b, "| | %s | %s | difference | 95 %% interval, of all rows together |\n|---|---:|---:|---:|---|\n", column(base), column(other))
	for _, row := range rows {
		cells := row.cells()
		if row.Difference.Differs() {
			cells[2] = "**" + cells[2] + "**"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", row.Name, cells[0], cells[1], cells[2], cells[3])
	}
	b.WriteByte('\n')
	markdownList(b, "", notes)
}

func markdownPercentiles(b *bytes.Buffer, sides []Summary) {
	markdownHead(b, "latency", sides)
	for _, p := range percentiles() {
		fmt.Fprintf(b, "| %s |", p.name)
		for _, s := range sides {
			fmt.Fprintf(b, " %s |", s.cell(p))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

func markdownErrors(b *bytes.Buffer, sides []Summary) {
	all := classes(sides)
	if len(all) == 0 {
		return
	}
	markdownHead(b, "failed", sides)
	for _, class := range all[:min(len(all), maxClasses)] {
		fmt.Fprintf(b, "| %s |", printable.Markdown(class, maxMarkdownName))
		for _, s := range sides {
			fmt.Fprintf(b, " %s |", s.Errors[class].text())
		}
		b.WriteByte('\n')
	}
	if hidden := len(all) - maxClasses; hidden > 0 {
		fmt.Fprintf(b, "| and %d more |\n", hidden)
	}
}

// markdownHead begins a table with a column for each side.
func markdownHead(b *bytes.Buffer, name string, sides []Summary) {
	fmt.Fprintf(b, "| %s |", name)
	for _, s := range sides {
		fmt.Fprintf(b, " %s |", column(s))
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(sides)) + "\n")
}

// column returns the name of a side and its number of runs.
func column(s Summary) string {
	return printable.Markdown(s.Name, maxMarkdownName) + ", " + s.runs()
}

// text formats the count with the share.
func (e ErrorCount) text() string { return fmt.Sprintf("%d (%s)", e.Requests, Share.text(e.Share)) }
