package render

import (
	"fmt"

	"github.com/loadctl/loadctl/internal/output/page"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
)

// verdict writes the judgement; it comes first.
func (m *markup) verdict(v htmlVerdict) {
	m.Put(`<section id="judged" class="verdict %s" aria-labelledby="judged-title" tabindex="-1"><div class="banner"><span class="sign" aria-hidden="true">%s</span>`+
		`<div><h2 id="judged-title">%s</h2><p>%s</p></div></div>`+"\n", v.Result, resultSign(v.Result), v.Title, v.Summary)
	m.Table("judged", "Thresholds and checks", page.Columns("result", "threshold or check", "measured")...)
	for _, c := range v.Judged {
		tag := "%s"
		if c.Threshold {
			tag = "<code>%s</code>"
		}
		m.Put(`<tr class="%s"><td><span class="pill">%s %s</span></td><th scope="row">`+tag+"</th><td>%s</td></tr>\n", c.Result, resultSign(c.Result), c.Result, c.Name, c.Text)
	}
	m.EndTable()
	m.Raw("</section>\n")
}

// tiles writes the key figures.
func (m *markup) tiles(all []htmlTile) {
	m.Raw(`<section aria-label="Key figures" class="tiles">` + "\n")
	for _, t := range all {
		m.Put(`<div class="tile %s"><p class="label">%s</p><p class="main">`, t.Kind, t.Name)
		m.bounded(t)
		m.Raw(`</p><p class="more">`)
		for i, n := range t.More {
			if i > 0 {
				m.Raw(" · ")
			}
			m.number(n)
		}
		m.Raw("</p>")
		if t.Alarm != "" {
			m.Put(`<p class="alarm bad">%s</p>`, t.Alarm)
		}
		m.Raw("</div>\n")
	}
	m.Raw("</section>\n")
}

// bounded writes a number, with a sign if it is a lower bound.
func (m *markup) bounded(t htmlTile) {
	if t.Bound {
		m.Raw("≥&nbsp;")
	}
	m.number(t.Main)
}

// audit writes where all requests went, beside the limits and the notes.
func (m *markup) audit(r report.Report) {
	a := auditOf(r)
	m.Raw(`<div class="pair">` + "\n")
	m.Section("audit", "", "Audit")
	m.Put(`<p class="lead">%s</p>`+"\n"+`<p class="equation">`, a.Text)
	m.term(a.Left)
	m.Put(` <span class="op">%s</span>`, a.Equal)
	for _, t := range a.Right {
		if t.Sign != "" {
			m.Put(` <span class="op">%s</span>`, t.Sign)
		}
		m.Raw(" ")
		m.term(t)
	}
	m.Raw("</p>\n<details><summary>All terms</summary>")
	m.Table("narrow", "All terms of the audit")
	for _, t := range a.All {
		m.Put(`<tr><th scope="row">%s</th>`, t.Name)
		m.cell(t.Number)
		m.Raw("</tr>\n")
	}
	m.EndTable()
	m.Raw("</details>\n</section>\n")

	m.Section("limit", "", "Whose limit it was")
	if limits := limitsOf(r); len(limits) > 0 {
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
	m.Raw("</section>\n</div>\n")
}

// term writes a number of the audit with its name.
func (m *markup) term(t htmlTerm) {
	m.Raw(`<span class="term"><b>`)
	m.number(t.Number)
	m.Put("</b> %s</span>", t.Name)
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

// times writes the table of percentiles.
func (m *markup) times(rows []htmlTimes) {
	if len(rows) == 0 {
		return
	}
	m.Section("times", "", "Times")
	m.Table("numbers", "Times, by percentile", page.Columns("of", "#min", "#mean", "#p50", "#p90", "#p95", "#p99", "#p99.9", "#p99.99", "#max")...)
	for _, row := range rows {
		m.Put(`<tr><th scope="row">%s</th>`, row.Name)
		for _, cell := range row.Cells {
			m.Raw("<td>")
			m.bounded(cell)
			m.Raw("</td>")
		}
		m.Raw("</tr>\n")
	}
	m.EndTable()
	m.Raw("</section>\n")
}

// answers writes the classes of errors and the statuses, side by side.
func (m *markup) answers(tables []htmlCounts) {
	if len(tables) == 0 {
		return
	}
	m.Raw(`<div class="pair">` + "\n")
	for _, t := range tables {
		m.Section(t.Name, "", t.Title)
		m.Table("counts", t.Title, page.Columns(t.Name, "#requests", "##share of those that ended")...)
		for _, row := range t.Rows {
			m.Put(`<tr><th scope="row">%s</th>`, row.Name)
			m.cell(row.Number)
			m.share(row.Share)
			m.Raw("</tr>\n")
		}
		m.more(t.Hidden, 4)
		m.EndTable()
		m.Raw("</section>\n")
	}
	m.Raw("</div>\n")
}

// charts writes the places of the charts that are drawn, and why others are not.
func (m *markup) charts(all []htmlChart) {
	m.Raw(`<div id="charts" tabindex="-1">` + "\n" + `<noscript><p class="empty">The charts and their tables need JavaScript. All other tables can be read without it.</p></noscript>` + "\n")
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
func (m *markup) workers(rows []htmlWorker, hidden int) {
	m.Section("workers", "", "Workers")
	if len(rows) == 0 {
		m.Raw(`<p class="empty">No worker took part.</p></section>` + "\n")
		return
	}
	m.Table("counts", "Workers", page.Columns("worker", "state", "#sent", "##share", "#seen late", "#dropped late", "#busy", "CPU", "limits")...)
	for _, w := range rows {
		m.Put(`<tr><th scope="row">%s</th><td>%s</td>`, w.ID, w.State)
		m.cell(w.Sent)
		m.share(w.Share)
		m.cell(w.Late)
		m.cell(w.Dropped)
		m.cell(w.Busy)
		class := "limits"
		if w.Bad {
			class += " bad"
		}
		m.Put(`<td>%s</td><td class="%s">%s</td></tr>`+"\n", w.CPU, class, w.Verdicts)
	}
	m.more(hidden, 10)
	m.EndTable()
	m.Raw(`<p class="hint">Seen late: slots to which the worker came late by itself. Dropped late: slots that were not sent, because it was too late. ` +
		`Busy: slots that found no connection free.</p></section>` + "\n")
}

// spec writes the target and the flags.
func (m *markup) spec(facts []htmlFact) {
	m.Section("spec", "", "Specification")
	if len(facts) == 0 {
		m.Raw(`<p class="empty">The target is not known.</p></section>` + "\n")
		return
	}
	m.Raw(`<dl class="spec">`)
	for _, f := range facts {
		tag := "%s"
		if f.Code {
			tag = "<code>%s</code>"
		}
		m.Put("<div><dt>%s</dt><dd>"+tag+"</dd></div>\n", f.Name, f.Text)
	}
	m.Raw("</dl></section>\n")
}

// events writes the events, with the numbers of the marks in the charts.
func (m *markup) events(rows []htmlEvent, hidden int) {
	m.Section("events", "", "Events")
	if len(rows) == 0 {
		m.Raw(`<p class="empty">The report has no events.</p></section>` + "\n")
		return
	}
	m.Table("events", "Events", page.Columns("#mark", "#after", "UTC", "event", "who", "what")...)
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
