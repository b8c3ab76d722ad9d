package render

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/loadctl/loadctl/internal/output/table"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// count formats a number of requests, which is at a path of the JSON report.
func count(path string, n int64) table.Cell {
	value := strconv.FormatInt(n, 10)
	return table.Cell{Path: path, Value: value, Text: value, Page: units.Groups(value), Class: "n"}
}

// duration formats a number of nanoseconds.
func duration(path string, ns int64) table.Cell {
	text := units.Duration(ns)
	return table.Cell{Path: path, Value: strconv.FormatInt(ns, 10), Text: text, Page: spaced(text)}
}

// quantiles formats those of a distribution, and its maximum. Above a quantile they are lower bounds.
func quantiles(path string, d record.Distribution, above float64) (cells []table.Cell) {
	for i, q := range d.Quantiles() {
		cell := duration(path+[]string{"p50", "p90", "p95", "p99", "p999", "p9999", "max"}[i], q.NS)
		cell.Bound = q.Q > above
		cells = append(cells, cell)
	}
	return cells
}

// rate formats a number of requests per second.
func rate(path string, v float64) table.Cell {
	return table.Cell{Path: path, Value: jsonNumber(v), Page: units.Groups(units.Rate(v)) + "/s"}
}

// share formats a fraction of 1.
func share(path string, v float64) table.Cell {
	text := units.Percent(v)
	return table.Cell{Path: path, Value: jsonNumber(v), Text: text + " %", Page: text + "\u00a0%"}
}

// part formats the share of n in all, with a bar.
func part(n, of int64) table.Cell {
	ratio := units.Ratio(float64(n), float64(of))
	cell := share("", ratio)
	cell.Class, cell.Bar = "n", strconv.FormatFloat(100*min(ratio, 1), 'f', 2, 64)
	return cell
}

// byCount returns the names of some counts, the most frequent first.
func byCount(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(x, y string) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y))
	})
}

// jsonNumber formats a number as in JSON.
func jsonNumber(v float64) string {
	text, err := json.Marshal(v)
	if err != nil { // not a number; no report has that
		return ""
	}
	return string(text)
}

// spaced puts a no-break space between a number and its unit.
func spaced(s string) string {
	if i := strings.IndexFunc(s, unicode.IsLetter); i > 0 {
		return s[:i] + "\u00a0" + s[i:]
	}
	return s
}
