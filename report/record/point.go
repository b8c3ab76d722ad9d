package record

import (
	"bytes"
	"fmt"
	"maps"
	"strconv"
)

const (
	// Version 1 had no errors by class; it can still be read. Version 3 also has answers in pieces and goals. A point without them
	// is of version 2.
	pointVersion  = 2
	pointFields   = 8
	streamVersion = 3

	// MaxWidth bounds the width of a decoded point, in seconds: 35 000 years.
	MaxWidth = 1 << 40
)

// A Point is one element of a series: the requests sent, and those that ended, in the seconds [Index·Width,
// (Index+1)·Width) since the run's first t0.
type Point struct {
	Index     int64      // 0…1023
	Width     int64      // seconds, a power of two
	Sent      int64      // requests whose sending began
	Completed int64      // answered with an expected status
	Failed    int64      // ended otherwise
	Latency   *Histogram // of the requests that ended, 2 significant digits

	// Errors is Failed by class, at most 65 of them; nil if there are none. If the counts add up to less than Failed,
	// the other classes are unknown.
	Errors map[string]int64

	Streams      *Streams // of answers in pieces, with 2 significant digits and without PerAnswer; nil if there are none
	Judged, Good int64    // answers that had goals, and of these those that met them all
}

// NewPoint returns an empty point.
func NewPoint(index, width int64) *Point {
	return &Point{Index: index, Width: width, Latency: &Histogram{Digits: SeriesDigits}}
}

// Start returns the start of the point, in seconds since the run's first t0.
func (p Point) Start() int64 { return p.Index * p.Width }

// Add adds counts and buckets of o, wherever o is in its series.
func (p *Point) Add(o *Point) {
	p.Sent += o.Sent
	p.Completed += o.Completed
	p.Failed += o.Failed
	for class, n := range o.Errors {
		p.fail(class, n)
	}
	if o.Latency != nil {
		p.Latency.Merge(o.Latency)
	}
	p.addStreams(o)
}

// clone returns an independent copy.
func (p *Point) clone() Point {
	c := *p
	c.Latency = p.Latency.Clone()
	c.Errors = maps.Clone(p.Errors)
	if p.Streams != nil {
		streams := p.Streams.Clone()
		c.Streams = &streams
	}
	return c
}

// MarshalText encodes p for one field of a Redis hash:
//
//	version,width,index,sent,completed,failed,errors,[streams,]histogram
//
// Errors are written as status=5;timeout=3, the histogram in HdrHistogram's V2 compressed format in base64. Streams are counts and
// texts of Compact, each with a semicolon behind it. They are there in version 3 only.
func (p Point) MarshalText() ([]byte, error) {
	version := pointVersion
	if p.streams() {
		version = streamVersion
	}
	text := fmt.Appendf(nil, "%d,%d,%d,%d,%d,%d,%s,", version, p.Width, p.Index, p.Sent, p.Completed, p.Failed, classesText(p.Errors))
	if p.streams() {
		var err error
		if text, err = p.appendStreams(text); err != nil {
			return nil, err
		}
		text = append(text, ',')
	}
	if p.Latency == nil {
		return text, nil
	}
	latency, err := p.Latency.MarshalText()
	if err != nil {
		return nil, fmt.Errorf("encode point %d: %w", p.Index, err)
	}
	return append(text, latency...), nil
}

// UnmarshalText replaces p by what MarshalText wrote, in any version. The text may come from an untrusted source.
// After an error p is unchanged.
func (p *Point) UnmarshalText(text []byte) error {
	want := pointFields
	switch {
	case bytes.HasPrefix(text, []byte("1,")):
		want-- // no errors by class
	case bytes.HasPrefix(text, []byte("3,")):
		want++ // answers in pieces
	}
	fields := bytes.SplitN(text, []byte(","), want)
	var numbers [6]int64
	for i := range min(len(fields), len(numbers)) {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return fmt.Errorf("decode point: field %d: %w", i+1, err)
		}
		if err := checkCount("point", n); err != nil {
			return fmt.Errorf("decode point: %w", err)
		}
		numbers[i] = n
		if i == 0 { // a newer version may have other fields, so check the version first
			if err := checkVersion("point", int(n), streamVersion); err != nil && n != 1 && n != pointVersion {
				return err
			}
		}
	}
	if len(fields) != want {
		return fmt.Errorf("decode point: %d fields, want %d", len(fields), want)
	}
	width, index := numbers[1], numbers[2]
	if width < 1 || width > MaxWidth || width&(width-1) != 0 || index >= MaxPoints {
		return fmt.Errorf("decode point: index %d of width %d s is out of range", index, width)
	}
	decoded := NewPoint(index, width)
	decoded.Sent, decoded.Completed, decoded.Failed = numbers[3], numbers[4], numbers[5]
	if err := decoded.Latency.UnmarshalText(fields[want-1]); err != nil {
		return fmt.Errorf("decode point %d: %w", index, err)
	}
	if want >= pointFields {
		var err error
		if decoded.Errors, err = parseClasses(string(fields[6]), decoded.Failed); err != nil {
			return fmt.Errorf("decode point %d: %w", index, err)
		}
	}
	if want > pointFields {
		if err := decoded.readStreams(fields[7]); err != nil {
			return fmt.Errorf("decode point %d: %w", index, err)
		}
	}
	*p = *decoded
	return nil
}
