package render

import (
	"bytes"
	"cmp"
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
	m.verdict(verdictOf(r))
	m.tiles(tilesOf(r))
	m.audit(r)
	m.times(timesOf(r))
	m.steps(stepsOf(r))
	m.answers(answersOf(r))
	m.charts(chartsOf(r))
	m.workers(workersOf(r))
	m.spec(specOf(r))
	m.events(eventRows(r, drawing.Marks))
	m.Raw("</main>\n")
	m.foot(r, data, script)
	if _, err := w.Write(m.Bytes()); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	return nil
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

// htmlVerdict holds the judgement of a run and its parts.
type htmlVerdict struct {
	Result, Title, Summary string
	Judged                 []htmlCheck
}

// htmlCheck is a threshold or a check.
type htmlCheck struct {
	Name, Result, Text string
	Threshold          bool
}

// verdictOf returns the result of the run for a pipeline, thresholds first.
func verdictOf(r report.Report) htmlVerdict {
	v := htmlVerdict{Result: cmp.Or(r.Outcome(), report.WorstResult(r.Checks()))}
	add := func(all []report.Check, threshold bool) {
		for _, c := range all {
			v.Judged = append(v.Judged, htmlCheck{htmlText(c.Name), c.Result, htmlText(c.Text), threshold})
		}
	}
	thresholds := r.ThresholdChecks()
	add(thresholds[:min(len(thresholds), maxHTMLRows)], true)
	add([]report.Check{r.AuditCheck(), r.GeneratorCheck()}, false)
	v.Title = strings.ToUpper(v.Result[:1]) + v.Result[1:]
	if r.Running {
		v.Title += " so far"
	}
	counts := map[string]int64{}
	for _, c := range thresholds {
		counts[c.Result]++
	}
	v.Summary = thresholdsSummary(int64(len(thresholds)), counts)
	if invalid := r.Invalid(); len(invalid) > 0 {
		v.Summary += " " + htmlText("The run proves nothing: "+strings.Join(invalid, "; ")+".")
	}
	return v
}

// thresholdsSummary returns a sentence about all thresholds.
func thresholdsSummary(n int64, counts map[string]int64) string {
	var said []string
	switch {
	case n == 0:
		return "No thresholds were set."
	case counts[threshold.Failed] == 0 && counts[threshold.Undecided] == 0 && n == 1:
		return "The threshold holds."
	case counts[threshold.Failed] == 0 && counts[threshold.Undecided] == 0:
		return fmt.Sprintf("All %d thresholds hold.", n)
	}
	for _, result := range []string{threshold.Failed, threshold.Undecided} {
		switch counts[result] {
		case 0:
		case 1:
			said = append(said, map[string]string{threshold.Failed: "1 failed", threshold.Undecided: "1 is undecided"}[result])
		default:
			said = append(said, fmt.Sprintf(map[string]string{threshold.Failed: "%d failed", threshold.Undecided: "%d are undecided"}[result], counts[result]))
		}
	}
	if counts[threshold.Undecided] == 0 {
		return fmt.Sprintf("%d of %s failed.", counts[threshold.Failed], plural(n, "threshold", "thresholds"))
	}
	return fmt.Sprintf("Of %s %s.", plural(n, "threshold", "thresholds"), strings.Join(said, " and "))
}

// plural formats a number of things.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return units.Groups(fmt.Sprint(n)) + " " + many
}
