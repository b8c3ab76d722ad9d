package record

// Streams is what is known of answers that came in pieces. All counts are ≥ 0. Encoded it is absent if there were none.
type Streams struct {
	Answers int64 `json:"answers"` // with an event, failed ones too
	Events  int64 `json:"events"`

	FirstEvent *Histogram `json:"first_event"`         // first event − due
	Service    *Histogram `json:"first_event_service"` // first event − sent
	Gap        *Histogram `json:"event_gap"`           // between consecutive events of an answer, of all answers
	Stream     *Histogram `json:"stream"`              // last event − due, of answers that completed
	PerAnswer  *Histogram `json:"per_answer"`          // PerEvent times the events of an answer that completed; no time

	// Of language models.
	PerToken  *Histogram `json:"per_token"` // (last − first event) ÷ (tokens − 1), of answers that completed
	TokensIn  int64      `json:"tokens_in,omitempty"`
	TokensOut int64      `json:"tokens_out,omitempty"`
	Usages    int64      `json:"usages,omitempty"` // answers whose usage said how many tokens there were
}

// PerEvent is what one event counts in PerAnswer: two of the narrowest buckets of a histogram. So numbers up to
// 2,047 are exact, and both edges of a bucket divided by it are their number, rounded down.
const PerEvent = 1024

// NewStreams returns an empty one.
func NewStreams() Streams {
	return Streams{FirstEvent: NewHistogram(), Service: NewHistogram(), Gap: NewHistogram(), Stream: NewHistogram(), PerAnswer: NewHistogram(), PerToken: NewHistogram()}
}

// IsZero reports whether no answer had an event.
func (s Streams) IsZero() bool { return s.Answers == 0 && (s.Gap == nil || s.Gap.Count() == 0) }

// times returns the histograms.
func (s *Streams) times() []**Histogram {
	return []**Histogram{&s.FirstEvent, &s.Service, &s.Gap, &s.Stream, &s.PerAnswer, &s.PerToken}
}

// Merge adds the counts and buckets of o.
func (s *Streams) Merge(o *Streams) {
	s.Answers += o.Answers
	s.Events += o.Events
	s.TokensIn += o.TokensIn
	s.TokensOut += o.TokensOut
	s.Usages += o.Usages
	s.addTimes(o)
}

// addTimes adds the histograms of o.
func (s *Streams) addTimes(o *Streams) {
	from := o.times()
	for i, h := range s.times() {
		(*h).Merge(*from[i])
	}
}

// dropTimes empties the histograms.
func (s *Streams) dropTimes() {
	for _, h := range s.times() {
		*h = NewHistogram()
	}
}

// Normalize makes a decoded one safe to use: no histogram is nil, and counts are in their range.
func (s *Streams) Normalize() error {
	for _, h := range s.times() {
		if *h == nil {
			*h = NewHistogram()
		}
	}
	for name, n := range map[string]int64{"answers": s.Answers, "events": s.Events, "tokens_in": s.TokensIn, "tokens_out": s.TokensOut, "usages": s.Usages} {
		if err := checkCount(name, n); err != nil {
			return err
		}
	}
	return nil
}

// A Stream is what is known of the events of one answer. Times are ns of the clock of Finished.
type Stream struct {
	First, Last         int64 // when the first and the last event came
	Events              int64 // at least 1
	TokensIn, TokensOut int64 // of language models
	Usage               bool  // the usage of the answer said how many
	PerToken            int64 // ns; 0 = there is none, with fewer than two tokens
}

// recordedStreams is Streams in a Recorder. It survives Reset, so that nothing is allocated again.
type recordedStreams struct {
	answers, events, in, out, usages                      int64
	firstEvent, service, gap, stream, perAnswer, perToken paged
}

func newRecordedStreams() *recordedStreams {
	return &recordedStreams{firstEvent: newPaged(), service: newPaged(), gap: newPaged(), stream: newPaged(), perAnswer: newPaged(), perToken: newPaged()}
}

// times returns the histograms, in the order of Streams.times.
func (r *recordedStreams) times() []*paged {
	return []*paged{&r.firstEvent, &r.service, &r.gap, &r.stream, &r.perAnswer, &r.perToken}
}

// done records the events of an answer that ended.
func (r *recordedStreams) done(f *Finished) {
	s := f.Stream
	r.answers++
	r.events += s.Events
	r.in += s.TokensIn
	r.out += s.TokensOut
	if s.Usage {
		r.usages++
	}
	r.firstEvent.recordInRange(s.First - f.Due)
	r.service.recordInRange(s.First - f.Sent)
	if f.Class != "" {
		return
	}
	r.stream.recordInRange(s.Last - f.Due)
	r.perAnswer.recordInRange(min(s.Events, HighestNS/PerEvent) * PerEvent)
	if s.PerToken > 0 {
		r.perToken.recordInRange(s.PerToken)
	}
}

func (r *recordedStreams) reset() {
	r.answers, r.events, r.in, r.out, r.usages = 0, 0, 0, 0, 0
	for _, p := range r.times() {
		p.reset()
	}
}

// record adds what r holds, which may be nil.
func (s *Streams) record(r *recordedStreams) {
	if r == nil {
		return
	}
	s.Answers += r.answers
	s.Events += r.events
	s.TokensIn += r.in
	s.TokensOut += r.out
	s.Usages += r.usages
	from := r.times()
	for i, h := range s.times() {
		from[i].addTo(*h)
	}
}

// Gap records the time between two events of an answer of a step, which may go on.
func (r *Recorder) Gap(step int, ns int64) {
	r.streamed().gap.recordInRange(ns)
	if s := r.steps.step(step); s != nil {
		s.streamed().gap.recordInRange(ns)
	}
}

// streamed returns the record of answers in pieces.
func (r *Recorder) streamed() *recordedStreams {
	if r.streams == nil {
		r.streams = newRecordedStreams()
	}
	return r.streams
}

// streamed does the same for a step.
func (s *recordedStep) streamed() *recordedStreams {
	if s.streams == nil {
		s.streams = newRecordedStreams()
	}
	return s.streams
}
