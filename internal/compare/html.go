package compare

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page and its style
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/loadctl/loadctl/internal/printable"
	"github.com/loadctl/loadctl/internal/svg"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// maxPageText is how many characters of a text the page shows.
const maxPageText = 600

// A page is what the template of the HTML format sees: texts, as in the other formats.
type page struct {
	Style        template.CSS
	Policy       string
	Title        string
	Conditions   []pageCondition
	Warnings     []string
	Wide, Narrow template.HTML // the same picture
	Percentiles  table
	Errors       *table // nil = none
	Hidden       int    // classes of errors that are not shown
	Results      []pageResult
	Runs         table
}

// A pageCondition is what became of a --fail-on.
type pageCondition struct {
	Line  string
	Fails bool
}

// A pageResult is one other side compared with the base.
type pageResult struct {
	Name  string
	Table table
	Notes []string
}

// A table has a name for each column and, first in it, for each row.
type table struct {
	Caption string
	Head    []string
	Rows    []tableRow
	Left    bool // the last column is text
}

type tableRow struct {
	Cells []string
	Mark  bool // it differs
}

// HTML writes c as one page that needs nothing else: no script, nothing that is fetched.
func HTML(w io.Writer, c Comparison) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(pageStyle))
	p := page{
		Style:       template.CSS(pageStyle),
		Policy:      "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		Title:       c.title(),
		Warnings:    clipped(c.Warnings),
		Percentiles: c.percentileTable(),
		Runs:        c.runTable(),
	}
	for _, one := range c.Conditions {
		p.Conditions = append(p.Conditions, pageCondition{clip(one.line()), one.Fails()})
	}
	curves := c.curves()
	const title = "Latency that a share of the requests did not exceed"
	p.Wide, p.Narrow = template.HTML(svg.Percentiles(title, 960, curves)), template.HTML(svg.Percentiles(title, 380, curves))
	if all := classes(c.Sides); len(all) > 0 {
		p.Hidden = max(0, len(all)-maxClasses)
		p.Errors = c.errorTable(all[:len(all)-p.Hidden])
	}
	for i, r := range c.Results {
		p.Results = append(p.Results, pageResult{clip(r.Name), c.figureTable(i), clipped(r.Notes)})
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

func clip(s string) string { return printable.Clip(s, maxPageText) }

func clipped(all []string) []string {
	var short []string
	for _, s := range all {
		short = append(short, clip(s))
	}
	return short
}

// title names the sides.
func (c Comparison) title() string {
	var names []string
	for _, s := range c.Sides {
		names = append(names, clip(s.Name))
	}
	return "Comparison of " + clip(strings.Join(names, " and "))
}

// head are the names of the sides, after that of the rows.
func (c Comparison) head(rows string) []string {
	head := []string{rows}
	for _, s := range c.Sides {
		head = append(head, clip(s.Name))
	}
	return head
}

func (c Comparison) percentileTable() table {
	t := table{Caption: "Percentiles of latency, from when a request was due", Head: c.head("percentile")}
	for _, p := range percentiles() {
		row := tableRow{Cells: []string{p.name}}
		for _, s := range c.Sides {
			row.Cells = append(row.Cells, s.cell(p))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (c Comparison) errorTable(names []string) *table {
	t := table{Caption: "Failed requests by class, and their share of what ended", Head: c.head("class")}
	for _, class := range names {
		row := tableRow{Cells: []string{clip(class)}}
		for _, s := range c.Sides {
			row.Cells = append(row.Cells, s.Errors[class].text())
		}
		t.Rows = append(t.Rows, row)
	}
	return &t
}

func (c Comparison) figureTable(i int) table {
	t := table{
		Caption: "Differences, with intervals that hold together with 95 %",
		Head:    []string{"figure", clip(c.Sides[0].Name), clip(c.Sides[i+1].Name), "difference", "interval"},
		Left:    true,
	}
	for _, row := range c.Results[i].Rows {
		cells := row.cells()
		t.Rows = append(t.Rows, tableRow{append([]string{row.Name}, cells[:]...), row.Difference.Differs()})
	}
	return t
}

func (c Comparison) runTable() table {
	t := table{Caption: "What was compared", Head: []string{"side", "run", "started"}, Left: true}
	const most = 100
	for _, s := range c.Sides {
		for i, r := range s.Runs {
			if i == most {
				t.Rows = append(t.Rows, tableRow{Cells: []string{clip(s.Name), fmt.Sprintf("and %d more", len(s.Runs)-most), ""}})
				break
			}
			started := "not started"
			if !r.StartedAt.IsZero() {
				started = r.StartedAt.Format("2006-01-02 15:04:05 MST")
			}
			t.Rows = append(t.Rows, tableRow{Cells: []string{clip(s.Name), clip(r.Name), started}})
		}
	}
	return t
}
