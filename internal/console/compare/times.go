package compare

import (
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// A timed is a kind of times that sides have. Those of answers in pieces are there only if a side has them.
type timed struct {
	name  string // as in --fail-on
	title string // for people
	help  string
	due   bool // they count from when a request was due: dropped requests would have been slower than all others

	whole  func(report.Report) record.Distribution
	all    func(*report.Histograms) *record.Histogram
	points func(record.Point) *record.Histogram // nil = the point has none
	put    func(*Summary) *Percentiles
}

// latency is the kind that all sides have.
const latency = 0

// times returns all kinds.
func times() []timed {
	return []timed{
		{"latency", "Latency", "From when a request was due", true,
			func(r report.Report) record.Distribution { return r.Latency }, func(h *report.Histograms) *record.Histogram { return h.Latency },
			func(p record.Point) *record.Histogram { return p.Latency }, func(s *Summary) *Percentiles { return &s.Latency }},
		{"first_event", "First event", "From when a request was due to the first event of its answer", true,
			func(r report.Report) record.Distribution { return r.Streams.FirstEvent }, func(h *report.Histograms) *record.Histogram { return h.Streams.FirstEvent },
			func(p record.Point) *record.Histogram { return p.Streamed().FirstEvent }, func(s *Summary) *Percentiles { return &s.FirstEvent }},
		{"event_gap", "Event gap", "Between consecutive events of an answer, of all answers", false,
			func(r report.Report) record.Distribution { return r.Streams.EventGap }, func(h *report.Histograms) *record.Histogram { return h.Streams.Gap },
			func(p record.Point) *record.Histogram { return p.Streamed().Gap }, func(s *Summary) *Percentiles { return &s.EventGap }},
		{"stream", "Stream", "From when a request was due to the last event of its answer", true,
			func(r report.Report) record.Distribution { return r.Streams.Stream }, func(h *report.Histograms) *record.Histogram { return h.Streams.Stream },
			func(p record.Point) *record.Histogram { return p.Streamed().Stream }, func(s *Summary) *Percentiles { return &s.Stream }},
		{"per_token", "Per token", "From the first to the last event of an answer, by its tokens after the first", false,
			func(r report.Report) record.Distribution { return r.Streams.Tokens.PerToken }, func(h *report.Histograms) *record.Histogram { return h.Streams.PerToken },
			func(p record.Point) *record.Histogram { return p.Streamed().PerToken }, func(s *Summary) *Percentiles { return &s.PerToken }},
	}
}

// timesOf returns the kinds that any of these sides has, latency first.
func timesOf(sides []Summary) (all []timed) {
	for i, kind := range times() {
		known := i == latency
		for _, s := range sides {
			known = known || kind.put(&s).any()
		}
		if known {
			all = append(all, kind)
		}
	}
	return all
}

// counted returns how many values a run has of a kind, and how many of them its series has.
func (kind timed) counted(r report.Report) (whole, series int64) {
	for _, p := range r.Histograms.Series {
		series += kind.points(p).Count()
	}
	return kind.all(r.Histograms).Count(), series
}
