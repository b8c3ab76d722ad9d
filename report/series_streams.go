package report

import "github.com/loadctl/loadctl/report/record"

// SeriesStreams is what a point of the series has of answers in pieces. All but gaps counts by the time of the end of an answer.
type SeriesStreams struct {
	Answers   int64 `json:"answers"`
	Events    int64 `json:"events"`
	TokensOut int64 `json:"tokens_out,omitempty"`

	FirstEvent SeriesTimes `json:"first_event_ns"`
	EventGap   SeriesTimes `json:"event_gap_ns"`
	Stream     SeriesTimes `json:"stream_ns"`
}

// SeriesTimes are percentiles of a point, to 2 significant digits; 0 if there was nothing.
type SeriesTimes struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
}

// SeriesGoodput counts the answers of a point that had goals.
type SeriesGoodput struct {
	Judged int64 `json:"judged"`
	Good   int64 `json:"good"`
}

// seriesStreams sums up the answers in pieces of a point.
func seriesStreams(p *record.Point) SeriesStreams {
	if p.Streams == nil {
		return SeriesStreams{}
	}
	s := p.Streams
	return SeriesStreams{Answers: s.Answers, Events: s.Events, TokensOut: s.TokensOut, FirstEvent: seriesTimes(s.FirstEvent), EventGap: seriesTimes(s.Gap), Stream: seriesTimes(s.Stream)}
}

func seriesTimes(h *record.Histogram) SeriesTimes {
	return SeriesTimes{h.Quantile(0.5), h.Quantile(0.9), h.Quantile(0.99), h.Quantile(0.999)}
}
