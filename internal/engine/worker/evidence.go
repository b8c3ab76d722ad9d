package worker

import (
	"encoding/hex"
	"time"

	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/status"
)

// Evidence says what a worker keeps of some requests.
type Evidence struct {
	Body int // bytes of each body; −1 = no messages at all, only times and outcomes
	// Redact takes secrets out of an exchange. It reports whether it found some in what was sent, and in what came.
	Redact func(e *targets.Exchange, c targets.Call) (sent, came bool)
	URL    func(c targets.Call, e *targets.Exchange) string // where a redacted request went, without secrets
	Trace  func(number uint64) (id string)                  // nil = requests carry no trace
	Traced func(number uint64) bool                         // the endpoint is asked to record the trace; nil = of none
	Steps  []string                                         // names by index; nil = one request
	Flows  []string                                         // the same for their flows
}

// A watched client tells what happens to requests and connections.
type watched interface {
	Watch(w targets.Watcher, sample int)
	Time(p targets.Phases)
}

// An observer keeps the evidence of a shard.
type observer struct {
	*Evidence
	worker  string
	shard   *shard
	kept    *samples.Chooser
	numbers bool // the client gives no exchanges
}

// observe makes the shards keep evidence, as far as their clients help.
func (e *engine) observe() {
	if e.Evidence != nil {
		limits := samples.Limits{Whole: samples.MostWhole, Bytes: samples.MostBytes}
		e.publisher.samples = samples.NewCollector(e.ID, e.Evidence.Steps, e.Closed, limits)
	}
	for _, s := range e.shards {
		client, ok := s.client.(watched)
		if ok {
			client.Time(phases{s})
		}
		if e.Evidence == nil {
			continue
		}
		s.observer = &observer{e.Evidence, e.ID, s, e.publisher.samples.Chooser(e.Evidence.Traced), !ok || e.Evidence.Body < 0}
		if ok {
			client.Watch(s.observer, e.Evidence.Body)
		}
	}
}

// Worth implements targets.Watcher.
func (w *observer) Worth(r *targets.Result) bool {
	return w.kept.Worth(r.Call.Step, r.Outcome.Class, r.Call.Number, r.Done-r.Due)
}

// Holds implements targets.Watcher.
func (w *observer) Holds(r *targets.Result) int64 {
	if late := w.kept.Holds(r.Call.Step, r.Call.Number); late > 0 {
		return r.Due + late
	}
	return 0
}

// phases records those of the connections of a shard.
type phases struct{ *shard }

// Phase implements targets.Phases.
func (s phases) Phase(p targets.Phase, took int64) {
	r := s.recorder
	switch p {
	case targets.PhaseDNS:
		r.LookedUp(took)
	case targets.PhaseConnect:
		r.Connected(took)
	case targets.PhaseTLS:
		r.Secured(took)
	case targets.PhaseClosed:
		r.ClosedByServer()
	}
}

// keep keeps a request that has ended, if it is worth that.
func (w *observer) keep(r *targets.Result) {
	if r.Exchange == nil && (!w.numbers || !w.Worth(r)) {
		return
	}
	step := r.Call.Step
	s := samples.Sample{
		Ordinal: r.Call.Number, Worker: w.worker, Class: r.Outcome.Class,
		Due: time.Unix(0, w.shard.clock.Redis(r.Due)).UTC(), Lag: r.Sent - r.Due, Service: r.Done - r.Sent, Latency: r.Done - r.Due,
		BytesIn: r.Outcome.BytesIn, BytesOut: r.Outcome.BytesOut,
		Connection: samples.Connection{Number: r.Connection, Reused: r.Reused},
	}
	if r.Outcome.Status != 0 {
		s.Status = status.Name(r.Outcome.Status)
	}
	if r.First > 0 {
		s.FirstByte = max(1, r.First-r.Sent)
	}
	if step < len(w.Steps) {
		s.Step, s.Flow = w.Steps[step], w.Flows[step]
	}
	if w.Trace != nil {
		s.TraceID, s.Traced = w.Trace(r.Call.Number), w.Traced != nil && w.Traced(r.Call.Number)
	}
	if r.Exchange != nil {
		w.describe(&s, r)
	}
	w.kept.Add(step, s)
}

// describe adds what the request exchanged.
func (w *observer) describe(s *samples.Sample, r *targets.Result) {
	e := r.Exchange
	sentCut, cameCut := e.Sent.Cut(), e.Came.Cut() // before Redact, which makes bodies longer or shorter
	sent, came := w.Redact(e, r.Call)
	s.Error, s.Connection.Remote, s.URL = e.Error, e.Remote, w.URL(r.Call, e)
	if !r.Reused {
		s.Connection.Connect, s.Connection.TLS = e.Connect, e.Handshake
	}
	if e.Opened > 0 {
		s.Connection.Age = max(0, r.Done-e.Opened)
	}
	s.Request, s.Response = message(&e.Sent, sentCut, sent), message(&e.Came, cameCut, came)
	if e.Came.Start == "" && e.Came.Length == 0 && len(e.Came.Body) == 0 {
		s.Response = nil
	}
	for _, v := range e.Checks {
		s.Checks = append(s.Checks, samples.Check(v))
	}
}

// mostOfHead bounds the headers of a message that are kept, in bytes.
const mostOfHead = 8 << 10

// message returns a message as it is kept.
func message(m *targets.Message, cut, redacted bool) *samples.Message {
	k := &samples.Message{Start: m.Start[:min(len(m.Start), mostOfHead)], Length: m.Length, Cut: cut, Secrets: redacted, Hex: m.Binary}
	room := mostOfHead
	for _, h := range m.Headers {
		if room -= len(h.Name) + len(h.Value); room < 0 {
			break
		}
		k.Headers = append(k.Headers, samples.Header(h))
	}
	if k.Body = string(m.Body); m.Binary {
		k.Body = hex.EncodeToString(m.Body)
	}
	return k
}
