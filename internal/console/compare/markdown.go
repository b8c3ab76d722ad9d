package compare

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/internal/output/table"
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
		table.Markdown(&b, maxMarkdownName, r.rows(), "", column(base), column(c.Sides[i+1]), "#difference", "95 % interval, of all rows together")
		b.WriteByte('\n')
		markdownList(&b, "", c.notes(i))
	}
	if hidden := len(others) - maxMarkdownSides; hidden > 0 {
		fmt.Fprintf(&b, "And %d more.\n\n", hidden)
	}
	sides := c.Sides[:min(len(c.Sides), maxMarkdownSides+1)]
	columns := []string{""}
	for _, s := range sides {
		columns = append(columns, column(s))
	}
	for _, kind := range timesOf(sides) {
		columns[0] = strings.ToLower(kind.title)
		table.Markdown(&b, maxMarkdownName, percentileRows(kind, sides), columns...)
		b.WriteByte('\n')
	}
	if rows, hidden := errorRows(sides); len(rows) > 0 {
		columns[0] = "failed"
		table.Markdown(&b, maxMarkdownName, rows, columns...)
		if hidden > 0 {
			fmt.Fprintf(&b, "| and %d more |\n", hidden)
		}
	}
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

// column heads a column of numbers with the name of a side and its number of runs.
func column(s Summary) string {
	return "#" + printable.Markdown(s.Name, maxMarkdownName) + ", " + s.runs()
}
