package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/loadctl/loadctl/internal/output/page"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
)

// Upper bounds of the page's tables. The JSON in the page is complete.
const (
	maxHTMLRows = 200
	maxHTMLText = 1000 // characters of a text
)

// HTML writes the report as one self-contained page: it needs no network and no other file. Its tables can be read
// without JavaScript. Scripts draw the charts from the JSON report in the page. No text of the report is interpreted as
// HTML.
func HTML(w io.Writer, r report.Report) error {
	drawing := Draw(r)
	data, err := htmlJSON(drawing)
	if err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	style := page.Style()
	script, err := page.Script("report.js")
	if err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	var m markup
	m.head(printable.Clip(r.Run, 100), page.Policy(script, style), style)
	m.title(r)
	m.Raw("<main>\n")
	m.verdict(r)
	m.tiles(r)
	m.audit(r)
	m.tables(r)
	m.charts(chartsOf(r))
	m.workers(r)
	m.spec(r)
	m.events(eventRows(r, drawing.Marks))
	m.Raw("</main>\n")
	m.foot(r, data, script)
	return write(w, "HTML", m.Bytes())
}

// A Drawing is a report with what only its charts need. The scripts of pages draw it.
type Drawing struct {
	Report report.Report `json:"report"`
	Curve  *htmlCurve    `json:"curve"` // nil = no request has ended
	Heat   *htmlHeat     `json:"heat"`  // nil = there is nothing to show
	Marks  []htmlMark    `json:"marks"`
}

// Draw computes the charts of a report.
func Draw(r report.Report) Drawing { return Drawing{r, curveOf(r), heatOf(r), marksOf(r)} }

// htmlJSON returns the data of the page. It escapes <, > and &, so no text can end or hide the script element.
func htmlJSON(d Drawing) (string, error) {
	var b bytes.Buffer
	err := json.NewEncoder(printable.NewJSONWriter(&b)).Encode(d)
	return strings.TrimSpace(b.String()), err
}

// htmlText shortens a text for use in a line.
func htmlText(s string) string { return printable.Clip(s, maxHTMLText) }

// thresholdsSummary returns a sentence about all thresholds.
func thresholdsSummary(all []report.Check) string {
	counts := map[string]int{}
	for _, c := range all {
		counts[c.Result]++
	}
	failed, open, of := counts[threshold.Failed], fmt.Sprint(counts[threshold.Undecided], " are undecided"), plural(int64(len(all)), "threshold", "thresholds")
	if counts[threshold.Undecided] == 1 {
		open = "1 is undecided"
	}
	switch {
	case len(all) == 0:
		return "No thresholds were set."
	case counts[threshold.Passed] == 1 && len(all) == 1:
		return "The threshold holds."
	case counts[threshold.Passed] == len(all):
		return fmt.Sprintf("All %d thresholds hold.", len(all))
	case counts[threshold.Undecided] == 0:
		return fmt.Sprintf("%d of %s failed.", failed, of)
	case failed == 0:
		return fmt.Sprintf("Of %s %s.", of, open)
	default:
		return fmt.Sprintf("Of %s %d failed and %s.", of, failed, open)
	}
}

// plural formats a number of things.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return units.Groups(fmt.Sprint(n)) + " " + many
}
