package render

import (
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/output/page"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/units"
)

// markup writes the page of a report.
type markup struct{ page.Markup }

// more says how many rows of a table are not shown.
func (m *markup) more(hidden, columns int) {
	if hidden > 0 {
		fmt.Fprintf(m, `<tr><td colspan="%d">and %s more, in the JSON report</td></tr>`+"\n", columns, units.Groups(fmt.Sprint(hidden)))
	}
}

func (m *markup) head(title, policy, style string) {
	m.Head(title+": load test report", policy, style)
	m.Raw(`<nav class="skip" aria-label="Skip to"><a href="#judged">Verdict</a><a href="#charts">Charts</a><a href="#workers">Workers</a>` +
		`<a href="#spec">Specification</a><a href="#events">Changes</a></nav>` + "\n")
}

// title writes the name and the facts of the run.
func (m *markup) title(r report.Report) {
	m.Put("<header>\n"+`<div class="name"><p class="eyebrow">Load test report</p><h1>%s</h1>`, printable.Clip(r.Run, 100))
	if target := r.Described.Target(); target != "" {
		m.Put(`<p class="target"><code>%s</code></p>`, printable.Clip(target, 300))
	}
	started := "not started"
	if !r.StartedAt.IsZero() {
		started = r.StartedAt.Format("2006-01-02 15:04:05 MST")
	}
	fleet := plural(int64(len(r.Workers)), "worker process", "worker processes")
	if r.Described.Hosts > 0 {
		fleet += " on " + plural(int64(r.Described.Hosts), "host", "hosts")
	}
	m.Raw("</div>\n<dl class=\"facts\">")
	for _, fact := range [][2]string{{"started", started}, {"duration", r.Length().Round(time.Millisecond).String()}, {"report", r.State()}, {"fleet", fleet}} {
		m.Put("<div><dt>%s</dt><dd>%s</dd></div>", fact[0], fact[1])
	}
	m.Raw("</dl>\n</header>\n")
}

// foot ends the page. The scripts come last: then everything they need exists.
func (m *markup) foot(r report.Report, data, script string) {
	m.Raw("<footer><p>")
	if r.Described.ReportedBy != "" {
		m.Put("Written by %s. ", htmlText(r.Described.ReportedBy))
	}
	m.Raw("This page is one file and needs no network. Its charts are drawn with uPlot (MIT License, © 2022 Leon Sorokin).</p></footer>\n")
	m.Raw(`<script type="application/json" id="data">` + data + "</script>\n")
	m.Raw(`<script type="module">` + script + "</script>\n</body>\n</html>\n")
}
