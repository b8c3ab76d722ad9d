package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// A figure is a row of a comparison. Except for shares, logarithms are compared: a difference of logarithms is a ratio.
type figure struct {
	name     string
	unit     Unit
	whole    func(report.Report) float64 // of the whole run
	part     func(*sample) float64       // of a sample of its seconds; it only shows the variation
	quantile float64                     // of times; 0 = not a quantile
	kind     int                         // of times
	of       streamed                    // what the run needs to have
}

// A streamed is what only some runs have.
type streamed int

// What a figure needs.
const (
	nothing streamed = iota
	streams          // answers in pieces
	tokens           // answers of language models
	goals            // answers that had goals
)

// has reports whether a run has it.
func (n streamed) has(r report.Report) bool {
	return n == nothing || n == streams && r.Streams.Any() || n == tokens && r.Streams.Tokens.Any() || n == goals && r.Goodput.Any()
}

// lack says that a run has it not.
func (n streamed) lack() string {
	return map[streamed]string{streams: "no answer came in pieces", tokens: "no answer is of a language model", goals: "no answer had goals"}[n]
}

// figures are the rows that any comparison may have.
func figures() []figure {
	all := []figure{
		{name: "rate", unit: PerSecond, whole: func(r report.Report) float64 { return r.Rate }, part: func(s *sample) float64 { return s.sent / s.length }},
		{name: "throughput", unit: PerSecond, whole: func(r report.Report) float64 { return r.Throughput }, part: func(s *sample) float64 { return s.ok / s.length }},
		{name: "errors:rate", unit: Share, whole: errorShare, part: func(s *sample) float64 { return s.failed / max(1, s.ok+s.failed) }},
	}
	needs := [kinds]streamed{nothing, streams, streams, streams, tokens}
	for kind, of := range times() {
		all = append(all, timesFigures(kind, of, needs[kind])...)
	}
	return append(all,
		figure{name: "events:rate", unit: PerSecond, of: streams, whole: func(r report.Report) float64 { return r.Streams.EventRate }, part: func(s *sample) float64 { return s.events / s.length }},
		figure{name: "tokens:rate", unit: PerSecond, of: tokens, whole: func(r report.Report) float64 { return r.Streams.Tokens.OutRate }, part: func(s *sample) float64 { return s.tokens / s.length }},
		figure{name: "goodput:rate", unit: Share, of: goals, whole: func(r report.Report) float64 { return r.Goodput.Share }, part: func(s *sample) float64 { return s.good / max(1, s.judged) }})
}

// timesFigures are the rows of a kind of times.
func timesFigures(kind int, of timed, needs streamed) []figure {
	all := []figure{{name: of.name + ":avg", kind: kind, of: needs, whole: func(r report.Report) float64 { return float64(of.whole(r).Mean) }, part: func(s *sample) float64 { return s.mean(kind) }}}
	for _, q := range []struct {
		percent  string
		quantile float64
		whole    func(record.Distribution) int64
	}{
		{"50", 0.5, func(d record.Distribution) int64 { return d.P50 }},
		{"90", 0.9, func(d record.Distribution) int64 { return d.P90 }},
		{"99", 0.99, func(d record.Distribution) int64 { return d.P99 }},
		{"99.9", 0.999, func(d record.Distribution) int64 { return d.P999 }},
	} {
		if q.quantile > 0.99 && kind != latency {
			continue // each row widens the intervals of all
		}
		all = append(all, figure{
			name:     fmt.Sprintf("%s:p(%s)", of.name, q.percent),
			whole:    func(r report.Report) float64 { return float64(q.whole(of.whole(r))) },
			part:     func(s *sample) float64 { return s.quantile(kind, q.quantile) },
			quantile: q.quantile, kind: kind, of: needs,
		})
	}
	return all
}

// figuresOf returns the rows of a comparison of these sides: what any of their runs has.
func figuresOf(sides ...Side) (all []figure) {
	for _, f := range figures() {
		if slices.ContainsFunc(sides, func(s Side) bool { return slices.ContainsFunc(s.Runs, f.of.has) }) {
			all = append(all, f)
		}
	}
	return all
}

// unknown reports whether a run has no value of the figure.
func (f figure) unknown(r report.Report) bool {
	return !f.of.has(r) || f.of != nothing && f.unit == Nanoseconds && f.whole(r) == 0
}

// group names the figures whose seconds resemble one another alike.
func (f figure) group() string {
	if f.unit == Nanoseconds {
		return times()[f.kind].name
	}
	return []string{"", "rates", "shares"}[f.unit] + f.of.lack()
}

// errorShare returns the share of ended requests that failed.
func errorShare(r report.Report) float64 {
	return float64(r.Audit.Failed) / max(1, float64(r.Audit.Completed+r.Audit.Failed))
}

// scale maps a value to the scale of comparison, and value maps it back.
func (f figure) scale(v float64) float64 {
	if f.unit == Share {
		return v
	}
	return math.Log(v)
}

func (f figure) value(scaled float64) float64 {
	if f.unit == Share {
		return scaled
	}
	return math.Exp(scaled)
}

// enough is how many requests must lie above a quantile before samples can show its error.
const enough = 10

// why says why there is no interval; "" if there is one.
func (f figure) why(r report.Report, blocks float64) string {
	ended := r.Audit.Completed + r.Audit.Failed
	n, inSeries := f.counted(r)
	switch {
	case ended == 0:
		return "nothing ended"
	case !f.of.has(r):
		return f.of.lack()
	case (f.unit == Nanoseconds || f.of != nothing) && r.Histograms == nil:
		return "JSON has no histograms: give an archive"
	case n == 0:
		return "nothing was measured"
	case f.bounded(r):
		return "a lower bound: requests were dropped late"
	case f.quantile > 0 && float64(n)*(1-f.quantile) < enough:
		return "too few requests"
	case blocks < leastBlocks:
		return "too short"
	case inSeries == 0:
		return "the series of this older report does not have it"
	case f.unit != Share && !(f.whole(r) > 0):
		return "it is 0"
	}
	return ""
}

// counted returns how many values of the figure a run has, and how many of them its series has.
func (f figure) counted(r report.Report) (whole, series int64) {
	whole = r.Audit.Completed + r.Audit.Failed
	switch {
	case f.unit != Nanoseconds && f.of == nothing:
		return whole, whole
	case r.Histograms == nil:
		return 0, 0
	case f.unit == Nanoseconds:
		return times()[f.kind].counted(r)
	}
	for _, p := range r.Histograms.Series {
		if f.of == goals {
			series += p.Judged
		} else {
			series += p.Streamed().Answers
		}
	}
	return whole, series
}

// bounded tells whether the figure is a lower bound: dropped requests would have been slower than all others. They
// affect a mean too.
func (f figure) bounded(r report.Report) bool {
	return f.unit == Nanoseconds && times()[f.kind].due && r.LowerBoundsAbove != nil && (f.quantile == 0 || f.quantile > *r.LowerBoundsAbove)
}

// resolution returns an error that samples do not show. Buckets of the series are 1/128 of their value wide, and at
// least 512 ns. A rate is known to one request and some ms; of shares a single request counts.
func (f figure) resolution(r report.Report) float64 {
	switch f.unit {
	case PerSecond:
		return 0.001
	case Share:
		if f.of == goals {
			return 1 / max(1, float64(r.Goodput.Judged))
		}
		return 1 / max(1, float64(r.Audit.Completed+r.Audit.Failed))
	default:
		return max(1.0/128, 512/max(1, f.whole(r))) / math.Sqrt(12) // a value is anywhere in its bucket
	}
}
