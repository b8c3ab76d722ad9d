package compare

import (
	_ "embed" // the style
	"fmt"
	"io"
	"strings"

	"github.com/loadctl/loadctl/internal/output/page"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/internal/output/svg"
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
	m.latency(c)
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

// row adds a row; its first cell is the row's name.
func (m *markup) row(class string, cells ...string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	m.Put(`<tr`+class+`><th scope="row">%s</th>`, cells[0])
	for _, cell := range cells[1:] {
		m.Put("<td>%s</td>", cell)
	}
	m.Raw("</tr>\n")
}

// sides begins a table with a column for the rows' names and one for each side.
func (m *markup) sides(c Comparison, name, rows string) {
	m.Table("numbers sides", name, page.Columns(append([]string{rows}, c.names()...)...)...)
}

// figures writes the figures of one other side beside those of the base.
func (m *markup) figures(c Comparison, i int) {
	r, names := c.Results[i], c.names()
	m.Section(fmt.Sprintf("side-%d", i+1), "", names[i+1])
	m.Raw(`<p class="lead">Differences, with intervals that hold together with 95 %</p>` + "\n")
	m.Table("numbers figures", "Differences of "+names[i+1], page.Columns("figure", names[0], names[i+1], "difference", "interval")...)
	for _, row := range r.Rows {
		class, cells := "", row.cells()
		if row.Difference.Differs() {
			class = "differs"
		}
		m.row(class, append([]string{row.Name}, cells[:]...)...)
	}
	m.EndTable()
	for _, note := range c.notes(i) {
		m.Put(`<p class="hint">%s</p>`+"\n", clip(note))
	}
	m.Raw("</section>\n")
}

// latency writes the picture of all curves, in two sizes, and the percentiles.
func (m *markup) latency(c Comparison) {
	m.Section("latency", "", "Latency")
	m.Raw(`<p class="lead">From when a request was due</p>` + "\n")
	const title = "Latency that a share of the requests did not exceed"
	curves := c.curves()
	m.Raw(`<figure><div class="large">` + svg.Percentiles(title, 960, curves) + `</div><div class="small">` + svg.Percentiles(title, 380, curves) + "</div></figure>\n")
	m.sides(c, "Percentiles of latency", "percentile")
	for _, p := range percentiles() {
		cells := []string{p.name}
		for _, s := range c.Sides {
			cells = append(cells, s.cell(p))
		}
		m.row("", cells...)
	}
	m.EndTable()
	m.Raw("</section>\n")
}

// errors writes the failed requests by class.
func (m *markup) errors(c Comparison) {
	all := classes(c.Sides)
	if len(all) == 0 {
		return
	}
	m.Section("errors", "", "Errors")
	m.Raw(`<p class="lead">Failed requests by class, and their share of what ended</p>` + "\n")
	m.sides(c, "Failed requests by class", "class")
	for _, class := range all[:min(len(all), maxClasses)] {
		cells := []string{clip(class)}
		for _, s := range c.Sides {
			cells = append(cells, s.Errors[class].text())
		}
		m.row("", cells...)
	}
	m.EndTable()
	if hidden := len(all) - maxClasses; hidden > 0 {
		m.Put(`<p class="hint">and %s more</p>`+"\n", fmt.Sprint(hidden))
	}
	m.Raw("</section>\n")
}

// runs writes the list of runs.
func (m *markup) runs(c Comparison) {
	m.Section("runs", "", "Runs")
	m.Table("runs", "What was compared", page.Columns("side", "run", "started")...)
	for i, name := range c.names() {
		runs := c.Sides[i].Runs
		for _, r := range runs[:min(len(runs), maxPageRuns)] {
			started := "not started"
			if !r.StartedAt.IsZero() {
				started = r.StartedAt.Format("2006-01-02 15:04:05 MST")
			}
			m.row("", name, clip(r.Name), started)
		}
		if hidden := len(runs) - maxPageRuns; hidden > 0 {
			m.row("", name, fmt.Sprintf("and %d more", hidden), "")
		}
	}
	m.EndTable()
	m.Raw("</section>\n")
}
