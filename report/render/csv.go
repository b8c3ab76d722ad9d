package render

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/loadctl/loadctl/report"
)

// CSV writes the series with a header line: for each point its start in seconds, the counts, and latency in nanoseconds
// (see [report.SeriesReport]).
func CSV(w io.Writer, r report.Report) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"t", "asked", "sent", "ok", "failed", "p50_ns", "p99_ns", "p90_ns", "p999_ns"}}
	for _, s := range r.Series {
		var row []string
		for _, n := range []int64{s.T, s.Asked, s.Sent, s.OK, s.Failed, s.P50NS, s.P99NS, s.P90NS, s.P999NS} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		rows = append(rows, row)
	}
	if err := c.WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}
