package report

import (
	"math"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// Streams is what a Report says of answers that came in pieces. Absent if there were none.
type Streams struct {
	Answers   int64   `json:"answers"`      // that ended and had an event, failed ones too
	Events    int64   `json:"events"`       // of these
	EventRate float64 `json:"events_per_s"` // of the whole cluster

	FirstEvent        record.Distribution `json:"first_event_ns"`         // first event − due
	FirstEventService record.Distribution `json:"first_event_service_ns"` // first event − sent
	EventGap          record.Distribution `json:"event_gap_ns,omitzero"`  // between consecutive events of an answer, of all answers; absent if no answer has two
	Stream            record.Distribution `json:"stream_ns,omitzero"`     // last event − due, of answers that completed; absent if none did
	EventsPerAnswer   record.Distribution `json:"events_per_answer"`      // of answers that completed; no times

	Tokens Tokens `json:"tokens,omitzero"`
}

// Tokens is what is known of the answers of language models. Absent if there were none.
type Tokens struct {
	In       int64               `json:"in,omitempty"` // of the requests, as far as usages say; absent if none does
	Out      int64               `json:"out"`
	OutRate  float64             `json:"out_per_s"`             // of the whole cluster
	Usages   int64               `json:"usages"`                // answers whose usage said how many there were; events stand for those of the others
	PerToken record.Distribution `json:"per_token_ns,omitzero"` // absent if no answer has two tokens
}

// Goodput counts answers by the goals that each of them had. Absent if there were none.
type Goodput struct {
	Judged int64   `json:"judged"`
	Good   int64   `json:"good"` // met all their goals
	Rate   float64 `json:"per_s"`
	Share  float64 `json:"share"` // of Judged
}

// Any reports whether there were answers in pieces.
func (s Streams) Any() bool { return s != Streams{} }

// Any reports whether they were of a language model.
func (t Tokens) Any() bool { return t != Tokens{} }

// Any reports whether there were goals.
func (g Goodput) Any() bool { return g.Judged > 0 }

// streamsOf sums up what workers recorded in so many seconds. kept is the share of requests that were not dropped late: those
// would have had their first events later than all others.
func streamsOf(s *record.Streams, kept, seconds float64) Streams {
	if s.IsZero() {
		return Streams{}
	}
	out := Streams{
		Answers: s.Answers, Events: s.Events, EventRate: units.Ratio(float64(s.Events), seconds),
		FirstEvent: s.FirstEvent.Distribution(kept), FirstEventService: s.Service.Distribution(1), EventGap: s.Gap.Distribution(1),
		Stream: s.Stream.Distribution(kept), EventsPerAnswer: inEvents(s.PerAnswer.Distribution(1)),
	}
	if s.TokensIn+s.TokensOut+s.Usages > 0 {
		out.Tokens = Tokens{In: s.TokensIn, Out: s.TokensOut, OutRate: units.Ratio(float64(s.TokensOut), seconds), Usages: s.Usages, PerToken: s.PerToken.Distribution(1)}
	}
	return out
}

// inEvents returns a distribution of events per answer. See record.PerEvent.
func inEvents(d record.Distribution) record.Distribution {
	for _, v := range []*int64{&d.Min, &d.P50, &d.P90, &d.P95, &d.P99, &d.P999, &d.P9999, &d.Max} {
		*v /= record.PerEvent
	}
	d.Mean = int64(math.Round(float64(d.Mean) / record.PerEvent))
	return d
}

// goodputOf sums up answers that were judged in so many seconds.
func goodputOf(judged, good int64, seconds float64) Goodput {
	return Goodput{Judged: judged, Good: good, Rate: units.Ratio(float64(good), seconds), Share: units.Ratio(float64(good), float64(judged))}
}

func (h *Histograms) setStepStreams(name string, s record.Streams) {
	if s.IsZero() {
		return
	}
	if h.StepStreams == nil {
		h.StepStreams = map[string]*record.Streams{}
	}
	h.StepStreams[name] = &s
}

// sumUpStreams computes what follows from the histograms of answers in pieces. The counts of goodput are known.
func (r *Report) sumUpStreams(kept float64) {
	r.Streams = streamsOf(&r.Histograms.Streams, kept, r.DurationS)
	r.Goodput = goodputOf(r.Goodput.Judged, r.Goodput.Good, r.DurationS)
}
