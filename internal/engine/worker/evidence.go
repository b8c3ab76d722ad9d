package worker

import (
	"encoding/hex"
	"time"

	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/targets"
)

// Evidence says what a worker keeps of some requests.
type Evidence struct {
	Body int // bytes of each body; −1 = no messages at all, only times and outcomes
	// Redact takes secrets out of an exchange. It reports whether it found some in what was sent, and in what came.
	Redact func(e *targets.Exchange, c targets.Call) (sent, came bool)
	URL    func(c targets.Call, e *targets.Exchange) string // where a redacted request went, without secrets
	Trace  func(number uint64) (traceID string)             // nil = requests carry no trace
	Steps  []string                                         // names by index; nil = one request
	Flows  []string                                         // the same for their flows
}

// A watched client tells what happens to requests and connections.
type watched interface {
	Watch(w targets.Watcher, sample int)
}

// An observer keeps the evidence of a shard.
type observer struct {
	*Evidence
	worker  string
	shard   *shard
	kept    *samples.Collector
	numbers bool // the client gives no exchanges
}

// observe makes the shards keep evidence, as far as their clients help.
func (e *engine) observe() {
	limits := samples.Limits{Whole: samples.MostWhole, Bytes: samples.MostBytes / e.Shards}
	for _, s := range e.shards {
		client, ok := s.client.(watched)
		if e.Evidence == nil {
			if ok {
				client.Watch(&observer{shard: s}, -1)
			}
			continue
		}
		w := &observer{e.Evidence, e.ID, s, samples.NewCollector(e.ID, e.Evidence.Steps, e.Closed, limits), !ok || e.Evidence.Body < 0}
		s.observer = w
		if ok {
			client.Watch(w, e.Evidence.Body)
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

// Phase implements targets.Watcher.
func (w *observer) Phase(p targets.Phase, took int64) {
	r := w.shard.recorder
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
		Ordinal: r.Call.Number, Worker: w.worker, Class: r.Outcome.Class, Status: r.Outcome.Status,
		Due: time.Unix(0, w.shard.clock.Redis(r.Due)).UTC(), Lag: r.Sent - r.Due, Service: r.Done - r.Sent, Latency: r.Done - r.Due,
		BytesIn: r.Outcome.BytesIn, BytesOut: r.Outcome.BytesOut,
		Connection: samples.Connection{Number: r.Connection, Reused: r.Reused},
	}
	if r.First > 0 {
		s.FirstByte = max(1, r.First-r.Sent)
	}
	if step < len(w.Steps) {
		s.Step, s.Flow = w.Steps[step], w.Flows[step]
	}
	if w.Trace != nil {
		s.TraceID = w.Trace(r.Call.Number)
	}
	if r.Exchange != nil {
		w.describe(&s, r)
	}
	w.kept.Add(step, s)
}

// describe adds what the request exchanged.
func (w *observer) describe(s *samples.Sample, r *targets.Result) {
	e := r.Exchange
	sentCut, cameCut := cut(&e.Sent), cut(&e.Came) // before what stands for a secret changes the length
	sent, came := w.Redact(e, r.Call)
	s.Error, s.Connection.Remote, s.URL = e.Error, e.Remote, w.URL(r.Call, e)
	if e.Opened > 0 {
		s.Connection.Age = max(0, r.Done-e.Opened)
	}
	s.Request, s.Response = message(&e.Sent, sent), message(&e.Came, came)
	s.Request.Cut, s.Response.Cut = sentCut, cameCut
	if e.Came.Start == "" && e.Came.Length == 0 && len(e.Came.Body) == 0 {
		s.Response = nil
	}
	for _, v := range e.Checks {
		s.Checks = append(s.Checks, samples.Check(v))
	}
}

// cut reports whether a body has more than was kept of it.
func cut(m *targets.Message) bool { return int64(len(m.Body)) < m.Length }

// mostOfHead bounds the headers of a message that are kept, in bytes.
const mostOfHead = 8 << 10

// message returns a message as it is kept.
func message(m *targets.Message, redacted bool) *samples.Message {
	k := &samples.Message{Start: m.Start[:min(len(m.Start), mostOfHead)], Length: m.Length, Secrets: redacted, Hex: m.Binary}
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
