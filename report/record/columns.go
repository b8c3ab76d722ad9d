package record

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unique"
)

// The merged series of a run is stored as pages of counters; each worker's points are added to them. Point 7 of width 2
// has these:
//
//	:2:7            sent, completed, failed
//	:2:7:12         number of latencies in the buckets 12·128 … 12·128+127
//	:2:7:e:timeout  number of requests that failed in this way
//	:2:7:s          answers that had goals and that met them; answers in pieces, their events, tokens in and out, usages
//	:2:7:g:12       number of gaps between events in these buckets. Likewise f, v, t and k: see pointTimes
//
// A counter takes five bytes, the least significant first. A page ends with the last counter that is not 0.
const (
	pageCounters = 128
	counterBytes = 5
	entryBytes   = 1 + counterBytes
	buckets      = 4224 // of the layout with 2 digits: 1 µs to 1 h
)

// An Increment is added to one page: for each counter, in order, its number in one byte and the summand in five.
type Increment struct {
	Page string
	Add  []byte
}

// page returns the name of a page of the point.
func (p *Point) page(rest string) string {
	return fmt.Sprintf(":%d:%d%s", p.Width, p.Index, rest)
}

// entry appends one entry of an Increment.
func entry(add []byte, counter int, n int64) []byte {
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], uint64(n))
	return append(append(add, byte(counter)), number[:counterBytes]...)
}

// Increments returns what to add to the pages of a merged series to include p.
func (p *Point) Increments() []Increment {
	var counts []byte
	for i, n := range []int64{p.Sent, p.Completed, p.Failed} {
		if n > 0 {
			counts = entry(counts, i, n)
		}
	}
	all := []Increment{{p.page(""), counts}}
	for _, class := range slices.Sorted(maps.Keys(p.Errors)) {
		all = append(all, Increment{p.page(":e:" + url.QueryEscape(class)), entry(nil, 0, p.Errors[class])})
	}
	return append(append(all, p.bucketIncrements(":", p.Latency)...), p.streamIncrements()...)
}

// bucketIncrements returns what to add for a histogram, which may be nil. rest begins the names of its pages, after the point's.
func (p *Point) bucketIncrements(rest string, h *Histogram) (all []Increment) {
	last := -1
	for value, n := range h.Buckets() {
		at := h.index(value)
		if page := at / pageCounters; page != last {
			all, last = append(all, Increment{Page: p.page(rest + strconv.Itoa(page))}), page
		}
		to := &all[len(all)-1].Add
		*to = entry(*to, at%pageCounters, n)
	}
	return all
}

// Columns reads the pages of a merged series. The zero value is ready to use.
type Columns struct {
	points map[[2]int64]*Point
}

// Read adds a page. It may come from an untrusted source.
func (c *Columns) Read(name string, page []byte) error {
	parts := strings.SplitN(name, ":", 4)
	if len(parts) < 3 || parts[0] != "" {
		return fmt.Errorf("page %.100q: no point", name)
	}
	width, err1 := strconv.ParseInt(parts[1], 10, 64)
	index, err2 := strconv.ParseInt(parts[2], 10, 64)
	if cmp.Or(err1, err2) != nil || width < 1 || width > MaxWidth || width&(width-1) != 0 || index < 0 || index >= MaxPoints {
		return fmt.Errorf("page %.100q: no point", name)
	}
	if len(page)%counterBytes != 0 || len(page) > pageCounters*counterBytes {
		return fmt.Errorf("page %.100q has %d bytes", name, len(page))
	}
	if c.points == nil {
		c.points = map[[2]int64]*Point{}
	}
	p := c.points[[2]int64{width, index}]
	if p == nil {
		p = NewPoint(index, width)
		c.points[[2]int64{width, index}] = p
	}
	if err := p.read(parts[3:], page); err != nil {
		return fmt.Errorf("page %.100q: %w", name, err)
	}
	return nil
}

// read adds a page to the point; rest is the name of the page after the point's.
func (p *Point) read(rest []string, page []byte) error {
	if len(rest) == 0 {
		for i, n := range counters(page) {
			switch i {
			case 0:
				p.Sent += n
			case 1:
				p.Completed += n
			case 2:
				p.Failed += n
			default:
				return fmt.Errorf("a counter %d", i)
			}
		}
		return nil
	}
	if escaped, ok := strings.CutPrefix(rest[0], "e:"); ok {
		class, err := url.QueryUnescape(escaped)
		if err != nil || len(class) > maxClassBytes || len(page) > counterBytes {
			return fmt.Errorf("error class %.100q", escaped)
		}
		for _, n := range counters(page) {
			p.fail(unique.Make(class).Value(), n)
		}
		return nil
	}
	letter, of, _ := strings.Cut(rest[0], ":")
	if known, err := p.readStreamPage(letter, of, page); known || err != nil {
		return err
	}
	return readBuckets(p.Latency, rest[0], page)
}

// counters yields the numbers and the values of the counters of a page that are not 0.
func counters(page []byte) iter.Seq2[int, int64] {
	return func(yield func(int, int64) bool) {
		for i := range len(page) / counterBytes {
			var number [8]byte
			copy(number[:], page[i*counterBytes:(i+1)*counterBytes])
			if n := int64(binary.LittleEndian.Uint64(number[:])); n > 0 && !yield(i, n) {
				return
			}
		}
	}
}

// readBuckets adds the page with this number to a histogram.
func readBuckets(h *Histogram, name string, page []byte) error {
	number, err := strconv.Atoi(name)
	if err != nil || number < 0 || number > buckets/pageCounters {
		return fmt.Errorf("no page %.100q", name)
	}
	for i, n := range counters(page) {
		if !h.record(number*pageCounters+i, n) {
			return fmt.Errorf("no bucket %d", number*pageCounters+i)
		}
	}
	return nil
}

// Points returns the points read so far, of any width, as MergeSeries takes them.
func (c *Columns) Points() []Point {
	all := make([]Point, 0, len(c.points))
	for _, p := range c.points {
		if p.Streams != nil && p.Streams.IsZero() { // there were goals only
			p.Streams = nil
		}
		all = append(all, *p)
	}
	return all
}

// value returns the lower edge of bucket i, in ns: the inverse of index.
func (h *Histogram) value(i int) int64 {
	logarithm := h.logarithm()
	b := max(0, i>>(logarithm-1)-1)
	return int64(i-b<<(logarithm-1)) << (b + bits.Len64(LowestNS) - 1)
}

// record adds n values to bucket i. It reports false if there is no such bucket.
func (h *Histogram) record(i int, n int64) bool {
	value := h.value(i)
	return value <= HighestNS && h.Storage().RecordValues(value, n) == nil
}

// Pages returns the names of all pages that a merged series may have for the seconds [from, to), while the run has
// points of this width. That includes narrower points, which were complete before the width doubled. It leaves out
// errors by class, and times and counts of other metrics than these, as thresholds name them.
func Pages(from, to, width int64, metrics ...string) (names []string) {
	latency := slices.Contains(metrics, "latency")
	for w := int64(1); w <= width; w *= 2 {
		for i := from / w; i < min((to+w-1)/w, MaxPoints); i++ {
			p := Point{Index: i, Width: w}
			names = append(names, p.page(""))
			for page := 0; latency && page <= buckets/pageCounters; page++ {
				names = append(names, p.page(":"+strconv.Itoa(page)))
			}
			names = append(names, p.streamPages(metrics)...)
		}
	}
	return names
}
