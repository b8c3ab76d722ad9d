package render

import (
	"strings"

	"github.com/loadctl/loadctl/internal/output/table"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// timesRows returns the distributions worth reading, if any request ended. Dropped requests would have had a latency and
// a lag, so these are cut off; the service time of sent requests is complete, and so are the first bytes of answers. In a closed loop latency equals the
// service time, and there is no lag.
func timesRows(r report.Report) (rows []table.Row) {
	if !r.HasTimes() {
		return nil
	}
	add := func(name string, d record.Distribution, above float64) {
		member := strings.ReplaceAll(name, " ", "_") + "_ns."
		cells := []table.Cell{duration(member+"min", d.Min), duration(member+"mean", d.Mean)}
		rows = append(rows, table.Row{Name: name, Cells: append(cells, quantiles(member, d, above)...)})
	}
	add("latency", r.Latency, lowerBoundsAbove(r))
	if !r.ClosedLoop {
		add("service time", r.ServiceTime, 1)
	}
	if r.FirstBytes > 0 {
		add("first byte", r.FirstByte, 1)
	}
	if !r.ClosedLoop {
		add("lag", r.Lag, lowerBoundsAbove(r))
	}
	return rows
}

// timesColumns returns the head of the rows' cells.
func timesColumns() []string {
	return []string{"#min", "#mean", "#p50", "#p90", "#p95", "#p99", "#p99.9", "#p99.99", "#max"}
}

// lowerBoundsAbove returns the quantile above which those of the latency are lower bounds; 1 = none is.
func lowerBoundsAbove(r report.Report) float64 {
	if r.LowerBoundsAbove == nil {
		return 1
	}
	return *r.LowerBoundsAbove
}
