package compare

import (
	_ "embed" // the style
	"fmt"
	"io"
	"strings"

	"github.com/loadctl/loadctl/internal/output/page"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/internal/output/svg"
	"github.com/loadctl/loadctl/internal/output/table"
)

// pageStyle is what the page has beside the style of all pages.
//
//go:embed page.css
var pageStyle string

// Upper bounds of what the page shows.
const (
	maxPageText = 600 // characters of a text
	maxPageRuns = 100 // of a side
)

// HTML writes c as one self-contained page, without scripts.
func HTML(w io.Writer, c Comparison) error {
	style := page.Style() + pageStyle
	var m markup
	m.Head(c.title(), page.Policy("", style), style)
	m.Put("<header><h1>%s</h1></header>\n<main>\n", c.title())
	m.conditions(c)
	for i := range c.Results {
		m.figures(c, i)
	}
	for i, kind := range timesOf(c.Sides) {
		m.times(c, kind, i == latency)
	}
	m.errors(c)
	m.runs(c)
	m.Raw("</main>\n</body>\n</html>\n")
	if _, err := w.Write(m.Bytes()); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	return nil
}

// markup writes the page of a comparison.
type markup struct{ page.Markup }

func clip(s string) string { return printable.Clip(s, maxPageText) }

// title names the sides.
func (c Comparison) title() string {
	return "Comparison of " + clip(strings.Join(c.names(), " and "))
}

// names returns the names of the sides.
func (c Comparison) names() []string {
	var names []string
	for _, s := range c.Sides {
		names = append(names, clip(s.Name))
	}
	return names
}

// conditions writes the results of --fail-on, and the warnings.
func (m *markup) conditions(c Comparison) {
	if len(c.Conditions)+len(c.Warnings) == 0 {
		return
	}
	m.Section("conditions", "", "Conditions")
	m.Raw(`<ul class="lines">` + "\n")
	for _, one := range c.Conditions {
		if one.Fails() {
			m.Put(`<li class="bad">%s</li>`+"\n", clip(one.line()))
		} else {
			m.Put("<li>%s</li>\n", clip(one.line()))
		}
	}
	for _, warning := range c.Warnings {
		m.Put(`<li class="bad">warning: %s</li>`+"\n", clip(warning))
	}
	m.Raw("</ul>\n</section>\n")
}

// table writes a table; head names the columns after the first.
func (m *markup) table(class, name string, rows []table.Row, first string, head ...string) {
	m.Table(class, name, page.Columns(append([]string{first}, head...)...)...)
	table.HTML(&m.Markup, maxPageText, rows)
	m.EndTable()
}

// figures writes the figures of one other side beside those of the base.
func (m *markup) figures(c Comparison, i int) {
	names := c.names()
	m.Section(fmt.Sprintf("side-%d", i+1), "", names[i+1])
	m.Raw(`<p class="lead">Differences, with intervals that hold together with 95 %</p>` + "\n")
	m.table("numbers figures", "Differences of "+names[i+1], c.Results[i].rows(), "figure", names[0], names[i+1], "difference", "interval")
	for _, note := range c.notes(i) {
		m.Put(`<p class="hint">%s</p>`+"\n", clip(note))
	}
	m.Raw("</section>\n")
}

// times writes the picture of all curves of a kind of times, in two sizes, and the percentiles.
func (m *markup) times(c Comparison, kind timed, ofRequests bool) {
	m.Section(kind.name, "", kind.title)
	m.Put(`<p class="lead">%s</p>`+"\n", kind.help)
	title := kind.title + " that a share of them did not exceed"
	if ofRequests {
		title = kind.title + " that a share of the requests did not exceed"
	}
	curves := c.curves(kind)
	m.Raw(`<figure><div class="large">` + svg.Percentiles(title, 960, curves) + `</div><div class="small">` + svg.Percentiles(title, 380, curves) + "</div></figure>\n")
	m.table("numbers sides", "Percentiles of "+strings.ToLower(kind.title), percentileRows(kind, c.Sides), "percentile", c.names()...)
	m.Raw("</section>\n")
}

// errors writes the failed requests by class.
func (m *markup) errors(c Comparison) {
	rows, hidden := errorRows(c.Sides)
	if len(rows) == 0 {
		return
	}
	m.Section("errors", "", "Errors")
	m.Raw(`<p class="lead">Failed requests by class, and their share of what ended</p>` + "\n")
	m.table("numbers sides", "Failed requests by class", rows, "class", c.names()...)
	if hidden > 0 {
		m.Put(`<p class="hint">and %s more</p>`+"\n", fmt.Sprint(hidden))
	}
	m.Raw("</section>\n")
}

// runs writes the list of runs.
func (m *markup) runs(c Comparison) {
	m.Section("runs", "", "Runs")
	var rows []table.Row
	add := func(side, run, started string) {
		rows = append(rows, table.Row{Name: side, Cells: []table.Cell{{Text: clip(run)}, {Text: started}}})
	}
	for i, name := range c.names() {
		runs := c.Sides[i].Runs
		for _, r := range runs[:min(len(runs), maxPageRuns)] {
			started := "not started"
			if !r.StartedAt.IsZero() {
				started = r.StartedAt.Format("2006-01-02 15:04:05 MST")
			}
			add(name, r.Name, started)
		}
		if hidden := len(runs) - maxPageRuns; hidden > 0 {
			add(name, fmt.Sprintf("and %d more", hidden), "")
		}
	}
	m.table("runs", "What was compared", rows, "side", "run", "started")
	m.Raw("</section>\n")
}
