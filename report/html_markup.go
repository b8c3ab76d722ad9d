package report

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/printable"
)

// markup is HTML that is being written. html/template would do it too, but calls methods by name: then the linker keeps every method of
// every type, and the programs are 9 MB larger.
type markup struct{ bytes.Buffer }

// raw adds HTML of ours.
func (m *markup) raw(text string) { m.WriteString(text) }

// put adds HTML of ours with texts of anybody in it, each as a part of a line that is never read as HTML. They may stand between tags, and
// in attributes with double quotes.
func (m *markup) put(format string, texts ...string) {
	safe := make([]any, len(texts))
	for i, text := range texts {
		safe[i] = html.EscapeString(printable.Line(text))
	}
	fmt.Fprintf(m, format, safe...)
}

// number adds a number with the place that it has in the JSON report.
func (m *markup) number(n htmlNumber) {
	if n.Path == "" {
		m.put("%s", n.Text)
		return
	}
	m.put(`<data value="%s" data-path="%s">%s</data>`, n.Value, n.Path, n.Text)
}

// cell adds a cell with a number.
func (m *markup) cell(n htmlNumber) {
	m.raw(`<td class="n">`)
	m.number(n)
	m.raw("</td>")
}

// share adds two cells: a share and its bar.
func (m *markup) share(b htmlBar) {
	m.put(`<td class="n">%s</td><td class="graph"><svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">`+
		`<rect class="all" width="100" height="8"/><rect class="part" width="%s" height="8"/></svg></td>`, b.Text, b.Width)
}

// table begins a table that may be wider than the page, so that it can be moved with keys too; columns are its head. End it with endTable.
func (m *markup) table(class, name string, columns ...htmlColumn) {
	m.put(`<div class="scroll" role="region" aria-label="%s" tabindex="0"><table class="%s"><caption class="unseen">%s</caption>`+"\n", name, class, name)
	if len(columns) > 0 {
		m.raw("<thead><tr>")
	}
	for _, c := range columns {
		attributes := ""
		if c.number {
			attributes = ` class="n"`
		}
		if c.wide {
			attributes += ` colspan="2"`
		}
		m.put(`<th scope="col"`+attributes+`>%s</th>`, c.name)
	}
	if len(columns) > 0 {
		m.raw("</tr></thead>\n")
	}
	m.raw("<tbody>\n")
}

func (m *markup) endTable() { m.raw("</tbody></table></div>\n") }

// An htmlColumn is the head of a column.
type htmlColumn struct {
	name   string
	number bool
	wide   bool // of two columns
}

// columns are heads of columns; a name that begins with # is one of numbers, with ## one of a share.
func columns(names ...string) []htmlColumn {
	var all []htmlColumn
	for _, name := range names {
		all = append(all, htmlColumn{name: strings.TrimLeft(name, "#"), number: strings.HasPrefix(name, "#") && !strings.HasPrefix(name, "##"), wide: strings.HasPrefix(name, "##")})
	}
	return all
}

// more says that a table has more rows than are shown.
func (m *markup) more(hidden, columns int) {
	if hidden > 0 {
		fmt.Fprintf(m, `<tr><td colspan="%d">and %s more, in the JSON report</td></tr>`+"\n", columns, groups(fmt.Sprint(hidden)))
	}
}

// section begins a section with a title.
func (m *markup) section(id, class, title string) {
	m.put(`<section id="%s" class="%s" aria-labelledby="%s-title" tabindex="-1"><h2 id="%s-title">%s</h2>`+"\n", id, class, id, id, title)
}

func (m *markup) head(title, policy, style string) {
	m.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>%s: load test report</title>
`, policy, title)
	m.raw("<style>" + style + "</style>\n</head>\n<body>\n")
	m.raw(`<nav class="skip" aria-label="Skip to"><a href="#judged">Verdict</a><a href="#charts">Charts</a><a href="#workers">Workers</a>` +
		`<a href="#spec">Specification</a><a href="#events">Events</a></nav>` + "\n")
}

// title is what run it is.
func (m *markup) title(r Report) {
	m.put("<header>\n"+`<div class="name"><p class="eyebrow">Load test report</p><h1>%s</h1>`, printable.Clip(r.Run, 100))
	if target := r.Described.Target(); target != "" {
		m.put(`<p class="target"><code>%s</code></p>`, printable.Clip(target, 300))
	}
	started := "not started"
	if !r.StartedAt.IsZero() {
		started = r.StartedAt.Format("2006-01-02 15:04:05 MST")
	}
	fleet := plural(int64(len(r.Workers)), "worker process", "worker processes")
	if r.Described.Hosts > 0 {
		fleet += " on " + plural(int64(r.Described.Hosts), "host", "hosts")
	}
	m.raw("</div>\n<dl class=\"facts\">")
	for _, fact := range [][2]string{{"started", started}, {"duration", r.length().Round(time.Millisecond).String()}, {"report", r.state()}, {"fleet", fleet}} {
		m.put("<div><dt>%s</dt><dd>%s</dd></div>", fact[0], fact[1])
	}
	m.raw("</dl>\n</header>\n")
}

// foot ends the page. The scripts are the last: all that they need is there then.
func (m *markup) foot(r Report, data, script string) {
	m.raw("<footer><p>")
	if r.Described.ReportedBy != "" {
		m.put("Written by %s. ", htmlText(r.Described.ReportedBy))
	}
	m.raw("This page is one file and needs no network. Its charts are drawn with uPlot (MIT License, © 2022 Leon Sorokin).</p></footer>\n")
	m.raw(`<script type="application/json" id="data">` + data + "</script>\n")
	m.raw(`<script type="module">` + script + "</script>\n</body>\n</html>\n")
}
