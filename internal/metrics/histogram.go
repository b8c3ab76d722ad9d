package metrics

import (
	"maps"
	"math"
	"math/bits"

	"github.com/loadctl/loadctl/report/record"
)

// Schema is the resolution of all histograms: a bucket is 2^(2^−Schema) = 1.022 times as high as the one before.
const Schema = 5

// perOctave is the number of buckets between a value and its double.
const perOctave = 1 << Schema

// An Exponential is a native histogram, in seconds. Bucket i holds the values in (2^((i−1)/32), 2^(i/32)].
type Exponential struct {
	Buckets map[int]int64 // counts of the buckets in use
	Sum     float64       // of all values
}

// FromRecord returns the same distribution with wider buckets. Each value counts as the upper edge of its narrow
// bucket, because a quantile in a report is such an edge. So the wide bucket of a quantile contains the value in the
// report. The sum takes values in the middle of their narrow buckets, as the mean in the report does.
func FromRecord(h *record.Histogram) *Exponential {
	e := &Exponential{Buckets: map[int]int64{}}
	for lower, n := range h.Buckets() {
		upper := lower + width(lower) - 1
		e.Buckets[bucketOf(float64(upper)/1e9)] += n
		e.Sum += float64(n) * (float64(lower) + float64(width(lower)/2)) / 1e9
	}
	return e
}

// bucketOf returns the bucket that holds a value > 0.
func bucketOf(seconds float64) int { return int(math.Ceil(math.Log2(seconds) * perOctave)) }

// width returns the width in ns of the narrow bucket that begins at lower. The layout of record.Histogram distinguishes
// multiples of 512 ns up to 1 ms, and 1,024 steps in each octave above.
func width(lower int64) int64 {
	const unit, steps = 9, 11 // in bits
	return 1 << (unit + max(0, bits.Len64(uint64(lower))-unit-steps))
}

// Count returns the number of values.
func (e *Exponential) Count() (n int64) {
	for _, c := range e.Buckets {
		n += c
	}
	return n
}

// raise returns the histogram with no bucket lower than before. It changes neither.
func (e *Exponential) raise(before *Exponential) *Exponential {
	if before == nil {
		return e
	}
	high := &Exponential{Buckets: maps.Clone(e.Buckets), Sum: max(e.Sum, before.Sum)}
	for i, n := range before.Buckets {
		high.Buckets[i] = max(high.Buckets[i], n)
	}
	return high
}
