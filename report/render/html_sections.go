package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/output/page"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/internal/output/table"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
)

// verdict writes the judgement; it comes first.
func (m *markup) verdict(r report.Report) {
	result, thresholds := resultOf(r), r.ThresholdChecks()
	title, summary := strings.ToUpper(result[:1])+result[1:], thresholdsSummary(thresholds)
	if r.Running {
		title += " so far"
	}
	if invalid := r.Invalid(); len(invalid) > 0 {
		summary += " " + htmlText("The run proves nothing: "+strings.Join(invalid, "; ")+".")
	}
	m.Put(`<section id="judged" class="verdict %s" aria-labelledby="judged-title" tabindex="-1"><div class="banner"><span class="sign" aria-hidden="true">%s</span>`+
		`<div><h2 id="judged-title">%s</h2><p>%s</p></div></div>`+"\n", result, resultSign(result), title, summary)
	m.Table("judged", "Thresholds and checks", page.Columns("result", "threshold or check", "measured")...)
	shown := min(len(thresholds), maxHTMLRows)
	for i, c := range append(thresholds[:shown], r.AuditCheck(), r.GeneratorCheck()) {
		tag := "%s"
		if i < shown {
			tag = "<code>%s</code>"
		}
		m.Put(`<tr class="%s"><td><span class="pill">%s %s</span></td><th scope="row">`+tag+"</th><td>%s</td></tr>\n", c.Result, resultSign(c.Result), c.Result, htmlText(c.Name), htmlText(c.Text))
	}
	m.EndTable()
	m.Raw("</section>\n")
}

// tiles writes the key figures: what was asked for, what became of it, and how long it took.
func (m *markup) tiles(r report.Report) {
	m.Raw(`<section aria-label="Key figures" class="tiles">` + "\n")
	asked, how := count("asked", r.Asked), askedRate(r)
	if r.ClosedLoop {
		asked = table.Cell{}
		asked.Text, how = r.Loop()
	}
	m.tile("asked", "asked", "", asked, table.Cell{Text: how})
	m.tile("sent", "sent", "", count("sent", r.Sent), rate("rate", r.Rate))
	ok, failed, alarm := []table.Cell{rate("throughput", r.Throughput)}, []table.Cell{}, ""
	if r.HasTimes() {
		ok = append(ok, share("success", r.Success))
		if classes := byCount(r.Errors); len(classes) > 0 {
			most := printable.Clip(classes[0], 20)
			failed = append(failed, table.Cell{Text: most}, count("errors."+most, r.Errors[classes[0]]))
		}
	}
	if missing := notSent(r); missing != "" {
		alarm = strings.ReplaceAll(missing, " %", "\u00a0%") + " not sent"
	}
	m.tile("ok", "ok", alarm, count("audit.completed", r.Audit.Completed), ok...)
	m.tile("failed", "failed", "", count("audit.failed", r.Audit.Failed), failed...)
	if r.HasTimes() {
		latencies := quantiles("latency_ns.", r.Latency, lowerBoundsAbove(r))
		m.tile("p50", "latency p50", "", latencies[0], table.Cell{Text: "1 in 2 is slower"})
		m.tile("p99", "latency p99", "", latencies[3], table.Cell{Text: "1 in 100 is slower"})
		m.tile("p999", "latency p99.9", "", latencies[4], table.Cell{Text: "1 in 1,000 is slower"})
	}
	m.Raw("</section>\n")
}

// tile writes a key figure, and more about it; kind is a class of the style sheet, alarm what is wrong with it.
func (m *markup) tile(kind, name, alarm string, main table.Cell, more ...table.Cell) {
	m.Put(`<div class="tile %s"><p class="label">%s</p><p class="main">`, kind, name)
	main.HTML(&m.Markup)
	m.Raw(`</p><p class="more">`)
	for i, cell := range more {
		if i > 0 {
			m.Raw(" · ")
		}
		cell.HTML(&m.Markup)
	}
	m.Raw("</p>")
	if alarm != "" {
		m.Put(`<p class="alarm bad">%s</p>`, alarm)
	}
	m.Raw("</div>\n")
}

// audit writes where all requests went, beside the limits and the notes.
func (m *markup) audit(r report.Report) {
	m.Raw(`<div class="pair">` + "\n")
	m.Section("audit", "", "Audit")
	m.Put(`<p class="lead">%s</p>`+"\n"+`<p class="equation">`, auditText(r))
	left, right := r.Balance()
	m.term("", left)
	sign := "="
	if report.SumTerms(right) != left.N {
		sign = "≠"
	}
	for i, t := range right {
		switch {
		case i == 0:
			m.term(sign, t)
		case t.N == 0:
		case t.Minus:
			m.term("−", t)
		default:
			m.term("+", t)
		}
	}
	m.Raw("</p>\n<details><summary>All terms</summary>")
	m.Table("narrow", "All terms of the audit")
	var rows []table.Row
	a := r.Audit
	for _, t := range []report.Term{{Name: "issued", N: a.Issued}, {Name: "asked", N: a.Asked}, {Name: "sent", N: a.Sent},
		{Name: "late_dropped", N: a.LateDropped}, {Name: "skipped", N: a.Skipped}, {Name: "recalled", N: a.Recalled},
		{Name: "lost", N: a.Lost}, {Name: "held", N: a.Held}, {Name: "overrun", N: a.Overrun}, {Name: "ungranted", N: a.Ungranted},
		{Name: "completed", N: a.Completed}, {Name: "failed", N: a.Failed}, {Name: "in_flight", N: a.InFlight}} {
		rows = append(rows, table.Row{Name: strings.ReplaceAll(t.Name, "_", " "), Cells: []table.Cell{count("audit."+t.Name, t.N)}})
	}
	table.HTML(&m.Markup, maxHTMLText, rows)
	m.EndTable()
	m.Raw("</details>\n</section>\n")
	m.limits(r)
	m.Raw("</div>\n")
}

// auditText returns a sentence about the audit.
func auditText(r report.Report) string {
	switch c := r.AuditCheck(); {
	case c.Result == threshold.Passed:
		return "Every request is accounted for."
	case c.Result == threshold.Undecided && r.State() == report.Incomplete:
		return "The report is incomplete: see the notes."
	default:
		return htmlText(c.Text)
	}
}

// term writes a number of the audit with its name, after a sign.
func (m *markup) term(sign string, t report.Term) {
	if sign != "" {
		m.Put(` <span class="op">%s</span> `, sign)
	}
	m.Raw(`<span class="term"><b>`)
	count("audit."+t.Name, t.N).HTML(&m.Markup)
	m.Put("</b> %s</span>", strings.ReplaceAll(t.Name, "_", " "))
}

// limits writes a line for each cause of a limit, and the notes.
func (m *markup) limits(r report.Report) {
	m.Section("limit", "", "Whose limit it was")
	var limits []string
	for _, l := range r.Limits() {
		limits = append(limits, l.String())
	}
	if limits = limits[:min(len(limits), maxHTMLRows)]; len(limits) > 0 {
		m.lines(limits)
	} else if c := r.GeneratorCheck(); c.Result == threshold.Undecided {
		m.Put(`<p class="lead">It is not known: %s.</p>`, htmlText(c.Text))
	} else {
		m.Raw(`<p class="lead">No worker met a limit of its own.</p>`)
	}
	if len(r.Notes) > 0 {
		m.Raw("<h3>Notes</h3>\n")
		m.lines(r.Notes)
	}
	m.Raw("</section>\n")
}

// lines writes texts; their number is bounded.
func (m *markup) lines(texts []string) {
	const shown = 50
	m.Raw(`<ul class="lines">`)
	for _, text := range texts[:min(len(texts), shown)] {
		m.Put("<li>%s</li>\n", htmlText(text))
	}
	if hidden := len(texts) - shown; hidden > 0 {
		fmt.Fprintf(m, "<li>and %d more, in the JSON report</li>", hidden)
	}
	m.Raw("</ul>\n")
}

// tables writes the tables that Markdown has too: times, steps, errors and statuses. The last two stand side by side.
func (m *markup) tables(r report.Report) {
	write := func(id, title, class, name string, rows []table.Row, hidden int, columns ...string) {
		if len(rows) == 0 {
			return
		}
		m.Section(id, "", title)
		m.Table(class, name, page.Columns(columns...)...)
		table.HTML(&m.Markup, maxHTMLText, rows)
		m.more(hidden, 4)
		m.EndTable()
		m.Raw("</section>\n")
	}
	write("times", "Times", "numbers", "Times, by percentile", timesRows(r), 0, append([]string{"of"}, timesColumns()...)...)
	m.streams(r)
	if r.Connections.Any() {
		m.Section("connections", "", "Connections")
		m.Put("<p>%s</p>\n</section>\n", htmlText(connectionsText(r.Connections)))
	}
	write("steps", "Steps", "counts", "Steps of the workload", stepRows(r), 0, slices.Concat([]string{"step"}, stepColumns(), []string{"most frequent failure"})...)
	write("step-streams", "Steps with answers in pieces", "counts", "Answers in pieces, by step", stepStreamRows(r), 0, append([]string{"step"}, stepStreamColumns()...)...)
	queries, hidden := queryRows(r)
	write("queries", "Queries", "counts", "What queries about the endpoint answered", queries, hidden, append([]string{"query"}, queryColumns()...)...)
	all := answersOf(r)
	if len(all) == 0 {
		return
	}
	m.Raw(`<div class="pair">` + "\n")
	for _, a := range all {
		write(a.class, a.title, "counts", a.title, a.rows, a.hidden, a.class, "#requests", "##share of those that ended")
	}
	m.Raw("</div>\n")
}

// charts writes the places of the charts that are drawn, and why others are not.
func (m *markup) charts(all []htmlChart) {
	m.Raw(`<div id="charts" tabindex="-1">` + "\n" + `<noscript><p class="empty">The charts, their tables and samples need JavaScript. All other tables can be read without it.</p></noscript>` + "\n")
	var empty []htmlChart
	for _, c := range all {
		if c.Empty != "" {
			empty = append(empty, c)
			continue
		}
		m.Section(c.Name, "chart", c.Title)
		m.Put(`<p class="hint">%s</p><figure data-chart="%s"><div class="plot"></div>`+"\n", c.Hint, c.Name)
		if c.Marks {
			m.Raw(`<ol class="marks"></ol>`)
		}
		if c.Scale {
			m.Raw(`<p class="scale" aria-hidden="true">1 request in a cell <span class="ramp"></span> <span class="most"></span></p>`)
		}
		m.Put(`<details><summary>As a table</summary><div class="scroll" role="region" aria-label="%s, as a table" tabindex="0"></div></details></figure></section>`+"\n", c.Title)
	}
	if len(empty) > 0 {
		m.Section("empty", "", "Not drawn")
		m.Raw(`<dl class="spec wide">`)
		for _, c := range empty {
			m.Put("<div><dt>%s</dt><dd>%s</dd></div>\n", c.Title, c.Empty)
		}
		m.Raw("</dl></section>\n")
	}
	m.Raw("</div>\n")
}

// workers writes a row for each process.
func (m *markup) workers(r report.Report) {
	m.Section("workers", "", "Workers")
	if len(r.Workers) == 0 {
		m.Raw(`<p class="empty">No worker took part.</p></section>` + "\n")
		return
	}
	m.Table("counts", "Workers", page.Columns("worker", "state", "#sent", "##share", "#seen late", "#dropped late", "#busy", "CPU", "limits")...)
	var rows []table.Row
	for i, w := range r.Workers[:min(len(r.Workers), maxHTMLRows)] {
		path, state, cpu, limits := fmt.Sprintf("workers.%d.", i), htmlText(w.State), "–", limitsOf(w)
		if load, has := w.Self.Load["cpu"]; has {
			cpu = fmt.Sprintf("%.0f\u00a0%%, at most %.0f\u00a0%%", 100*load.Mean, 100*load.Worst)
		}
		if !w.Final && !r.Running {
			state += ", final snapshot missing"
		}
		rows = append(rows, table.Row{Name: w.ID, Cells: []table.Cell{
			{Text: state}, count(path+"sent", w.Sent), part(w.Sent, r.Sent), count(path+"seen_late", w.SeenLate), count(path+"late_dropped", w.LateDropped),
			count(path+"busy", w.Busy), {Text: cpu}, limits,
		}})
	}
	table.HTML(&m.Markup, maxHTMLText, rows)
	m.more(len(r.Workers)-len(rows), 10)
	m.EndTable()
	m.Raw(`<p class="hint">Seen late: slots to which the worker came late by itself. Dropped late: slots that were not sent, because it was too late. ` +
		`Busy: slots that found no connection free.</p></section>` + "\n")
}

// limitsOf returns the limits of a worker and their causes.
func limitsOf(w report.WorkerReport) table.Cell {
	var causes []string
	for _, v := range w.Verdicts {
		causes = append(causes, v.Limit+": "+strings.ReplaceAll(v.Cause, "_", " "))
	}
	switch {
	case len(causes) > 0:
		return table.Cell{Class: "limits bad", Text: htmlText(strings.Join(causes, ", "))}
	case w.Self.MeasuredS == 0:
		return table.Cell{Class: "limits", Text: "not measured"}
	default:
		return table.Cell{Class: "limits", Text: "none"}
	}
}

// spec writes the facts that describe the run: the target and the flags as code.
func (m *markup) spec(r report.Report) {
	m.Section("spec", "", "Specification")
	d, warmup, hosts, bytes, messages := r.Described, "", "", "", ""
	if r.WarmupS > 0 {
		warmup = time.Duration(r.WarmupS * float64(time.Second)).String()
	}
	if d.Hosts > 0 {
		hosts = units.Groups(strconv.Itoa(d.Hosts))
	}
	if r.BytesIn+r.BytesOut > 0 {
		bytes = "in " + units.Bytes(r.BytesIn) + ", out " + units.Bytes(r.BytesOut)
	}
	if r.MessagesIn > 0 {
		messages = "in " + units.Groups(strconv.FormatInt(r.MessagesIn, 10))
	}
	facts := slices.DeleteFunc([][2]string{{"target", d.Target()}, {"flags", d.Line()}, {"withheld", strings.Join(d.Withheld, ", ")}, {"limiter", r.Limiter}, {"warm-up", warmup},
		{"created by", d.CreatedBy}, {"reported by", d.ReportedBy}, {"Redis", d.Redis}, {"hosts", hosts}, {"bytes", bytes}, {"messages", messages}},
		func(fact [2]string) bool { return fact[1] == "" })
	if len(facts) == 0 {
		m.Raw(`<p class="empty">The target is not known.</p></section>` + "\n")
		return
	}
	m.Raw(`<dl class="spec">`)
	for _, fact := range facts {
		tag := "%s"
		if fact[0] == "target" || fact[0] == "flags" {
			tag = "<code>%s</code>"
		}
		m.Put("<div><dt>%s</dt><dd>"+tag+"</dd></div>\n", fact[0], htmlText(fact[1]))
	}
	m.Raw("</dl></section>\n")
}

// events writes the events of the run, with the numbers of the marks in the charts. The page calls them changes, as answers have
// events too.
func (m *markup) events(rows []htmlEvent, hidden int) {
	m.Section("events", "", "Changes")
	if len(rows) == 0 {
		m.Raw(`<p class="empty">The report has no changes of the run.</p></section>` + "\n")
		return
	}
	m.Table("events", "Changes of the run", page.Columns("#mark", "#after", "UTC", "change", "who", "what")...)
	m.more(hidden, 6)
	for _, e := range rows {
		mark := ""
		if e.Mark != "" {
			mark = "flag "
		}
		m.Put(`<tr><td class="n"><span class="%s%s">%s</span></td><td class="n">%s</td><td>%s</td><th scope="row">%s</th><td>%s</td><td>%s</td></tr>`+"\n",
			mark, e.Tone, e.Mark, e.When, e.At, e.Kind, e.Who, e.What)
	}
	m.EndTable()
	m.Raw("</section>\n")
}
