package render

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/internal/output/table"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/units"
)

// stepColumns returns the head of the cells of stepRows, without the last one, which only the page shows.
func stepColumns() []string {
	return []string{"#sent", "##share", "#failed", "#p50", "#p90", "#p99", "#p99.9", "#max"}
}

// stepRows returns the figures of each step: its requests, their share of all requests sent, and times; and its most
// frequent failure.
func stepRows(r report.Report) (rows []table.Row) {
	for i, s := range r.Steps {
		path := fmt.Sprintf("steps.%d.", i)
		cells := []table.Cell{count(path+"sent", s.Sent), part(s.Sent, r.Audit.Requests()), count(path+"failed", s.Failed)}
		above := 1 - units.Ratio(float64(s.LateDropped), float64(s.Sent+s.LateDropped))
		all := quantiles(path+"latency_ns.", s.Latency, above)
		for _, at := range []int{0, 1, 3, 4, 6} { // without p95 and p99.99
			all[at].Class = "n"
			cells = append(cells, all[at])
		}
		most := table.Cell{}
		if classes := byCount(s.Errors); len(classes) > 0 {
			most.Page = htmlText(fmt.Sprintf("%s: %d", classes[0], s.Errors[classes[0]]))
		}
		rows = append(rows, table.Row{Name: s.Name, Cells: append(cells, most)})
	}
	return rows
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
	table.Text(b, width+2, "steps", stepColumns()...)
	for i, row := range stepRows(r) {
		s := r.Steps[i]
		table.Text(b, width+2, s.Name, row.Texts(len(stepColumns()))...)
		for _, class := range byCount(s.Errors) {
			printable.Fprintf(b, "  %s: %d\n", class, s.Errors[class])
		}
		for _, t := range []report.Term{{Name: "late dropped", N: s.LateDropped}, {Name: "ended before", N: s.Ended}, {Name: "bypassed", N: s.Bypassed}, {Name: "unfinished", N: s.Unfinished}} {
			if t.N > 0 {
				printable.Fprintf(b, "  %s: %d\n", t.Name, t.N)
			}
		}
		textStepStreams(b, s, r.ClosedLoop)
		if s.FromAnswer {
			b.WriteString("  latency counts from the answer before, plus the pause\n")
		}
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
			{Name: "failed", N: s.Failed}, {Name: "in_flight", N: s.InFlight}, {Name: "ended_before", N: s.Ended}, {Name: "bypassed", N: s.Bypassed}, {Name: "unfinished", N: s.Unfinished}} {
			m.sample("loadctl_step_requests", float64(c.N), "step", s.Name, "term", c.Name)
		}
	}
	m.family("loadctl_step_latency_seconds", "summary", "seconds", "From when a request of the step was due to its end.")
	for _, s := range r.Steps {
		m.summary("loadctl_step_latency_seconds", s.Latency, s.Completed+s.Failed, "step", s.Name)
	}
	if r.FirstBytes == 0 {
		return
	}
	m.family("loadctl_step_first_byte_seconds", "summary", "seconds", "From when a request of the step was sent to the first byte of its answer.")
	for _, s := range r.Steps {
		if s.FirstBytes > 0 {
			m.summary("loadctl_step_first_byte_seconds", s.FirstByte, s.FirstBytes, "step", s.Name)
		}
	}
}
