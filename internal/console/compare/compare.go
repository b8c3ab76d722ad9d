// Package compare tells how runs differ, and how certain the differences are.
//
//	r := compare.Compare(base, other)
//	for _, row := range r.Rows { fmt.Println(row.Name, row.Difference.Low, row.Difference.High) }
//
// It is arithmetic on reports: it reads no clock, and the same reports give the same result. The seconds of a run are
// not independent: a slow one is followed by slow ones. So the error of a figure of one run comes from resampling whole
// blocks of seconds (see spread). Some differences between runs do not show in their seconds, such as another placement
// of processes. To see those, compare several runs a side.
//
// The intervals of all rows together hold with 95 %: in 100 comparisons of equal sides, at most 5 have a row whose
// interval excludes 0.
package compare

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/loadctl/loadctl/report"
)

// A Side is what is compared: one run, or several runs of the same test.
type Side struct {
	Name string
	Runs []report.Report
}

// A Result is the comparison of two sides.
type Result struct {
	Name  string   `json:"other"` // the side that is compared with the base
	Rows  []Row    `json:"figures"`
	Notes []string `json:"notes"` // what to know before trusting it, a sentence each
}

// A Row is one figure of both sides.
type Row struct {
	Name       string // as in --fail-on: "latency:p(99)"
	Unit       Unit
	Base       float64 // in ns, per second, or a share; of several runs the geometric mean, of shares the mean. NaN = a run has none
	Other      float64
	Difference *Interval // nil = there is no interval, and Why says why
	Why        string

	baseBounded, otherBounded bool // base and other are lower bounds
}

// A Unit is the unit of a figure.
type Unit int

// The units.
const (
	Nanoseconds Unit = iota
	PerSecond
	Share // 0 to 1; differences are absolute
)

// MarshalJSON leaves out absent values.
func (r Row) MarshalJSON() ([]byte, error) {
	row := struct {
		Figure     string    `json:"figure"`
		Unit       string    `json:"unit"`
		Base       *float64  `json:"base,omitempty"`
		Other      *float64  `json:"other,omitempty"`
		Difference *float64  `json:"difference,omitempty"`
		Interval   *Interval `json:"interval,omitempty"`
		Why        string    `json:"why,omitempty"`
	}{r.Name, []string{"ns", "per_second", "share"}[r.Unit], known(r.Base), known(r.Other), known(r.Change()), r.Difference, r.Why}
	return json.Marshal(row)
}

// known returns nil for NaN.
func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// An Interval is a difference and its bounds: relative to the base, 0.1 = 10 %
// more; of shares absolute.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// mostChange bounds an interval: 1 µs to 1 h is a factor of 3.6e9, and float64 goes further.
const mostChange = 1e12

// Differs tells whether the interval excludes 0.
func (i *Interval) Differs() bool { return i != nil && (i.Low > 0 || i.High < 0) }

// Change returns the difference relative to the base; for shares the absolute difference. It is NaN if the base is 0, or a side
// has no value.
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
	all := figuresOf(base, other)
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

// estimates returns the estimate of each figure of a side.
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
		if slices.ContainsFunc(s.Runs, all[i].unknown) {
			pooled[i].plain = math.NaN()
		}
	}
	return pooled
}

// row compares the estimates of a figure, one of this many rows.
func (f figure) row(a, b estimate, rows int) Row {
	r := Row{Name: f.name, Unit: f.unit, Base: a.plain, Other: b.plain}
	if f.unit == Nanoseconds { // as in reports, also the means of several runs
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

// confidence is the confidence of all rows together.
const confidence = 0.95

// halfWidth returns half of the interval of b − a, by Welch: it uses the errors of both sides, and Student's t with
//
//	(sa² + sb²)² / (sa⁴/da + sb⁴/db)
//
// degrees of freedom. By Bonferroni each row gets its part of the error probability of all rows.
func halfWidth(a, b estimate, rows int) float64 {
	va, vb := a.err*a.err, b.err*b.err
	if va+vb == 0 {
		return 0
	}
	freedom := (va + vb) * (va + vb) / (va*va/a.freedom + vb*vb/b.freedom)
	return student(1-(1-confidence)/float64(2*rows), freedom) * math.Sqrt(va+vb)
}
