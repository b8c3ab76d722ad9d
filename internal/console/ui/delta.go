package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// prints are fingerprints of what a frame had, to find out what a later one changes. The points of the series that can
// change are the last few. When the width of points doubles, all change.
type prints struct {
	series, events, marks, heat []uint64
	shape                       string // of the heat map
}

// fingerprint returns the fingerprints of a whole frame.
func fingerprint(seed maphash.Seed, f Frame) (prints, error) {
	var p prints
	var err error
	if p.series, err = each(seed, f.Report.Series); err != nil {
		return p, err
	}
	if p.events, err = each(seed, f.Report.Events); err != nil {
		return p, err
	}
	if p.marks, err = each(seed, f.Marks); err != nil {
		return p, err
	}
	if f.Heat != nil {
		p.shape = fmt.Sprint(f.Heat.WidthS, f.Heat.PerDecade)
		p.heat, err = each(seed, f.Heat.Columns)
	}
	return p, err
}

// each returns the fingerprint of each element.
func each[T any](seed maphash.Seed, all []T) ([]uint64, error) {
	sums := make([]uint64, len(all))
	for i := range all {
		text, err := json.Marshal(all[i])
		if err != nil {
			return nil, fmt.Errorf("encode frame: %w", err)
		}
		sums[i] = maphash.Bytes(seed, text)
	}
	return sums, nil
}

// since returns the frame without what an earlier frame had, and has not changed.
func (f Frame) since(was, now prints) Frame {
	f.SeriesFrom = common(was.series, now.series)
	f.Report.Series = f.Report.Series[f.SeriesFrom:]
	f.EventsFrom = common(was.events, now.events)
	f.Report.Events = f.Report.Events[f.EventsFrom:]
	f.MarksFrom = common(was.marks, now.marks)
	f.Marks = f.Marks[f.MarksFrom:]
	if f.Heat != nil && was.shape == now.shape {
		f.HeatFrom = common(was.heat, now.heat)
		heat := *f.Heat
		heat.Columns = heat.Columns[f.HeatFrom:]
		f.Heat = &heat
	}
	return f
}

// common returns how many elements two lists have in common from their beginning.
func common(a, b []uint64) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// encode returns a value as JSON in one line, without a line break at its end. Texts of others can neither steer a
// terminal nor be taken for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := json.NewEncoder(printable.NewJSONWriter(&b)).Encode(v); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
