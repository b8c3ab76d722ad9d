package render

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/internal/output/table"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
)

// Text writes a summary for people. The audit's lines name only the reasons that occurred; a percentile printed with ≥
// is a lower bound.
func Text(w io.Writer, r report.Report) error {
	var b bytes.Buffer
	textHead(&b, r)
	textAudit(&b, r)
	textTimes(&b, r)
	textStreams(&b, r)
	textSteps(&b, r)
	if r.Connections.Any() {
		printable.Fprintf(&b, "connections %s\n", connectionsText(r.Connections))
	}
	textAnswers(&b, r)
	textSamples(&b, r)
	textQueries(&b, r)
	textWorkers(&b, r)
	for _, l := range r.Limits() {
		printable.Fprintf(&b, "limit       %s\n", l)
	}
	textThresholds(&b, r)
	for _, note := range r.Notes {
		printable.Fprintf(&b, "note        %s\n", note)
	}
	return write(w, "text", b.Bytes())
}

// textHead writes what was asked for and the result.
func textHead(b *bytes.Buffer, r report.Report) {
	a := r.Audit
	state := r.State()
	if state == report.Incomplete {
		state += ", see the notes"
	}
	started := "not started"
	if !r.StartedAt.IsZero() {
		started = "started " + r.StartedAt.Format(time.RFC3339)
	}
	length := r.Length().Round(time.Millisecond)
	printable.Fprintf(b, "run         %s, %s, %s, %s\n", r.Run, started, length, state)
	if target := r.Described.Target(); target != "" {
		printable.Fprintf(b, "target      %s\n", target)
		printable.Fprintf(b, "flags       %s\n", r.Described.Line())
	}
	if r.ClosedLoop {
		asked, meaning := r.Loop()
		printable.Fprintf(b, "asked       %-12s %s (closed loop)%s\n", asked, meaning, r.OverConnections())
	} else {
		printable.Fprintf(b, "asked       %-12d %s\n", r.Asked, askedRate(r))
	}
	if paused := r.Paused().Round(time.Millisecond); paused > 0 {
		printable.Fprintf(b, "paused      %s in all\n", paused)
	}
	if r.Limiter != "" {
		printable.Fprintf(b, "limiter     %s\n", r.Limiter)
	}
	printable.Fprintf(b, "sent        %-12d %s/s\n", a.Sent, units.Rate(r.Rate))
	if r.Requests > 0 {
		printable.Fprintf(b, "requests    %-12d %s/s, with the later steps of flows\n", r.Requests, units.Rate(r.RequestRate))
	}
	printable.Fprintf(b, "completed   %-12d %s/s, success %s %%\n", a.Completed, units.Rate(r.Throughput), units.Percent(r.Success))
	if missing := notSent(r); missing != "" {
		printable.Fprintf(b, NotSentLabel+"    %s of what was asked for, see the audit\n", missing)
	}
	if a.Failed > 0 {
		printable.Fprintf(b, "failed      %d\n", a.Failed)
	}
	if a.InFlight != 0 {
		printable.Fprintf(b, "in flight   %d\n", a.InFlight)
	}
	printable.Fprintf(b, "bytes       in %s, out %s\n", units.Bytes(r.BytesIn), units.Bytes(r.BytesOut))
	if r.MessagesIn > 0 {
		printable.Fprintf(b, "messages    in %d\n", r.MessagesIn)
	}
}

// NotSentLabel begins the line of the text report that says how much was not sent. There is none if all was sent.
const NotSentLabel = "NOT SENT"

// notSent formats the share that was not sent; "" = all was sent.
func notSent(r report.Report) string {
	share, atMost := r.NotSent()
	text := units.Percent(share) + " %"
	switch {
	case share <= 0:
		return ""
	case share < 0.0001:
		text = "less than 0.01 %"
	case atMost:
		text = "up to " + text
	}
	return text
}

// askedRate returns the mean rate that was asked for and, if it changed, the last one; while the run goes on, the
// current one.
func askedRate(r report.Report) string {
	if r.Running {
		return fmt.Sprintf("%s/s now (cluster total)", units.Rate(r.TargetRate))
	}
	mean, last := units.Rate(units.Ratio(float64(r.Asked), r.DurationS)), units.Rate(r.TargetRate)
	if len(r.Workers) > 0 && !slices.ContainsFunc(r.Workers, func(w report.WorkerReport) bool { return w.State != "alone" }) {
		if len(r.Workers) == 1 {
			return mean + "/s (of this worker alone)"
		}
		return mean + "/s (of these workers alone)"
	}
	less := ""
	if r.ScaledS > 0 {
		less = ", less than its plan, see the notes"
	}
	if mean == last {
		return last + "/s (cluster total)" + less
	}
	return fmt.Sprintf("%s/s, at last %s/s (cluster total)%s", mean, last, less)
}

// textAudit writes the audit as an equation and, if asked and issued differ, the reason.
func textAudit(b *bytes.Buffer, r report.Report) {
	a := r.Audit
	left, right := r.Balance()
	printable.Fprintf(b, "audit       %s\n", report.Equation(left.Name, left.N, right))
	if !r.ClosedLoop && (a.Recalled != 0 || a.Overrun != 0 || a.Ungranted != 0) {
		printable.Fprintf(b, "            %s\n", report.Equation("asked", a.Asked, a.AskedTerms()))
	}
}

// textTimes writes the table of latency, service time and lag, if any request ended.
func textTimes(b *bytes.Buffer, r report.Report) {
	b.WriteByte('\n')
	if !r.HasTimes() {
		return
	}
	table.Text(b, 12, "", timesColumns()...)
	for _, row := range timesRows(r) {
		table.Text(b, 12, row.Name, row.Texts(len(row.Cells))...)
	}
	b.WriteByte('\n')
}

// labelled returns the label of the first of some lines.
func labelled(i int, label string) string {
	if i > 0 {
		return ""
	}
	return label
}

// textAnswers writes status codes and error classes.
func textAnswers(b *bytes.Buffer, r report.Report) {
	if len(r.StatusCodes) > 0 {
		b.WriteString("status      ")
		for i, code := range slices.Sorted(maps.Keys(r.StatusCodes)) {
			if i > 0 {
				b.WriteString(", ")
			}
			printable.Fprintf(b, "%s: %d", code, r.StatusCodes[code])
		}
		b.WriteByte('\n')
	}
	for i, class := range byCount(r.Errors) {
		printable.Fprintf(b, "%-12s%-12s %d", labelled(i, "errors"), class, r.Errors[class])
		if r.Histograms != nil && r.Histograms.Errors[class].Count() > 0 {
			h := r.Histograms.Errors[class]
			printable.Fprintf(b, " (latency p50 %s, p99 %s)", units.Duration(h.Quantile(0.5)), units.Duration(h.Quantile(0.99)))
		}
		b.WriteByte('\n')
	}
}

// textWorkers writes a line for each worker; their number is bounded.
func textWorkers(b *bytes.Buffer, r report.Report) {
	width := 0
	shown := r.Workers[:min(len(r.Workers), report.MaxListedWorkers)]
	for _, w := range shown {
		width = max(width, len(w.ID))
	}
	for i, w := range shown {
		printable.Fprintf(b, "%-12s%-*s  %-8s sent %-10d", labelled(i, "workers"), width, w.ID, w.State, w.Sent)
		if !w.LastSeen.IsZero() {
			printable.Fprintf(b, " last seen %s", w.LastSeen.Format(time.RFC3339))
		}
		if w.Gaps > 0 {
			printable.Fprintf(b, ", snapshots missing: %d", w.Gaps)
		}
		if !w.Final && !r.Running {
			b.WriteString(", final snapshot missing")
		}
		b.WriteByte('\n')
	}
	if hidden := len(r.Workers) - len(shown); hidden > 0 {
		printable.Fprintf(b, "            and %d more\n", hidden)
	}
}

// textThresholds writes a line for each threshold.
func textThresholds(b *bytes.Buffer, r report.Report) {
	for i, t := range r.Thresholds {
		printable.Fprintf(b, "%-12s%s %s: %s", labelled(i, "thresholds"), resultSign(t.Result), t.Threshold, t.Text)
		if t.Result == threshold.Undecided {
			b.WriteString(" (undecided)")
		}
		b.WriteByte('\n')
	}
}

// resultSign returns a result as one character.
func resultSign(result string) string {
	switch result {
	case threshold.Passed:
		return "✓"
	case threshold.Failed:
		return "✗"
	default:
		return "?"
	}
}
