package render

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/loadctl/loadctl/internal/output/page"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/units"
)

// stepColumns returns the names of what stepCells returns.
func stepColumns() []string {
	return []string{"sent", "share", "failed", "p50", "p90", "p99", "p99.9", "max"}
}

// stepCells returns the figures of a step, times with ≥ if they are lower bounds. The share is that of all requests
// sent.
func stepCells(r report.Report, s report.StepReport) []string {
	cells := []string{
		strconv.FormatInt(s.Sent, 10), units.Percent(units.Ratio(float64(s.Sent), float64(r.Audit.Requests()))) + " %", strconv.FormatInt(s.Failed, 10),
	}
	bound := stepBound(s)
	for _, p := range s.Latency.Quantiles() {
		if !slices.Contains([]float64{0.5, 0.9, 0.99, 0.999, 1}, p.Q) {
			continue
		}
		text := units.Duration(p.NS)
		if p.Q > bound {
			text = "≥" + text
		}
		cells = append(cells, text)
	}
	return cells
}

// stepBound returns the quantile above which those of the step are lower bounds.
func stepBound(s report.StepReport) float64 {
	return 1 - units.Ratio(float64(s.LateDropped), float64(s.Sent+s.LateDropped))
}

// textSteps writes the table of steps, and what failed in each.
func textSteps(b *bytes.Buffer, r report.Report) {
	if len(r.Steps) == 0 {
		return
	}
	width := len("steps")
	for _, s := range r.Steps {
		width = max(width, utf8.RuneCountInString(s.Name))
	}
	name := fmt.Sprintf("%%-%ds", width+2)
	writeRow(b, name, "%9s", "steps", stepColumns())
	for _, s := range r.Steps {
		writeRow(b, name, "%9s", s.Name, stepCells(r, s))
		for _, class := range stepErrors(s) {
			printable.Fprintf(b, "  %s: %d\n", class, s.Errors[class])
		}
		for _, t := range []report.Term{{Name: "late dropped", N: s.LateDropped}, {Name: "ended before", N: s.Ended}, {Name: "unfinished", N: s.Unfinished}} {
			if t.N > 0 {
				printable.Fprintf(b, "  %s: %d\n", t.Name, t.N)
			}
		}
		if s.FromAnswer {
			b.WriteString("  latency counts from the answer before, plus the pause\n")
		}
	}
	b.WriteByte('\n')
}

// stepErrors returns the classes of errors of a step, the most frequent first.
func stepErrors(s report.StepReport) []string {
	return slices.SortedFunc(maps.Keys(s.Errors), func(x, y string) int {
		return cmp.Or(cmp.Compare(s.Errors[y], s.Errors[x]), cmp.Compare(x, y))
	})
}

// markdownSteps writes the same table.
func markdownSteps(b *bytes.Buffer, r report.Report) {
	if len(r.Steps) == 0 {
		return
	}
	writeRow(b, "| %s |", " %s |", "step", stepColumns())
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, s := range r.Steps {
		writeRow(b, "| %s |", " %s |", prose(s.Name), stepCells(r, s))
	}
	b.WriteByte('\n')
}

// steps writes the counts of each step, and its latency as a summary.
func (m *metrics) steps(r report.Report) {
	if len(r.Steps) == 0 {
		return
	}
	m.family("loadctl_step_requests", "gauge", "", "Requests of each step of the workload, by what became of them.")
	for _, s := range r.Steps {
		for _, c := range []report.Term{{Name: "sent", N: s.Sent}, {Name: "late_dropped", N: s.LateDropped}, {Name: "completed", N: s.Completed},
			{Name: "failed", N: s.Failed}, {Name: "in_flight", N: s.InFlight}, {Name: "ended_before", N: s.Ended}, {Name: "unfinished", N: s.Unfinished}} {
			m.sample("loadctl_step_requests", float64(c.N), "step", s.Name, "term", c.Name)
		}
	}
	m.family("loadctl_step_latency_seconds", "summary", "seconds", "From when a request of the step was due to its end.")
	for _, s := range r.Steps {
		for _, p := range s.Latency.Quantiles() {
			m.sample("loadctl_step_latency_seconds", float64(p.NS)/1e9, "step", s.Name, "quantile", strconv.FormatFloat(p.Q, 'g', -1, 64))
		}
		m.sample("loadctl_step_latency_seconds_count", float64(s.Completed+s.Failed), "step", s.Name)
	}
}

// An htmlStep is a row of the table of steps.
type htmlStep struct {
	Name         string
	Sent, Failed htmlNumber
	Share        htmlBar
	Times        []htmlTile // Main and Bound are set
	Errors       string
}

// stepsOf returns the rows. Their members in the JSON report are steps.0, steps.1, ….
func stepsOf(r report.Report) (rows []htmlStep) {
	for i, s := range r.Steps {
		path := fmt.Sprintf("steps.%d.", i)
		row := htmlStep{Name: htmlText(s.Name), Sent: htmlCount(path+"sent", s.Sent), Failed: htmlCount(path+"failed", s.Failed), Share: htmlBarOf(s.Sent, r.Audit.Requests())}
		for j, q := range s.Latency.Quantiles() {
			name := []string{"p50", "p90", "p95", "p99", "p999", "p9999", "max"}[j]
			if name != "p95" && name != "p9999" {
				row.Times = append(row.Times, htmlTile{Main: htmlTime(path+"latency_ns."+name, q.NS), Bound: q.Q > stepBound(s)})
			}
		}
		if all := stepErrors(s); len(all) > 0 {
			row.Errors = htmlText(fmt.Sprintf("%s: %d", all[0], s.Errors[all[0]]))
		}
		rows = append(rows, row)
	}
	return rows
}

// steps writes the table of steps.
func (m *markup) steps(rows []htmlStep) {
	if len(rows) == 0 {
		return
	}
	m.Section("steps", "", "Steps")
	m.Table("counts", "Steps of the workload", page.Columns("step", "#sent", "##share", "#failed", "#p50", "#p90", "#p99", "#p99.9", "#max", "most frequent failure")...)
	for _, row := range rows {
		m.Put(`<tr><th scope="row">%s</th>`, row.Name)
		m.cell(row.Sent)
		m.share(row.Share)
		m.cell(row.Failed)
		for _, cell := range row.Times {
			m.Raw(`<td class="n">`)
			m.bounded(cell)
			m.Raw("</td>")
		}
		m.Put("<td>%s</td></tr>\n", row.Errors)
	}
	m.EndTable()
	m.Raw("</section>\n")
}
