package render

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/loadctl/loadctl/report"
)

// CSV writes the series with a header line: for each point its start in seconds, the counts, and latency in nanoseconds
// (see [report.SeriesReport]). Columns of answers in pieces and of goals follow if the run has any.
func CSV(w io.Writer, r report.Report) error {
	columns := csvColumns(r)
	rows := [][]string{{}}
	for _, column := range columns {
		rows[0] = append(rows[0], column.name)
	}
	for _, s := range r.Series {
		var row []string
		for _, column := range columns {
			row = append(row, strconv.FormatInt(column.of(s), 10))
		}
		rows = append(rows, row)
	}
	c := csv.NewWriter(w)
	if err := c.WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// A csvColumn is a number of each point.
type csvColumn struct {
	name string
	of   func(report.SeriesReport) int64
}

// csvColumns returns the columns of a report.
func csvColumns(r report.Report) []csvColumn {
	type point = report.SeriesReport
	all := []csvColumn{
		{"t", func(p point) int64 { return p.T }}, {"asked", func(p point) int64 { return p.Asked }}, {"sent", func(p point) int64 { return p.Sent }},
		{"ok", func(p point) int64 { return p.OK }}, {"failed", func(p point) int64 { return p.Failed }},
		{"p50_ns", func(p point) int64 { return p.P50NS }}, {"p99_ns", func(p point) int64 { return p.P99NS }},
		{"p90_ns", func(p point) int64 { return p.P90NS }}, {"p999_ns", func(p point) int64 { return p.P999NS }},
	}
	if r.Streams.Any() {
		all = append(all, csvColumn{"answers", func(p point) int64 { return p.Streams.Answers }}, csvColumn{"events", func(p point) int64 { return p.Streams.Events }})
		for _, t := range []struct {
			name string
			of   func(point) report.SeriesTimes
		}{
			{"first_event", func(p point) report.SeriesTimes { return p.Streams.FirstEvent }},
			{"event_gap", func(p point) report.SeriesTimes { return p.Streams.EventGap }},
			{"stream", func(p point) report.SeriesTimes { return p.Streams.Stream }},
		} {
			all = append(all, csvColumn{t.name + "_p50_ns", func(p point) int64 { return t.of(p).P50 }}, csvColumn{t.name + "_p99_ns", func(p point) int64 { return t.of(p).P99 }})
		}
	}
	if r.Streams.Tokens.Any() {
		all = append(all, csvColumn{"tokens_out", func(p point) int64 { return p.Streams.TokensOut }})
	}
	if r.Goodput.Any() {
		all = append(all, csvColumn{"judged", func(p point) int64 { return p.Goodput.Judged }}, csvColumn{"good", func(p point) int64 { return p.Goodput.Good }})
	}
	return all
}
