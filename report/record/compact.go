package record

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/bits"
)

// A Compact is a Histogram with 2 significant digits, so values are within 0.8 %. Its text takes few bytes: a worker
// publishes one for each step, each second. Make it with NewCompact.
type Compact Histogram

// NewCompact returns an empty one.
func NewCompact() *Compact { return &Compact{Digits: SeriesDigits} }

// Histogram returns c with the methods of a Histogram; both share all values. It is nil if c is.
func (c *Compact) Histogram() *Histogram { return (*Histogram)(c) }

// Count returns the number of recorded values; 0 for nil.
func (c *Compact) Count() int64 { return c.Histogram().Count() }

// Merge adds the bucket counts of o, which stays unchanged and may be nil.
func (c *Compact) Merge(o *Compact) { c.Histogram().Merge(o.Histogram()) }

// IsZero reports whether nothing was recorded. So encoding/json leaves it out.
func (c *Compact) IsZero() bool { return c.Count() == 0 }

// MarshalText encodes c: the number of values and the count of each bucket from the first one on, until all values are
// there, as binaryCoder writes them, in base64. That is half of what MarshalText of Histogram takes. An empty one is "".
func (c *Compact) MarshalText() ([]byte, error) {
	if c.Count() == 0 {
		return []byte{}, nil
	}
	coder := newBinaryCoder()
	counts := countModel{coder: coder}
	rest := counts.code(c.Count())
	next := 0
	for value, n := range c.Histogram().Buckets() {
		for at := c.Histogram().index(value); next < at; next++ {
			counts.code(0)
		}
		counts.code(n)
		rest -= n
		next++
	}
	if rest != 0 {
		return nil, fmt.Errorf("encode histogram: %d values are in no bucket", rest)
	}
	return base64.StdEncoding.AppendEncode(nil, coder.finish()), nil
}

// UnmarshalText replaces c by what MarshalText wrote. The text may come from an untrusted source: whatever it is, no
// more than all buckets are read.
func (c *Compact) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = *NewCompact()
		return nil
	}
	data, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	decoded := NewCompact()
	counts := countModel{coder: readBinaryCoder(data)}
	rest := counts.code(0)
	if rest < 0 || rest > MaxCount {
		return errors.New("decode histogram: more than 2^53 values")
	}
	for i := 0; rest > 0; i++ {
		n := counts.code(0)
		if n == 0 && i < buckets {
			continue
		}
		if rest -= n; rest < 0 || !decoded.Histogram().record(i, n) {
			return errors.New("decode histogram: values in no bucket")
		}
	}
	*c = *decoded
	return nil
}

// countModel codes counts. How many binary digits a count has depends on the two counts before it: in histograms
// neighbours are alike. Each bit has a probability of its own, in its place.
type countModel struct {
	coder    *binaryCoder
	before   [2]int64
	length   [2 * maxCountBits][maxCountBits + 1]probability // by the length of the neighbours' sum: is it longer than this?
	leading  [maxCountBits + 1][4]probability                // the first two bits after the 1, by length
	trailing probability                                     // always one half
}

const maxCountBits = 54 // MaxCount has these

// code writes n, or reads a count if the coder reads. It returns the count.
func (m *countModel) code(n int64) int64 {
	lengths := &m.length[bits.Len64(uint64(m.before[0]+m.before[1]))]
	length := 0
	for length < maxCountBits && m.coder.code(bits.Len64(uint64(n)) > length, &lengths[length]) {
		length++
	}
	out := int64(0)
	for i := length - 1; i >= 0; i-- {
		bit := true // the first one
		switch place := length - 1 - i; place {
		case 0:
		case 1:
			bit = m.coder.code(n>>i&1 == 1, &m.leading[length][0])
		case 2:
			bit = m.coder.code(n>>i&1 == 1, &m.leading[length][1+out&1])
		default:
			m.trailing = probability{}
			bit = m.coder.code(n>>i&1 == 1, &m.trailing)
		}
		if out <<= 1; bit {
			out++
		}
	}
	m.before = [2]int64{out, m.before[0]}
	return out
}
