package archive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
)

// Bounds of the JSON of an archive. A worker has about 15 objects and arrays and 100 values, so there is room for
// 10,000 workers. An empty element takes 3 bytes of JSON but up to 500 bytes of memory; these bounds limit that.
const (
	archiveDepth  = 32
	maxContainers = 200_000
	maxValues     = 2_000_000
	maxMembers    = 10_000        // of one object; there are 1,001 status codes
	maxSeconds    = 9_000_000_000 // 285 years; a longer time does not fit into time.Duration
)

// checkJSON refuses JSON that no report has: too deep, a member twice, negative or huge numbers, other than answers to queries, or so many elements
// that decoding would need much more memory than the text. The decoder itself would take the last of two equal members,
// and ignores case in names.
func checkJSON(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	s := jsonShape{}
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && len(s.open) == 0 && s.values > 0:
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		if err := s.add(token); err != nil {
			return err
		}
	}
}

// jsonShape holds what checkJSON has seen so far.
type jsonShape struct {
	open               []jsonContainer
	containers, values int
}

// jsonContainer is an object or, without names, an array.
type jsonContainer struct {
	names map[string]struct{}
	value bool   // in an object: the next token is a value
	last  string // the name of the newest member
	any   bool   // a part of what queries answered: its numbers have any sign and size
}

// holdsAny reports whether the next value of the container is a part of what queries answered, or a number that a threshold
// has measured.
func (c jsonContainer) holdsAny() bool { return c.any || c.last == "queries" || c.last == "value" }

// add checks the next token.
func (s *jsonShape) add(token json.Token) error {
	if token == json.Delim('}') || token == json.Delim(']') {
		s.open = s.open[:len(s.open)-1]
		return nil
	}
	free := len(s.open) > 0 && s.open[len(s.open)-1].holdsAny()
	if len(s.open) > 0 {
		top := &s.open[len(s.open)-1]
		if top.names != nil && !top.value {
			top.value = true
			return top.name(token.(string)) // the decoder allows nothing else here
		}
		top.value = false
	}
	if s.values++; s.values > maxValues {
		return fmt.Errorf("more than %d values", maxValues)
	}
	switch t := token.(type) {
	case json.Delim:
		c := jsonContainer{any: free}
		if t == '{' {
			c.names = map[string]struct{}{}
		}
		s.open = append(s.open, c)
		if s.containers++; s.containers > maxContainers {
			return fmt.Errorf("more than %d objects and arrays", maxContainers)
		}
		if len(s.open) > archiveDepth {
			return fmt.Errorf("nested deeper than %d", archiveDepth)
		}
	case json.Number:
		if free {
			return checkAnswer(t)
		}
		return checkNumber(t)
	case string:
		if len(t) > record.MaxHistogramText {
			return fmt.Errorf("a text of %d bytes, more than %d", len(t), record.MaxHistogramText)
		}
	}
	return nil
}

// name notes the name of a member.
func (c *jsonContainer) name(name string) error {
	folded := strings.ToLower(strings.ToUpper(name)) // as the decoder does: ſ is s
	if _, twice := c.names[folded]; twice {
		return fmt.Errorf("the member %.40q occurs twice", name)
	}
	c.names[folded], c.last = struct{}{}, name
	if len(c.names) > maxMembers {
		return fmt.Errorf("an object with more than %d members", maxMembers)
	}
	return nil
}

// documentErrors, documentSteps and documentSeries count histograms before the first one is unpacked: 100 bytes of text may unpack to
// 50 kB.
type (
	documentErrors map[string]*record.Histogram
	documentSteps  map[string]*record.Histogram
	documentSeries []record.Point
)

// skipped is JSON that is counted but not kept.
type skipped struct{}

// UnmarshalJSON accepts anything.
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// UnmarshalJSON implements json.Unmarshaler.
func (e *documentErrors) UnmarshalJSON(text []byte) error {
	return unmarshalFew(text, (*map[string]*record.Histogram)(e), "classes of errors", record.MaxClasses+1)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *documentSteps) UnmarshalJSON(text []byte) error {
	return unmarshalFew(text, (*map[string]*record.Histogram)(s), "steps", record.MaxSteps+1)
}

// unmarshalFew reads at most so many histograms.
func unmarshalFew[H any](text []byte, into *map[string]H, what string, most int) error {
	var all map[string]skipped
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	if len(all) > most {
		return fmt.Errorf("%d %s, more than %d", len(all), what, most)
	}
	return json.Unmarshal(text, into)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *documentSeries) UnmarshalJSON(text []byte) error {
	var all []skipped
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	if len(all) > record.MaxPoints {
		return fmt.Errorf("a series of %d points, more than %d", len(all), record.MaxPoints)
	}
	return json.Unmarshal(text, (*[]record.Point)(s))
}

// checkNumber refuses numbers that are not a count, a time or a rate.
func checkNumber(n json.Number) error {
	f, err := n.Float64()
	switch {
	case err != nil || math.Abs(f) > record.MaxCount:
		return fmt.Errorf("the number %.40s is larger than 2^53", n)
	case f < 0:
		return fmt.Errorf("the number %.40s is negative", n)
	}
	return nil
}

// checkAnswer refuses numbers that are no answer to a query, nor their count.
func checkAnswer(n json.Number) error {
	if f, err := n.Float64(); err != nil || math.Abs(f) > record.MostValue {
		return fmt.Errorf("the number %.40s is larger than %g", n, record.MostValue)
	}
	return nil
}

// check refuses a report whose parts contradict each other.
func check(r *report.Report) error {
	h := r.Histograms
	if h.Latency == nil || h.Service == nil || h.Lag == nil {
		return errors.New("a histogram is missing")
	}
	for class, e := range h.Errors {
		if _, known := r.Errors[class]; !known || e == nil {
			return fmt.Errorf("the histogram of errors %.40q has no count", class)
		}
	}
	if len(h.Errors) > record.MaxClasses+1 {
		return fmt.Errorf("%d classes of errors, more than %d", len(h.Errors), record.MaxClasses+1)
	}
	if err := cmp.Or(checkSteps(r), checkStreams(r), checkSeries(r), checkSamples(r), r.CheckEvents()); err != nil {
		return err
	}
	last := int64(-1)
	for _, p := range h.Series {
		if p.Latency == nil || p.Width != r.SeriesWidthS || p.Index <= last || p.Index >= int64(len(r.Series)) {
			return fmt.Errorf("point %d of the series does not fit", p.Index)
		}
		last = p.Index
	}
	return nil
}

// checkSteps refuses histograms of steps that are not there.
func checkSteps(r *report.Report) error {
	if len(r.Steps) > record.MaxSteps+1 || len(r.Histograms.Steps) > record.MaxSteps+1 {
		return fmt.Errorf("%d steps, more than %d", max(len(r.Steps), len(r.Histograms.Steps)), record.MaxSteps+1)
	}
	known := func(name string) bool {
		return slices.ContainsFunc(r.Steps, func(s report.StepReport) bool { return s.Name == name })
	}
	for name, h := range r.Histograms.Steps {
		if h == nil || !known(name) {
			return fmt.Errorf("the histogram of step %.40q has no counts", name)
		}
	}
	for name, h := range r.Histograms.Phases.Steps {
		if h == nil || !known(name) {
			return fmt.Errorf("the first bytes of step %.40q have no counts", name)
		}
	}
	return nil
}

// checkSamples refuses more samples than any report has.
func checkSamples(r *report.Report) error {
	if len(r.Samples) > samples.Most {
		return fmt.Errorf("%d samples, more than %d", len(r.Samples), samples.Most)
	}
	return nil
}

// checkSeries refuses a series that is too long or has holes.
func checkSeries(r *report.Report) error {
	w := r.SeriesWidthS
	if r.DurationS > maxSeconds {
		return fmt.Errorf("a run of %v s", r.DurationS)
	}
	if w < 1 || w > record.MaxWidth || w&(w-1) != 0 || len(r.Series) > record.MaxPoints || w > maxSeconds/record.MaxPoints && len(r.Series) > 0 {
		return fmt.Errorf("a series of %d points of %d s", len(r.Series), w)
	}
	for i, s := range r.Series {
		if s.T != int64(i)*w {
			return fmt.Errorf("point %d of the series is at %d s, want %d s", i, s.T, int64(i)*w)
		}
		for name, v := range s.Queries {
			if !v.Whole() {
				return fmt.Errorf("point %d of the series: the query %.40q has %+v", i, name, v)
			}
		}
	}
	for _, q := range r.Queries {
		if !q.Whole() {
			return fmt.Errorf("the query %.40q has %+v", q.Name, q.Value)
		}
	}
	return nil
}
