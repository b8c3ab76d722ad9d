package render

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/internal/output/table"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// shownQueries returns the queries that are shown, and how many are not: an archive may have any number.
func shownQueries(r report.Report) (shown []report.QueryReport, hidden int) {
	shown = r.Queries[:min(len(r.Queries), record.MaxQueries)]
	return shown, len(r.Queries) - len(shown)
}

// queryColumns returns the head of the cells of queryRows.
func queryColumns() []string { return []string{"#min", "#mean", "#max", "#answers", "#no answer"} }

// queryRows returns what each query answered.
func queryRows(r report.Report) (rows []table.Row, hidden int) {
	shown, hidden := shownQueries(r)
	for i, q := range shown {
		path := fmt.Sprintf("queries.%d.", i)
		cells := []table.Cell{{Text: "–", Class: "n"}, {Text: "–", Class: "n"}, {Text: "–", Class: "n"}}
		if q.N > 0 {
			cells = []table.Cell{number(path+"min", q.Min), number(path+"avg", q.Avg), number(path+"max", q.Max)}
		}
		missed := count(path+"missed", q.Missed)
		if q.Missed == 0 { // JSON leaves it out
			missed.Path = ""
		}
		rows = append(rows, table.Row{Name: q.Name, Cells: append(cells, count(path+"n", q.N), missed)})
	}
	return rows, hidden
}

// number formats a number of any size and sign.
func number(path string, v float64) table.Cell {
	text := units.Value(v)
	return table.Cell{Path: path, Value: jsonNumber(v), Text: text, Page: units.Groups(text), Class: "n"}
}

// textQueries writes a line for each query.
func textQueries(b *bytes.Buffer, r report.Report) {
	shown, hidden := shownQueries(r)
	for i, q := range shown {
		printable.Fprintf(b, "%-12s%s: ", labelled(i, "queries"), q.Name)
		switch {
		case q.N == 0 && q.Missed == 0:
			b.WriteString("was not asked\n")
			continue
		case q.N == 0:
			printable.Fprintf(b, "no answer, asked %s\n", plural(q.Missed, "time", "times"))
			continue
		}
		printable.Fprintf(b, "min %s, mean %s, max %s of %s", units.Value(q.Min), units.Value(q.Avg), units.Value(q.Max), plural(q.N, "answer", "answers"))
		if q.Missed > 0 {
			printable.Fprintf(b, "; %s without one", plural(q.Missed, "time", "times"))
		}
		b.WriteByte('\n')
	}
	if hidden > 0 {
		printable.Fprintf(b, "            and %d more\n", hidden)
	}
}

// queries writes what each query answered.
func (m *metrics) queries(r report.Report) {
	shown, _ := shownQueries(r)
	if !slices.ContainsFunc(shown, func(q report.QueryReport) bool { return q.N > 0 }) {
		return
	}
	m.family("loadctl_query", "gauge", "", "What a query about the endpoint answered during the run.")
	written := map[string]bool{}
	for _, q := range shown {
		if name := label(q.Name); q.N > 0 && !written[name] {
			written[name] = true
			m.sample("loadctl_query", q.Min, "query", q.Name, "value", "min")
			m.sample("loadctl_query", q.Avg, "query", q.Name, "value", "mean")
			m.sample("loadctl_query", q.Max, "query", q.Name, "value", "max")
		}
	}
}

// queryChart begins the names of the charts of queries; their number follows.
const queryChart = "query-"

// queryCharts returns a chart for each query.
func queryCharts(r report.Report) (all []htmlChart) {
	shown, _ := shownQueries(r)
	for i, q := range shown {
		all = append(all, htmlChart{Name: queryChart + strconv.Itoa(i), Title: "Query " + printable.Clip(q.Name, 60) + " over time", Hint: htmlText(q.PromQL)})
	}
	return all
}

// queryNotDrawn says why the chart of a query would be empty; "" if it is not.
func queryNotDrawn(r report.Report, chart string) string {
	i, _ := strconv.Atoi(chart[len(queryChart):])
	if q := r.Queries[i]; q.N == 0 {
		return "The query gave no answer."
	}
	return ""
}
