// Package compare tells how runs differ, and how sure that is.
//
//	r := compare.Compare(base, other)
//	for _, row := range r.Rows { fmt.Println(row.Name, row.Difference.Low, row.Difference.High) }
//
// It is arithmetic on reports: it reads no clock, and the same reports have the
// same result. The seconds of a run are not independent of each other: a slow
// one is followed by slow ones. So the error of a figure of one run comes from
// resampling whole blocks of seconds (see spread). Differences between two runs
// that their seconds do not show, such as another placement of processes, need
// several runs a side.
//
// The intervals of all rows together hold with 95 %: of 100 comparisons of the
// same with the same, at most 5 have a row whose interval leaves out 0.
package compare

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/loadctl/loadctl/report"
)

// A Side is what is compared: one run, or several of the same.
type Side struct {
	Name string
	Runs []report.Report
}

// A Result is the comparison of two sides.
type Result struct {
	Name  string   `json:"other"` // of the side that is compared with the base
	Rows  []Row    `json:"figures"`
	Notes []string `json:"notes"` // what to know before it is believed, a sentence each
}

// A Row is one figure of both sides.
type Row struct {
	Name       string // as in --fail-on: "latency:p(99)"
	Unit       Unit
	Base       float64 // in ns, per second, or a share; the geometric mean of several runs, of shares the mean
	Other      float64
	Difference *Interval // nil = no interval can be told, and Why says why
	Why        string

	baseBounded, otherBounded bool // base and other are lower bounds
}

// A Unit is what a figure is measured in.
type Unit int

// The units.
const (
	Nanoseconds Unit = iota
	PerSecond
	Share // 0 to 1; differences are absolute
)

// MarshalJSON leaves out what there is not.
func (r Row) MarshalJSON() ([]byte, error) {
	row := struct {
		Figure     string    `json:"figure"`
		Unit       string    `json:"unit"`
		Base       float64   `json:"base"`
		Other      float64   `json:"other"`
		Difference *float64  `json:"difference,omitempty"`
		Interval   *Interval `json:"interval,omitempty"`
		Why        string    `json:"why,omitempty"`
	}{r.Name, []string{"ns", "per_second", "share"}[r.Unit], r.Base, r.Other, nil, r.Difference, r.Why}
	if change := r.Change(); !math.IsNaN(change) {
		row.Difference = &change
	}
	return json.Marshal(row)
}

// An Interval is a difference and its bounds: relative to the base, 0.1 = 10 %
// more; of shares absolute.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// mostChange bounds an interval: from 1 µs to 1 h is a factor of 3.6e9, and no float64 ends there.
const mostChange = 1e12

// Differs tells whether the interval leaves out 0.
func (i *Interval) Differs() bool { return i != nil && (i.Low > 0 || i.High < 0) }

// Change is the difference itself, relative to the base; of shares absolute. It is NaN where the base is 0.
func (r Row) Change() float64 {
	if r.Unit == Share {
		return r.Other - r.Base
	}
	if r.Base <= 0 {
		return math.NaN()
	}
	return r.Other/r.Base - 1
}

// Compare compares two sides, figure by figure.
func Compare(base, other Side) Result {
	all := figures()
	a, b := estimates(base, all), estimates(other, all)
	r := Result{Name: other.Name, Notes: []string{}}
	for i, f := range all {
		row := f.row(a[i], b[i], len(all))
		row.baseBounded, row.otherBounded = slices.ContainsFunc(base.Runs, f.bounded), slices.ContainsFunc(other.Runs, f.bounded)
		r.Rows = append(r.Rows, row)
	}
	r.Notes = append(r.Notes, notes(base, other)...)
	return r
}

// estimates are those of each figure of a side.
func estimates(s Side, all []figure) []estimate {
	byFigure := make([][]estimate, len(all))
	for _, run := range s.Runs {
		for i, e := range ofRun(run, all) {
			byFigure[i] = append(byFigure[i], e)
		}
	}
	pooled := make([]estimate, len(all))
	for i, runs := range byFigure {
		pooled[i] = pool(runs)
		pooled[i].plain = all[i].value(pooled[i].mean)
		if len(runs) == 1 {
			pooled[i].plain = runs[0].plain // as it is printed elsewhere
		}
	}
	return pooled
}

// row compares the estimates of a figure, one of so many.
func (f figure) row(a, b estimate, rows int) Row {
	r := Row{Name: f.name, Unit: f.unit, Base: a.plain, Other: b.plain}
	if f.unit == Nanoseconds { // as reports have them, also the means of several runs
		r.Base, r.Other = math.Round(r.Base), math.Round(r.Other)
	}
	if r.Why = a.why; r.Why == "" {
		r.Why = b.why
	}
	if r.Why != "" {
		return r
	}
	difference, width := b.mean-a.mean, halfWidth(a, b, rows)
	r.Difference = &Interval{difference - width, difference + width}
	if f.unit != Share {
		r.Difference = &Interval{math.Expm1(difference - width), min(mostChange, math.Expm1(difference+width))}
	}
	return r
}

// confidence is that of all rows together.
const confidence = 0.95

// halfWidth is half of the interval of b − a, by Welch: the errors of both sides, and Student's t with the degrees of freedom
//
//	(sa² + sb²)² / (sa⁴/da + sb⁴/db)
//
// By Bonferroni each of so many rows gets its part of what all may err.
func halfWidth(a, b estimate, rows int) float64 {
	va, vb := a.err*a.err, b.err*b.err
	if va+vb == 0 {
		return 0
	}
	freedom := (va + vb) * (va + vb) / (va*va/a.freedom + vb*vb/b.freedom)
	return student(1-(1-confidence)/float64(2*rows), freedom) * math.Sqrt(va+vb)
}
