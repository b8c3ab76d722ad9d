package record

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
)

// A point of a run with answers in pieces, or with goals, has what is known of them too. Times have 2 significant digits there,
// and the events of single answers are left out.

// newPointStreams returns an empty record for a point.
func newPointStreams() *Streams {
	s := &Streams{}
	for _, h := range s.times() {
		*h = &Histogram{Digits: SeriesDigits}
	}
	return s
}

// overTime returns the histograms of a point, in the order of pointTimes.
func (s *Streams) overTime() []*Histogram {
	return []*Histogram{s.FirstEvent, s.Service, s.Gap, s.Stream, s.PerToken}
}

// pointTimes are the metrics of overTime, as thresholds name them, and the letters of their pages.
func pointTimes() [5][2]string {
	return [...][2]string{{"first_event", "f"}, {"first_event_service", "v"}, {"event_gap", "g"}, {"stream", "t"}, {"per_token", "k"}}
}

// OverTime yields the times that a point has, by the names of their metrics.
func (s *Streams) OverTime() iter.Seq2[string, *Histogram] {
	return func(yield func(string, *Histogram) bool) {
		for i, h := range s.overTime() {
			if !yield(pointTimes()[i][0], h) {
				return
			}
		}
	}
}

// Streamed returns what the point has of answers in pieces. None of its histograms is nil.
func (p *Point) Streamed() Streams {
	if p.Streams == nil {
		return *newPointStreams()
	}
	return *p.Streams
}

// addStreams adds what o has of answers in pieces, and of goals.
func (p *Point) addStreams(o *Point) {
	p.Judged += o.Judged
	p.Good += o.Good
	if o.Streams == nil {
		return
	}
	if p.Streams == nil {
		p.Streams = newPointStreams()
	}
	of := *o.Streams
	of.PerAnswer = nil
	p.Streams.Merge(&of)
}

// ofPoint returns the answers in pieces of an interval; nil if there were none.
func (s *Streams) ofPoint() *Streams {
	if s.IsZero() {
		return nil
	}
	return s
}

// Clone returns an independent copy.
func (s *Streams) Clone() Streams {
	c := *s
	for _, h := range c.times() {
		if *h != nil {
			*h = (*h).Clone()
		}
	}
	return c
}

// streams reports whether the point has answers in pieces, or goals.
func (p *Point) streams() bool { return p.Streams != nil || p.Judged > 0 }

// streamCounts returns the counts of answers in pieces and of goals.
func (p *Point) streamCounts(s *Streams) []*int64 {
	return []*int64{&p.Judged, &p.Good, &s.Answers, &s.Events, &s.TokensIn, &s.TokensOut, &s.Usages}
}

// appendStreams appends the counts and the histograms, each with a semicolon behind it.
func (p *Point) appendStreams(text []byte) ([]byte, error) {
	s := p.Streamed()
	for _, n := range p.streamCounts(&s) {
		text = append(strconv.AppendInt(text, *n, 10), ';')
	}
	for _, h := range s.overTime() {
		times, err := (*Compact)(h).MarshalText()
		if err != nil {
			return nil, fmt.Errorf("encode point %d: %w", p.Index, err)
		}
		text = append(append(text, times...), ';')
	}
	return text, nil
}

// readStreams reads what appendStreams wrote.
func (p *Point) readStreams(text []byte) error {
	s := newPointStreams()
	counts, times := p.streamCounts(s), s.overTime()
	fields := bytes.Split(text, []byte(";"))
	if len(fields) != len(counts)+len(times)+1 || len(fields[len(fields)-1]) > 0 {
		return fmt.Errorf("%d fields of streams", len(fields)-1)
	}
	for i, count := range counts {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return fmt.Errorf("field %d of streams: %w", i+1, err)
		}
		if err := checkCount("streams", n); err != nil {
			return err
		}
		*count = n
	}
	for i, h := range times {
		if err := (*Compact)(h).UnmarshalText(fields[len(counts)+i]); err != nil {
			return err
		}
	}
	if p.Good > p.Judged {
		return fmt.Errorf("%d of %d answers met their goals", p.Good, p.Judged)
	}
	if !s.IsZero() {
		p.Streams = s
	}
	return nil
}

// streamIncrements returns what to add to the pages of a merged series for answers in pieces and goals.
func (p *Point) streamIncrements() (all []Increment) {
	if !p.streams() {
		return nil
	}
	s := p.Streamed()
	var counts []byte
	for i, n := range p.streamCounts(&s) {
		if *n > 0 {
			counts = entry(counts, i, *n)
		}
	}
	if len(counts) > 0 {
		all = append(all, Increment{p.page(":s"), counts})
	}
	for i, h := range s.overTime() {
		all = append(all, p.bucketIncrements(":"+pointTimes()[i][1]+":", h)...)
	}
	return all
}

// readStreamPage adds the page with a letter: the counts, or buckets of one of the histograms. There may be no such page.
func (p *Point) readStreamPage(letter, rest string, page []byte) (known bool, err error) {
	at := -1
	for i, of := range pointTimes() {
		if of[1] == letter {
			at = i
		}
	}
	if letter != "s" && at < 0 {
		return false, nil
	}
	if p.Streams == nil {
		p.Streams = newPointStreams()
	}
	if at >= 0 {
		return true, readBuckets(p.Streams.overTime()[at], rest, page)
	}
	counts := p.streamCounts(p.Streams)
	for i, n := range counters(page) {
		if i >= len(counts) {
			return true, fmt.Errorf("a counter %d of streams", i)
		}
		*counts[i] += n
	}
	return true, nil
}

// streamPages returns the names of the pages that these metrics need.
func (p *Point) streamPages(metrics []string) (names []string) {
	for _, metric := range metrics {
		if metric == "events" || metric == "goodput" {
			names = append(names, p.page(":s"))
		}
		for _, of := range pointTimes() {
			if of[0] == metric {
				for page := 0; page <= buckets/pageCounters; page++ {
					names = append(names, p.page(":"+of[1]+":"+strconv.Itoa(page)))
				}
			}
		}
	}
	return names
}
