package metrics

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/loadctl/loadctl/report/record"
)

// Schema is the resolution of all histograms: a bucket is 2^(2^−Schema) = 1.022 times as high as the one before.
const Schema = 5

// perOctave is the number of buckets between a value and its double.
const perOctave = 1 << Schema

// Bounds returns the upper edges of the classic buckets, in seconds. There are few, for a Prometheus that does not take
// native histograms: each bucket is 2 to 2.5 times as high as the one before.
func Bounds() []float64 {
	return []float64{1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60}
}

// An Exponential is a native histogram, in seconds. Bucket i holds the values in (2^((i−1)/32), 2^(i/32)].
type Exponential struct {
	Buckets map[int]int64 // counts of the buckets in use
	Sum     float64       // of all values
	AtMost  []int64       // how many values are at most each of Bounds; nil = it is unknown

	Exemplars []Exemplar // of the classic buckets, as exemplars returns them; nil = there are none
}

// FromRecord returns the same distribution with wider buckets. Each value counts as the upper edge of its narrow
// bucket, because a quantile in a report is such an edge. So the wide bucket of a quantile contains the value in the
// report. The sum takes values in the middle of their narrow buckets, as the mean in the report does.
func FromRecord(h *record.Histogram) *Exponential {
	bounds := Bounds()
	e := &Exponential{Buckets: map[int]int64{}, AtMost: make([]int64, len(bounds))}
	for lower, n := range h.Buckets() {
		width := width(lower, h.Precision())
		upper := float64(lower+width-1) / 1e9
		e.Buckets[bucketOf(upper)] += n
		e.Sum += float64(n) * (float64(lower) + float64(width/2)) / 1e9
		if i, _ := slices.BinarySearch(bounds, upper); i < len(bounds) {
			e.AtMost[i] += n
		}
	}
	for i := range len(bounds) - 1 {
		e.AtMost[i+1] += e.AtMost[i]
	}
	return e
}

// bucketOf returns the bucket that holds a value > 0.
func bucketOf(seconds float64) int { return int(math.Ceil(math.Log2(seconds) * perOctave)) }

// width returns the width in ns of the narrow bucket that begins at lower. The layout of record.Histogram distinguishes
// multiples of 512 ns up to 1 ms, and 1,024 steps in each octave above; with 2 digits up to 131 µs, and 128 steps.
func width(lower int64, digits int) int64 {
	const unit = 9 // in bits
	steps := 11
	if digits == record.SeriesDigits {
		steps = 8
	}
	return 1 << (unit + max(0, bits.Len64(uint64(lower))-unit-steps))
}

// Count returns the number of values.
func (e *Exponential) Count() (n int64) {
	for _, c := range e.Buckets {
		n += c
	}
	return n
}

// raise returns the histogram with no bucket lower than before, and no older exemplar. It changes neither.
func (e *Exponential) raise(before *Exponential) *Exponential {
	if before == nil {
		return e
	}
	high := &Exponential{Buckets: maps.Clone(e.Buckets), Sum: max(e.Sum, before.Sum), AtMost: slices.Clone(e.AtMost)}
	for i, n := range before.Buckets {
		high.Buckets[i] = max(high.Buckets[i], n)
	}
	for i, n := range before.AtMost {
		high.AtMost[i] = max(high.AtMost[i], n)
	}
	high.Exemplars = laterOf(before.Exemplars, e.Exemplars)
	return high
}
