package compare

import (
	"fmt"
	"math"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// A figure is a row of a comparison. Except for shares, logarithms are compared: a difference of logarithms is a ratio.
type figure struct {
	name     string
	unit     Unit
	whole    func(report.Report) float64 // of the whole run
	part     func(sample) float64        // of a sample of its seconds; it only shows the variation
	quantile float64                     // of latency; 0 = not a quantile
}

// figures are the rows.
func figures() []figure {
	all := []figure{
		{name: "rate", unit: PerSecond, whole: func(r report.Report) float64 { return r.Rate }, part: func(s sample) float64 { return s.sent / s.length }},
		{name: "throughput", unit: PerSecond, whole: func(r report.Report) float64 { return r.Throughput }, part: func(s sample) float64 { return s.ok / s.length }},
		{name: "errors:rate", unit: Share, whole: errorShare, part: func(s sample) float64 { return s.failed / max(1, s.ok+s.failed) }},
		{name: "latency:avg", whole: func(r report.Report) float64 { return float64(r.Latency.Mean) }, part: sample.mean},
	}
	for _, q := range []struct {
		percent  string
		quantile float64
		whole    func(record.Distribution) int64
	}{
		{"50", 0.5, func(d record.Distribution) int64 { return d.P50 }},
		{"90", 0.9, func(d record.Distribution) int64 { return d.P90 }},
		{"99", 0.99, func(d record.Distribution) int64 { return d.P99 }},
		{"99.9", 0.999, func(d record.Distribution) int64 { return d.P999 }},
	} {
		all = append(all, figure{
			name:     fmt.Sprintf("latency:p(%s)", q.percent),
			whole:    func(r report.Report) float64 { return float64(q.whole(r.Latency)) },
			part:     func(s sample) float64 { return s.quantile(q.quantile) },
			quantile: q.quantile,
		})
	}
	return all
}

// errorShare returns the share of ended requests that failed.
func errorShare(r report.Report) float64 {
	return float64(r.Audit.Failed) / max(1, float64(r.Audit.Completed+r.Audit.Failed))
}

// scale maps a value to the scale of comparison, and value maps it back.
func (f figure) scale(v float64) float64 {
	if f.unit == Share {
		return v
	}
	return math.Log(v)
}

func (f figure) value(scaled float64) float64 {
	if f.unit == Share {
		return scaled
	}
	return math.Exp(scaled)
}

// enough is how many requests must lie above a quantile before samples can show its error.
const enough = 10

// why says why there is no interval; "" if there is one.
func (f figure) why(r report.Report, blocks float64) string {
	ended := float64(r.Audit.Completed + r.Audit.Failed)
	latency := f.unit == Nanoseconds
	switch {
	case ended == 0:
		return "nothing ended"
	case latency && r.Histograms == nil:
		return "JSON has no histograms: give an archive"
	case f.bounded(r):
		return "a lower bound: requests were dropped late"
	case f.quantile > 0 && ended*(1-f.quantile) < enough:
		return "too few requests"
	case blocks < leastBlocks:
		return "too short"
	case f.unit != Share && !(f.whole(r) > 0):
		return "it is 0"
	}
	return ""
}

// bounded tells whether the figure is a lower bound: dropped requests would have been slower than all others. They
// affect a mean too.
func (f figure) bounded(r report.Report) bool {
	return f.unit == Nanoseconds && r.LowerBoundsAbove != nil && (f.quantile == 0 || f.quantile > *r.LowerBoundsAbove)
}

// resolution returns an error that samples do not show. Buckets of the series are 1/128 of their value wide, and at
// least 512 ns. A rate is known to one request and some ms; of shares a single request counts.
func (f figure) resolution(r report.Report) float64 {
	switch f.unit {
	case PerSecond:
		return 0.001
	case Share:
		return 1 / max(1, float64(r.Audit.Completed+r.Audit.Failed))
	default:
		return max(1.0/128, 512/max(1, f.whole(r))) / math.Sqrt(12) // a value is anywhere in its bucket
	}
}
