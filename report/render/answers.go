package render

import (
	"github.com/loadctl/loadctl/internal/output/table"
	"github.com/loadctl/loadctl/report"
)

// answers are counts of requests by what became of them, the most frequent first. The page calls the rows class and the
// table title; the share of each is only there.
type answers struct {
	title, class, name string
	rows               []table.Row
	hidden             int // rows that are left out
}

// answersOf returns the classes of errors and the statuses, as far as there are any.
func answersOf(r report.Report) (all []answers) {
	const shown = 20
	for _, c := range []struct {
		answers
		path   string
		counts map[string]int64
	}{
		{answers{title: "Failed requests", class: "class", name: "error"}, "errors.", r.Errors},
		{answers{title: "Answers", class: "status", name: "status"}, "status_codes.", r.StatusCodes},
	} {
		names := byCount(c.counts)
		for _, name := range names[:min(len(names), shown)] {
			n := c.counts[name]
			c.rows = append(c.rows, table.Row{Name: name, Cells: []table.Cell{count(htmlText(c.path+name), n), part(n, r.Audit.Completed+r.Audit.Failed)}})
		}
		if c.hidden = max(0, len(names)-shown); len(names) > 0 {
			all = append(all, c.answers)
		}
	}
	return all
}
