package render

import (
	"bytes"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// A timesRow is a distribution with its name.
type timesRow struct {
	name string
	record.Distribution
	bound *float64 // quantiles above it are lower bounds; nil = none is
}

// timesRows returns the distributions worth reading. Dropped requests would have had a latency and a lag, so these are
// cut off; the service time of sent requests is complete. In a closed loop latency equals the service time, and there
// is no lag.
func timesRows(r report.Report) []timesRow {
	rows := []timesRow{{"latency", r.Latency, r.LowerBoundsAbove}}
	if !r.ClosedLoop {
		rows = append(rows, timesRow{"service time", r.ServiceTime, nil}, timesRow{"lag", r.Lag, r.LowerBoundsAbove})
	}
	return rows
}

// timesColumns returns the names of what cells returns.
func timesColumns() []string {
	return []string{"min", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"}
}

// cells returns min, mean and the quantiles, with ≥ if they are lower bounds.
func (row timesRow) cells() []string {
	cells := []string{units.Duration(row.Min), units.Duration(row.Mean)}
	for _, p := range row.Quantiles() {
		text := units.Duration(p.NS)
		if row.bound != nil && p.Q > *row.bound {
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
