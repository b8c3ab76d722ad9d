package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// A Comparison holds all that the formats show: each number is the same in all of them. Its JSON is as stable as that
// of a report.
type Comparison struct {
	Sides      []Summary   `json:"sides"`   // the base first
	Results    []Result    `json:"results"` // of each other side, compared with the base
	Warnings   []string    `json:"warnings"`
	Conditions []Condition `json:"conditions"` // each --fail-on for each result, the worst first
	Failed     []string    `json:"failed"`     // conditions that fail the comparison, for people

	sides []Side // source of the curves
}

// A Summary is one side by itself.
type Summary struct {
	Name    string      `json:"name"`
	Runs    []Run       `json:"runs"`
	Latency Percentiles `json:"latency_ns"`

	// Of answers in pieces. Absent if there were none.
	FirstEvent Percentiles `json:"first_event_ns,omitzero"`
	EventGap   Percentiles `json:"event_gap_ns,omitzero"`
	Stream     Percentiles `json:"stream_ns,omitzero"`
	PerToken   Percentiles `json:"per_token_ns,omitzero"`

	// LowerBoundsAbove is the lowest of the runs' quantiles above which percentiles are lower bounds. Absent if there
	// are none.
	LowerBoundsAbove *float64 `json:"percentiles_are_lower_bounds_above,omitempty"`

	Errors map[string]ErrorCount `json:"errors"` // by class
}

// A Run is a run of a side.
type Run struct {
	Name      string    `json:"run"`
	StartedAt time.Time `json:"started_at"`
}

// Percentiles are times in ns; of several runs the geometric means. All are 0 if nothing was measured.
type Percentiles struct {
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P95   int64 `json:"p95"`
	P99   int64 `json:"p99"`
	P999  int64 `json:"p999"`
	P9999 int64 `json:"p9999"`
	Max   int64 `json:"max"`
}

// An ErrorCount is the number of requests of all runs that failed in one way, and the mean over the runs of their share
// of the requests that ended.
type ErrorCount struct {
	Requests int64   `json:"requests"`
	Share    float64 `json:"share"`
}

// New compares each other side with the base.
func New(base Side, others ...Side) Comparison {
	c := Comparison{Sides: []Summary{base.summary()}, Warnings: []string{}, Conditions: []Condition{}, Failed: []string{}, sides: append([]Side{base}, others...)}
	for _, other := range others {
		c.Sides = append(c.Sides, other.summary())
		c.Results = append(c.Results, Compare(base, other))
		c.Warnings = append(c.Warnings, Doubts(base, other)...)
	}
	slices.Sort(c.Warnings)
	c.Warnings = slices.Compact(c.Warnings)
	return c
}

// notes returns the notes to show with one result, for people. A note that all results have comes once, with the last.
func (c Comparison) notes(i int) []string {
	everywhere := func(note string) bool {
		return !slices.ContainsFunc(c.Results, func(r Result) bool { return !slices.Contains(r.Notes, note) })
	}
	return slices.DeleteFunc(slices.Clone(c.Results[i].Notes), func(note string) bool { return i < len(c.Results)-1 && everywhere(note) })
}

// A percentile is one row of Percentiles.
type percentile struct {
	name     string
	quantile float64
	of       func(record.Distribution) int64
	put      func(*Percentiles) *int64
}

// percentiles are all rows.
func percentiles() []percentile {
	return []percentile{
		{"p50", 0.5, func(d record.Distribution) int64 { return d.P50 }, func(p *Percentiles) *int64 { return &p.P50 }},
		{"p90", 0.9, func(d record.Distribution) int64 { return d.P90 }, func(p *Percentiles) *int64 { return &p.P90 }},
		{"p95", 0.95, func(d record.Distribution) int64 { return d.P95 }, func(p *Percentiles) *int64 { return &p.P95 }},
		{"p99", 0.99, func(d record.Distribution) int64 { return d.P99 }, func(p *Percentiles) *int64 { return &p.P99 }},
		{"p99.9", 0.999, func(d record.Distribution) int64 { return d.P999 }, func(p *Percentiles) *int64 { return &p.P999 }},
		{"p99.99", 0.9999, func(d record.Distribution) int64 { return d.P9999 }, func(p *Percentiles) *int64 { return &p.P9999 }},
		{"max", 1, func(d record.Distribution) int64 { return d.Max }, func(p *Percentiles) *int64 { return &p.Max }},
	}
}

// summary summarizes a side.
func (s Side) summary() Summary {
	sum := Summary{Name: s.Name, Runs: []Run{}, Errors: map[string]ErrorCount{}}
	for _, r := range s.Runs {
		sum.Runs = append(sum.Runs, Run{r.Run, r.StartedAt})
		if b := r.LowerBoundsAbove; b != nil && (sum.LowerBoundsAbove == nil || *b < *sum.LowerBoundsAbove) {
			sum.LowerBoundsAbove = b
		}
		ended := max(1, float64(r.Audit.Completed+r.Audit.Failed))
		for class, n := range r.Errors {
			e := sum.Errors[class]
			sum.Errors[class] = ErrorCount{e.Requests + n, e.Share + float64(n)/ended/float64(len(s.Runs))}
		}
	}
	for _, kind := range times() {
		for _, p := range percentiles() {
			*p.put(kind.put(&sum)) = s.mean(kind, p.of)
		}
	}
	return sum
}

// mean returns the geometric mean of a percentile; for one run the percentile itself.
func (s Side) mean(kind timed, of func(record.Distribution) int64) int64 {
	if len(s.Runs) == 1 {
		return of(kind.whole(s.Runs[0]))
	}
	sum := 0.0
	for _, r := range s.Runs {
		sum += math.Log(float64(of(kind.whole(r))))
	}
	return int64(math.Round(math.Exp(sum / float64(len(s.Runs)))))
}

// any tells whether anything was measured.
func (p Percentiles) any() bool { return p.Max > 0 }

// cell formats a percentile for people.
func (s Summary) cell(kind timed, p percentile) string {
	of := kind.put(&s)
	if !of.any() {
		return missing
	}
	return atLeast(Nanoseconds.text(float64(*p.put(of))), kind.due && s.LowerBoundsAbove != nil && p.quantile > *s.LowerBoundsAbove)
}

// classes returns the names of all errors of these sides, the most frequent first.
func classes(sides []Summary) []string {
	most := map[string]int64{}
	for _, s := range sides {
		for class, e := range s.Errors {
			most[class] = max(most[class], e.Requests)
		}
	}
	return slices.SortedFunc(maps.Keys(most), func(a, b string) int {
		return cmp.Or(cmp.Compare(most[b], most[a]), cmp.Compare(a, b))
	})
}
