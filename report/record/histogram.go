package record

import (
	"iter"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The one layout. All merged histograms must share it, or bucket counts could not be added. To change any of these is a
// new version of the encodings.
const (
	LowestNS     = 1_000             // values from 1 µs on are distinguished
	HighestNS    = 3_600_000_000_000 // 1 h
	FullDigits   = 3                 // significant digits of snapshots
	SeriesDigits = 2                 // of series points; their buckets are unions of those of FullDigits
)

// A Histogram is a distribution of durations in nanoseconds: an HdrHistogram
// from 1 µs to 1 h with 3 significant digits (2 inside a series [Point]).
// It is sparse: its memory grows with the buckets in use, up to 300 kB.
//
// The zero value is an empty histogram ready to use. Not safe for concurrent
// use. Do not copy a Histogram that is not empty; use Merge.
type Histogram struct {
	Digits int                           // 0 means FullDigits
	packed *hdrhistogram.PackedHistogram // nil until something is recorded
}

// NewHistogram returns an empty histogram with 3 significant digits.
func NewHistogram() *Histogram { return &Histogram{} }

// inRange maps a duration into the layout. A negative one, which clock granularity can produce, becomes 0. It reports
// false above 1 h.
func inRange(ns int64) (int64, bool) {
	return max(ns, 0), ns <= HighestNS
}

// Precision returns the number of significant digits.
func (h *Histogram) Precision() int {
	if h.Digits == 0 {
		return FullDigits
	}
	return h.Digits
}

// Storage returns the packed histogram, made on first use.
func (h *Histogram) Storage() *hdrhistogram.PackedHistogram {
	if h.packed == nil {
		h.packed = hdrhistogram.NewPacked(LowestNS, HighestNS, h.Precision())
	}
	return h.packed
}

// Record adds one duration in nanoseconds; a negative one counts as 0. It
// reports false, and records nothing, above 1 h. A new bucket may allocate;
// hot paths use a [Recorder].
func (h *Histogram) Record(ns int64) bool {
	ns, ok := inRange(ns)
	if !ok {
		return false
	}
	return h.Storage().RecordValue(ns) == nil
}

// Merge adds the bucket counts of o, which stays unchanged.
func (h *Histogram) Merge(o *Histogram) {
	if o.Count() > 0 {
		// Nothing can be dropped: the layouts cover the same range, and totals
		// are bounded when they are decoded.
		h.Storage().Merge(o.packed)
	}
}

// Clone returns an independent copy.
func (h *Histogram) Clone() *Histogram {
	c := &Histogram{Digits: h.Digits}
	c.Merge(h)
	return c
}

// Dense returns the same distribution as a plain array of counts.
func (h *Histogram) Dense() *hdrhistogram.Histogram {
	d := hdrhistogram.New(LowestNS, HighestNS, h.Precision())
	h.Storage().MergeInto(d)
	return d
}

// Reset empties the histogram and keeps the memory.
func (h *Histogram) Reset() {
	if h.packed != nil {
		h.packed.Reset()
	}
}

// Count returns the number of recorded values; 0 for a nil histogram.
func (h *Histogram) Count() int64 {
	if h == nil || h.packed == nil {
		return 0
	}
	return h.packed.TotalCount()
}

// Quantile returns the value in ns that the share q of all values, 0 ≤ q ≤ 1,
// does not exceed: the upper edge of its bucket, so never more than Max.
// Quantile(0) is Min; an empty histogram answers 0.
func (h *Histogram) Quantile(q float64) int64 {
	if h.packed == nil {
		return 0
	}
	return h.packed.ValueAtPercentile(100 * q)
}

// Min returns the lower edge in ns of the lowest bucket in use, 0 when empty.
func (h *Histogram) Min() int64 {
	if h.Count() == 0 {
		return 0
	}
	return h.packed.Min()
}

// Max returns the upper edge in ns of the highest bucket in use, 0 when empty.
func (h *Histogram) Max() int64 {
	if h.Count() == 0 {
		return 0
	}
	return h.packed.Max()
}

// Mean returns the arithmetic mean in ns, taking each value at the middle of its bucket; 0 when empty.
func (h *Histogram) Mean() float64 {
	if h.packed == nil {
		return 0
	}
	return h.packed.Mean()
}

// Buckets yields the lower edge in ns and the count of each bucket in use, in ascending order; none for nil. The
// histogram must not change during the iteration.
func (h *Histogram) Buckets() iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) {
		if h != nil && h.packed != nil {
			h.packed.ForEachBucket(yield)
		}
	}
}
