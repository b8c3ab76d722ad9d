package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loadctl/loadctl/report/record"
)

// TestBucketHoldsReportedValue: of each value, the bucket has the upper edge that a report shows, and is 2.2 % wide.
func TestBucketHoldsReportedValue(t *testing.T) {
	values := []int64{0, 1, 511, 512, 1000, 1 << 20, 1<<20 - 1, record.HighestNS}
	for range 10_000 {
		values = append(values, int64(math.Exp(rand.Float64()*math.Log(record.HighestNS))))
	}
	for i, ns := range values {
		h := record.NewHistogram()
		if i%2 == 1 { // of first bytes and connections
			h = record.NewCompact().Histogram()
		}
		h.Record(ns)
		e := FromRecord(h)
		if len(e.Buckets) != 1 || e.Count() != 1 {
			t.Fatalf("%d ns is in the buckets %v", ns, e.Buckets)
		}
		for i := range e.Buckets {
			reported, upper := float64(h.Quantile(1))/1e9, math.Exp2(float64(i)/32)
			if lower := upper / math.Exp2(1.0/32); reported > upper*(1+1e-12) || reported <= lower*(1-1e-12) {
				t.Errorf("%d ns: the report says %g s, outside of the bucket (%g, %g]", ns, reported, lower, upper)
			}
		}
	}
}

// TestHistogramIsThatOfTheReport: count, mean and all quantiles.
func TestHistogramIsThatOfTheReport(t *testing.T) {
	h := record.NewHistogram()
	for range 20_000 {
		h.Record(int64(5e6 * math.Exp(rand.NormFloat64())))
	}
	e := FromRecord(h)
	if e.Count() != h.Count() {
		t.Errorf("count %d, want %d", e.Count(), h.Count())
	}
	if mean := e.Sum / float64(e.Count()); math.Abs(mean/(h.Mean()/1e9)-1) > 1e-6 {
		t.Errorf("mean %g s, want %g ns", mean, h.Mean())
	}
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		near(t, h, q, quantile(e, q))
	}
}

// TestClassicBuckets: each has the values up to its edge, as the report shows them, and those of all buckets below.
func TestClassicBuckets(t *testing.T) {
	h := record.NewHistogram()
	for _, ns := range []int64{0, 50_000, 99_000, 101_000, 999_000, 1_010_000, 2_000_000_000, 59_000_000_000, 61_000_000_000} {
		h.Record(ns)
	}
	at := FromRecord(h).AtMost
	for i, bound := range Bounds() {
		var want int64
		for lower, n := range h.Buckets() {
			if float64(lower+width(lower, h.Precision())-1)/1e9 <= bound {
				want += n
			}
		}
		if at[i] != want || i > 0 && at[i] < at[i-1] {
			t.Errorf("%d values up to %g s, want %d", at[i], bound, want)
		}
	}
	if first, last := at[0], at[len(at)-1]; first != 3 || last != 8 {
		t.Errorf("%d values in the first bucket and %d in all; want 3 and 8", first, last)
	}
}

// classic checks a quantile in seconds that Prometheus computes from classic buckets: it lies in the bucket of the value
// in the report. The rank may differ by one, as in near.
func classic(t *testing.T, h *record.Histogram, q, got float64) {
	t.Helper()
	one := 1 / float64(h.Count())
	edges := append([]float64{0}, Bounds()...)
	below, _ := slices.BinarySearch(edges, float64(h.Quantile(max(0, q-one)))/1e9)
	above, _ := slices.BinarySearch(edges, float64(h.Quantile(min(1, q+one)))/1e9)
	if low, high := edges[max(0, below-1)], edges[min(above, len(edges)-1)]; !(got >= low && got <= high) {
		t.Errorf("p%g of classic buckets is %g s, want %g s to %g s: the report has %g s", 100*q, got, low, high, float64(h.Quantile(q))/1e9)
	}
}

// near checks a quantile in seconds against the histogram of a report: within the width of a bucket, 2.2 %. The report
// rounds a rank to the nearest value, Prometheus takes the next one, so the value beside it is right too.
func near(t *testing.T, h *record.Histogram, q, got float64) {
	t.Helper()
	const bucket = 1.022
	one := 1 / float64(h.Count())
	low, high := float64(h.Quantile(max(0, q-one)))/1e9/bucket, float64(h.Quantile(min(1, q+one)))/1e9*bucket
	if !(got >= low && got <= high) {
		t.Errorf("p%g is %g s, want %g s ± 2.2 %%", 100*q, got, float64(h.Quantile(q))/1e9)
	}
}

// quantile is histogram_quantile of Prometheus: linear within the bucket.
func quantile(e *Exponential, q float64) float64 {
	rank := q * float64(e.Count())
	low, high := math.MaxInt, math.MinInt
	for i := range e.Buckets {
		low, high = min(low, i), max(high, i)
	}
	for i := low; i <= high; i++ {
		if n := float64(e.Buckets[i]); rank <= n {
			upper := math.Exp2(float64(i) / 32)
			lower := upper / math.Exp2(1.0/32)
			return lower + (upper-lower)*rank/n
		}
		rank -= float64(e.Buckets[i])
	}
	return math.NaN()
}
