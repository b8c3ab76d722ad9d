package report

import (
	"bytes"

	"github.com/loadctl/loadctl/internal/printable"
)

// A timesRow is a distribution with its name.
type timesRow struct {
	name string
	Distribution
	bound *float64 // quantiles above it are lower bounds; nil = none is
}

// times returns the distributions worth reading. Dropped requests would have had a latency and a lag, so these are cut
// off; the service time of sent requests is complete. In a closed loop latency equals the service time, and there is no
// lag.
func (r Report) times() []timesRow {
	rows := []timesRow{{"latency", r.Latency, r.LowerBoundsAbove}}
	if !r.ClosedLoop {
		rows = append(rows, timesRow{"service time", r.ServiceTime, nil}, timesRow{"lag", r.Lag, r.LowerBoundsAbove})
	}
	return rows
}

// A quantile is a named quantile of a distribution.
type quantile struct {
	q  float64
	ns int64
}

// quantiles returns the quantiles of a distribution, and its maximum.
func (d Distribution) quantiles() []quantile {
	return []quantile{{0.5, d.P50}, {0.9, d.P90}, {0.95, d.P95}, {0.99, d.P99}, {0.999, d.P999}, {0.9999, d.P9999}, {1, d.Max}}
}

// timesColumns returns the names of what cells returns.
func timesColumns() []string {
	return []string{"min", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"}
}

// cells returns min, mean and the quantiles, with ≥ if they are lower bounds.
func (row timesRow) cells() []string {
	cells := []string{duration(row.Min), duration(row.Mean)}
	for _, p := range row.quantiles() {
		text := duration(p.ns)
		if row.bound != nil && p.q > *row.bound {
			text = "≥" + text
		}
		cells = append(cells, text)
	}
	return cells
}

// writeRow writes a line of a table: its name in one format, each cell in the other.
func writeRow(b *bytes.Buffer, nameFormat, cellFormat, name string, cells []string) {
	printable.Fprintf(b, nameFormat, name)
	for _, cell := range cells {
		printable.Fprintf(b, cellFormat, cell)
	}
	b.WriteByte('\n')
}
