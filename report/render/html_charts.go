package render

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// An htmlChart is a chart, or the sentence in its place.
type htmlChart struct {
	Name, Title, Hint string
	Empty             string // why there is nothing to draw; "" = the chart is drawn
	Marks             bool   // with a list of marks below it
	Scale             bool   // with a colour scale below it
}

// chartsOf returns the charts of the page, in order.
func chartsOf(r report.Report) []htmlChart {
	charts := []htmlChart{
		{Name: "requests", Title: "Requests over time", Hint: "Asked for, sent, answered as expected, and failed, per second. Marks are numbered as below.", Marks: true},
		{Name: "latency", Title: "Latency over time", Hint: "Percentiles of each point, from the time a request was due to its end."},
		{Name: "percentiles", Title: "Latency by percentile", Hint: "At p99, 1 request in 100 is slower. Latency counts from the time a request was due, service time from sending."},
		{Name: "heat", Title: "Where the latencies were", Hint: "Each column is a span of time; the stronger its colour, the more requests ended with that latency.", Scale: true},
		{Name: "errors", Title: "Failed requests over time", Hint: "Per second, by class."},
	}
	if r.ClosedLoop {
		charts[0].Hint = "Sent, answered as expected, and failed, per second. Marks are numbered as below."
		charts[1].Hint = "Percentiles of each point, from sending to the end."
		charts[2].Hint = "At p99, 1 request in 100 is slower."
	}
	if r.Streams.Any() {
		charts[2].Hint += " Of event gaps, 1 in 100 is longer."
	}
	charts = slices.Insert(charts, 2, append(streamCharts(r), queryCharts(r)...)...)
	for i := range charts {
		charts[i].Empty = nothingToDraw(r, charts[i].Name)
	}
	return charts
}

// nothingToDraw says why a chart would be empty; "" if it is not.
func nothingToDraw(r report.Report, chart string) string {
	classes := slices.ContainsFunc(r.Series, func(s report.SeriesReport) bool { return len(s.Errors) > 0 })
	switch {
	case strings.HasPrefix(chart, queryChart):
		return queryNotDrawn(r, chart)
	case chart == firstEventChart || chart == eventGapChart:
		return streamsNotDrawn(r, chart)
	case chart == "errors" && r.HasTimes() && r.Audit.Failed == 0:
		return "No request failed."
	case r.StartedAt.IsZero() && r.Audit.Sent == 0:
		return "The run has not begun, so there is nothing to draw."
	case chart == "requests" && len(r.Series) > 0:
		return ""
	case r.Audit.Sent == 0:
		return "No request was sent."
	case !r.HasTimes():
		return "No request has ended."
	case len(r.Series) == 0:
		return "The report has no series."
	case chart == "heat" && heatOf(r) == nil:
		return "The report has no histograms over time: they come from a run or an archive."
	case chart == "errors" && !classes:
		return "The series has no error classes."
	}
	return ""
}

// An htmlMark is an event on the time axis.
type htmlMark struct {
	N    int     `json:"n"` // its number
	T    float64 `json:"t"` // seconds since the start
	Tone string  `json:"tone"`
	Text string  `json:"text"`
	i    int     // index of the event
}

// An htmlEvent is a row of the table of events.
type htmlEvent struct {
	Mark, When, At, Kind, Tone, Who, What string
}

// maxHTMLEvents bounds the events of the page.
const maxHTMLEvents = 1000

// happened returns the events. Reports of older versions have only the commands.
func happened(r report.Report) []report.Event {
	events := r.Events
	if len(events) == 0 {
		for _, c := range r.Described.Commands {
			events = append(events, report.Event{At: c.At, Kind: c.Command, Who: c.Who, What: c.What})
		}
	}
	return events[max(0, len(events)-maxHTMLEvents):]
}

// toneOf returns the kind of an event: a command, a fault, or an action of a worker.
func toneOf(e report.Event) string {
	switch e.Kind {
	case "join", "left", "start", "create", "stopped", "replaced":
		return "member"
	case "set-rate", "scale", "cap", "set-burst", "pause", "resume", "stop", "removed", "workers rm":
		return "command"
	default: // lost, deadman, failover, outage, clock, and new kinds
		return "fault"
	}
}

// marksOf returns the events during the run, numbered.
func marksOf(r report.Report) []htmlMark {
	marks := []htmlMark{}
	if r.StartedAt.IsZero() {
		return marks
	}
	for i, e := range happened(r) {
		t := e.At.Sub(r.StartedAt).Seconds()
		if t < 0 || t > r.DurationS {
			continue
		}
		words := slices.DeleteFunc([]string{e.Kind, e.Who, e.What}, func(word string) bool { return word == "" || word == "-" })
		marks = append(marks, htmlMark{N: len(marks) + 1, T: math.Round(t*1000) / 1000, Tone: toneOf(e), Text: printable.Clip(strings.Join(words, " · "), 120), i: i})
	}
	return marks
}

// eventRows returns the rows of the table of events, and how many are left out.
func eventRows(r report.Report, marks []htmlMark) (rows []htmlEvent, hidden int) {
	all := happened(r)
	hidden = max(0, len(all)-maxHTMLRows)
	numbers := map[int]string{}
	for _, m := range marks {
		numbers[m.i] = units.Groups(jsonNumber(float64(m.N)))
	}
	for i, e := range all {
		if i < hidden {
			continue
		}
		row := htmlEvent{Mark: numbers[i], At: e.At.UTC().Format("15:04:05"), Kind: htmlText(e.Kind), Tone: toneOf(e), Who: htmlText(e.Who), What: htmlText(e.What)}
		if !r.StartedAt.IsZero() {
			row.When = clock(e.At.Sub(r.StartedAt))
		}
		rows = append(rows, row)
	}
	return rows, hidden
}

// clock formats a time since the start as the axes of charts do: 1:05, or 1:00:05.
func clock(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "−", -d
	}
	s := int64(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%s%d:%02d:%02d", sign, s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%s%d:%02d", sign, s/60, s%60)
}

// An htmlCurve is latency by percentile: one request in OneIn is slower than this.
type htmlCurve struct {
	OneIn   []float64 `json:"one_in"`
	Latency []*int64  `json:"latency"`
	Service []*int64  `json:"service"` // nil in a closed loop, where it equals the latency

	FirstByte []*int64 `json:"first_byte,omitempty"` // nil if no answer had one

	FirstEvent []*int64 `json:"first_event,omitempty"` // nil if no answer came in pieces
	EventGap   []*int64 `json:"event_gap,omitempty"`   // likewise; of gaps, not of requests
}

// curveOf returns a point for each quantile that the report names, and 24 for each factor of ten between them, up to
// the slowest request. It leaves out values that are only lower bounds.
func curveOf(r report.Report) *htmlCurve {
	if !r.HasTimes() {
		return nil
	}
	named := []float64{1, 2, 10, 20, 100, 1000, 10_000}
	kept := lowerBoundsAbove(r)
	if r.Histograms == nil || r.Histograms.Latency.Count() == 0 {
		return coarseCurve(r, named, kept)
	}
	most := float64(r.Histograms.Latency.Count())
	c := &htmlCurve{OneIn: []float64{most}}
	for i := range int(24*math.Log10(most)) + 1 {
		c.OneIn = append(c.OneIn, math.Round(100*math.Pow(10, float64(i)/24))/100)
	}
	for _, n := range named {
		if n < most {
			c.OneIn = append(c.OneIn, n)
		}
	}
	slices.Sort(c.OneIn)
	c.OneIn = slices.Compact(c.OneIn)
	for _, n := range c.OneIn {
		q := 1 - 1/n
		if n == most {
			q = 1
		}
		c.Latency = append(c.Latency, exactQuantile(r.Histograms.Latency, q, kept))
		if !r.ClosedLoop {
			c.Service = append(c.Service, exactQuantile(r.Histograms.Service, q, 1))
		}
		if r.FirstBytes > 0 {
			c.FirstByte = append(c.FirstByte, exactQuantile(r.Histograms.Phases.FirstByte.Histogram(), q, 1))
		}
		if r.Streams.Any() {
			c.FirstEvent = append(c.FirstEvent, exactQuantile(r.Histograms.Streams.FirstEvent, q, kept))
			c.EventGap = append(c.EventGap, exactQuantile(r.Histograms.Streams.Gap, q, 1))
		}
	}
	return c
}

// exactQuantile returns a quantile; nil if only a lower bound is known.
func exactQuantile(h *record.Histogram, q, kept float64) *int64 {
	if q > kept || h.Count() == 0 {
		return nil
	}
	ns := h.Quantile(min(1, q/kept))
	return &ns
}

// coarseCurve returns the curve of a report that was read from JSON.
func coarseCurve(r report.Report, named []float64, kept float64) *htmlCurve {
	c := &htmlCurve{OneIn: named}
	for _, d := range []struct {
		record.Distribution
		to   *[]*int64
		kept float64
	}{{r.Latency, &c.Latency, kept}, {r.ServiceTime, &c.Service, 1}, {r.FirstByte, &c.FirstByte, 1},
		{r.Streams.FirstEvent, &c.FirstEvent, kept}, {r.Streams.EventGap, &c.EventGap, 1}} {
		for i, ns := range []int64{d.Min, d.P50, d.P90, d.P95, d.P99, d.P999, d.P9999} {
			if 1-1/named[i] > d.kept {
				*d.to = append(*d.to, nil)
				continue
			}
			*d.to = append(*d.to, &ns)
		}
	}
	if r.ClosedLoop {
		c.Service = nil
	}
	if r.FirstBytes == 0 {
		c.FirstByte = nil
	}
	if !r.Streams.Any() {
		c.FirstEvent, c.EventGap = nil, nil
	}
	return c
}

// An htmlHeat counts requests by the span of time in which they ended and by latency. Row i begins at 1
// µs·10^(i/PerDecade).
type htmlHeat struct {
	WidthS    int64     `json:"width_s"`
	PerDecade int       `json:"per_decade"`
	Columns   [][]int64 `json:"columns"` // the lowest row in use, and the counts from there up; empty = nothing ended
}

// Upper bounds of a heat map, to keep the page small.
const (
	heatColumns = 320
	heatRows    = 44
)

// heatOf returns nil if there is nothing to show.
func heatOf(r report.Report) *htmlHeat {
	if r.Histograms == nil || len(r.Series) == 0 {
		return nil
	}
	low, high := int64(math.MaxInt64), int64(0)
	for _, p := range r.Histograms.Series {
		for ns := range p.Latency.Buckets() {
			low, high = min(low, ns), max(high, ns)
		}
	}
	if high == 0 {
		return nil
	}
	decades := math.Log10(float64(max(high, record.LowestNS)) / float64(max(low, record.LowestNS)))
	h := &htmlHeat{PerDecade: int(min(40, max(4, heatRows/max(decades, 0.1))))}
	merge := (len(r.Series) + heatColumns - 1) / heatColumns
	h.WidthS = int64(merge) * r.SeriesWidthS
	h.Columns = make([][]int64, (len(r.Series)+merge-1)/merge)
	rows := make([]map[int]int64, len(h.Columns))
	for _, p := range r.Histograms.Series {
		column := int(p.Index) / merge
		if rows[column] == nil {
			rows[column] = map[int]int64{}
		}
		for ns, n := range p.Latency.Buckets() {
			rows[column][h.row(ns)] += n
		}
	}
	for i, counts := range rows {
		h.Columns[i] = heatColumn(counts)
	}
	return h
}

// row returns the row of a latency. Latencies below 1 µs are in the first row.
func (h *htmlHeat) row(ns int64) int {
	return int(float64(h.PerDecade) * math.Log10(float64(max(ns, record.LowestNS))/record.LowestNS))
}

// heatColumn lists the counts of a column.
func heatColumn(counts map[int]int64) []int64 {
	low, high := math.MaxInt, -1
	for row, n := range counts {
		if n > 0 {
			low, high = min(low, row), max(high, row)
		}
	}
	column := []int64{}
	if high < 0 {
		return column
	}
	column = append(column, int64(low))
	for row := low; row <= high; row++ {
		column = append(column, counts[row])
	}
	return column
}
