package render

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

const (
	// msScale divides nanoseconds: HdrHistogram's text formats are in
	// milliseconds by convention.
	msScale = 1e6

	// ticksPerHalf is the number of lines for each halving of the distance to 100 %; HdrHistogram's own tools use 5.
	ticksPerHalf = 5
)

// HGRM writes the latency histogram as HdrHistogram's percentile distribution,
// the input of its plotter. Values are in milliseconds.
func HGRM(w io.Writer, r report.Report) error {
	if r.Histograms == nil {
		return fmt.Errorf("write hgrm: %w", report.ErrNoHistograms)
	}
	return write(w, "hgrm", percentileDistribution(r.Histograms.Latency))
}

// percentileDistribution formats h exactly as HdrHistogram's Java tools do. The Go library's own printer has only six
// digits: it prints all quantiles from 0.9999995 on as 1.
func percentileDistribution(h *record.Histogram) []byte {
	var b bytes.Buffer
	dense := h.Dense()
	fmt.Fprintf(&b, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	for _, line := range dense.CumulativeDistributionWithTicks(ticksPerHalf) {
		quantile := line.Quantile / 100
		fmt.Fprintf(&b, "%12.3f %2.12f %10d", float64(line.ValueAt)/msScale, quantile, line.Count)
		if line.Quantile < 100 {
			fmt.Fprintf(&b, " %14.2f", 1/(1-quantile))
		}
		b.WriteByte('\n')
	}
	buckets, subBuckets := geometry(h.Precision())
	fmt.Fprintf(&b, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", dense.Mean()/msScale, dense.StdDev()/msScale)
	fmt.Fprintf(&b, "#[Max     = %12.3f, Total count    = %12d]\n", float64(h.Max())/msScale, h.Count())
	fmt.Fprintf(&b, "#[Buckets = %12d, SubBuckets     = %12d]\n", buckets, subBuckets)
	return b.Bytes()
}

// geometry derives the footer's numbers from the layout, as HdrHistogram does: linear sub-buckets for the digits, and a
// bucket for each doubling of their range up to the highest value.
func geometry(digits int) (buckets, subBuckets int) {
	units := 2
	for range digits {
		units *= 10
	}
	subBuckets = 1 << bits.Len(uint(units-1))
	unitBits := bits.Len(uint(record.LowestNS)) - 1
	buckets = 1
	for covered := int64(subBuckets) << unitBits; covered <= record.HighestNS; covered *= 2 {
		buckets++
	}
	return buckets, subBuckets
}
