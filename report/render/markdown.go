package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/internal/output/table"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
)

// Upper bounds of a comment: GitHub accepts 65,536 characters, and people read less.
const (
	maxMarkdownRows = 20   // of a table or list
	maxMarkdownText = 400  // characters of an entry
	maxMarkdownCode = 1000 // characters of text shown as code
)

// Markdown writes a summary for a comment on a pull request: the judgement first, then the numbers of the text report.
func Markdown(w io.Writer, r report.Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### Load test %s: %s\n\n", code(r.Run), headlineOf(r))
	if target := r.Described.Target(); target != "" {
		fmt.Fprintf(&b, "%s with %s\n\n", code(target), code(r.Described.Line()))
	}
	markdownChecks(&b, r)
	markdownCounts(&b, r)
	markdownTables(&b, r)
	markdownSamples(&b, r)
	markdownNotes(&b, r)
	return write(w, "Markdown", b.Bytes())
}

// resultOf is the result of the run for a pipeline. For a run without thresholds it is the worst check.
func resultOf(r report.Report) string { return cmp.Or(r.Outcome(), report.WorstResult(r.Checks())) }

// headlineOf is the result and, if the report is not complete, the state of the run.
func headlineOf(r report.Report) string {
	if state := r.State(); state != "complete" {
		return resultOf(r) + ", " + state
	}
	return resultOf(r)
}

// markdownChecks writes all checks or, if there are too many, the worst.
func markdownChecks(b *bytes.Buffer, r report.Report) {
	b.WriteString("| check | | |\n|---|---|---|\n")
	all := r.Checks()
	hidden := len(all) - maxMarkdownRows
	if hidden > 0 {
		slices.SortStableFunc(all, func(x, y report.Check) int { return threshold.Severity(y.Result) - threshold.Severity(x.Result) })
		all = all[:maxMarkdownRows]
	}
	for _, c := range all {
		fmt.Fprintf(b, "| %s | %s %s | %s |\n", prose(c.Name), resultSign(c.Result), c.Result, prose(c.Text))
	}
	if hidden > 0 {
		fmt.Fprintf(b, "| and %d more | | |\n", hidden)
	}
	b.WriteByte('\n')
}

func markdownCounts(b *bytes.Buffer, r report.Report) {
	a := r.Audit
	b.WriteString("| | requests | per second |\n|---|---:|---:|\n")
	if r.ClosedLoop {
		asked, _ := r.Loop()
		fmt.Fprintf(b, "| asked | %s | |\n", asked)
	} else {
		fmt.Fprintf(b, "| asked | %d | %s |\n", r.Asked, units.Rate(r.TargetRate))
	}
	fmt.Fprintf(b, "| sent | %d | %s |\n", a.Sent, units.Rate(r.Rate))
	if r.Requests > 0 {
		fmt.Fprintf(b, "| requests, with later steps | %d | %s |\n", r.Requests, units.Rate(r.RequestRate))
	}
	fmt.Fprintf(b, "| completed | %d | %s |\n", a.Completed, units.Rate(r.Throughput))
	fmt.Fprintf(b, "| failed | %d | |\n", a.Failed)
	if a.InFlight != 0 {
		fmt.Fprintf(b, "| in flight | %d | |\n", a.InFlight)
	}
	messages := ""
	if r.MessagesIn > 0 {
		messages = fmt.Sprintf(", %d messages in", r.MessagesIn)
	}
	connections := ""
	if r.Connections.Any() {
		connections = "Connections: " + connectionsText(r.Connections) + ".\n\n"
	}
	fmt.Fprintf(b, "\nSuccess %s %%, %s long, bytes in %s, out %s%s.\n\n%s", units.Percent(r.Success), r.Length().Round(time.Millisecond), units.Bytes(r.BytesIn), units.Bytes(r.BytesOut), messages, connections)
}

// markdownTables writes the tables that the page has too: times, steps, errors and statuses.
func markdownTables(b *bytes.Buffer, r report.Report) {
	write := func(rows []table.Row, hidden int, columns ...string) {
		if len(rows) == 0 {
			return
		}
		table.Markdown(b, maxMarkdownText, rows, columns...)
		if hidden > 0 {
			fmt.Fprintf(b, "| and %d more | |\n", hidden)
		}
		b.WriteByte('\n')
	}
	write(timesRows(r), 0, append([]string{""}, timesColumns()...)...)
	write(streamRows(r), 0, append([]string{"streams"}, timesColumns()...)...)
	markdownStreams(b, r)
	write(stepRows(r), 0, append([]string{"step"}, stepColumns()...)...)
	write(stepStreamRows(r), 0, append([]string{"step, in pieces"}, stepStreamColumns()...)...)
	queries, hidden := queryRows(r)
	write(queries, hidden, append([]string{"query"}, queryColumns()...)...)
	for _, a := range answersOf(r) {
		write(a.rows, a.hidden, a.name, "#requests")
	}
}

// markdownNotes writes the limits and the notes.
func markdownNotes(b *bytes.Buffer, r report.Report) {
	var all []string
	for _, l := range r.Limits() {
		all = append(all, "limit: "+l.String())
	}
	for _, note := range r.Notes {
		all = append(all, "note: "+note)
	}
	for _, text := range all[:min(len(all), maxMarkdownRows)] {
		fmt.Fprintf(b, "- %s\n", prose(text))
	}
	if hidden := len(all) - maxMarkdownRows; hidden > 0 {
		fmt.Fprintf(b, "- and %d more\n", hidden)
	}
}

// prose escapes text for Markdown.
func prose(s string) string { return printable.Markdown(s, maxMarkdownText) }

// code formats text in a fixed font. It is not for tables.
func code(s string) string { return printable.MarkdownCode(s, maxMarkdownCode) }
