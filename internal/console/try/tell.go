package try

import (
	"encoding/base64"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/redact"
	"github.com/loadctl/loadctl/targets/status"
)

// tell tells of a request that has ended.
func (v *visit) tell(r targets.Result) (Request, error) {
	out := r.Outcome
	d := Request{
		OK: out.Class == "", Class: out.Class, Hops: []Hop{}, Checks: []Check{}, Takes: []Taken{},
		BytesIn: out.BytesIn, BytesOut: out.BytesOut, Messages: out.Messages, Total: r.Done - r.Sent,
	}
	if out.Status > 0 {
		d.Status = status.Name(out.Status)
	}
	one := v.steps[r.Call.Step]
	if err := d.stream(r, one.Stream); err != nil {
		return d, err
	}
	if r.Exchange == nil {
		d.Rests = true
		return d, nil
	}
	known := redact.Known{Taken: r.Call.Session.Taken(), Names: one.Taken(), Cells: v.cells, Secrets: v.Local.Credential.Secrets()}
	var sent, came bool
	for _, h := range append(v.seen.hops, v.seen.last(r)) {
		hop, s, c := v.hop(h, known)
		d.Hops, sent, came = append(d.Hops, hop), sent || s, came || c
	}
	if sent {
		d.Hidden = append(d.Hidden, "sent")
	}
	if came {
		d.Hidden = append(d.Hidden, "came")
	}
	d.Hops[len(d.Hops)-1].Unsent = !d.OK && len(d.Hops) == 1 && out.BytesOut == 0
	d.Error = r.Exchange.Error
	d.judged(r.Exchange.Checks, one.Takes())
	return d, nil
}

// judged notes what checks and takes said. The takes are the last verdicts.
func (r *Request) judged(all []targets.Verdict, takes []targets.Take) {
	if all == nil {
		return
	}
	n := len(all) - len(takes)
	for _, c := range all[:n] {
		r.Checks = append(r.Checks, Check(c))
	}
	for i, t := range takes {
		r.Takes = append(r.Takes, Taken{t.Name, t.From, all[n+i].Passed, all[n+i].Got})
	}
}

// hop tells of a request on a connection, and which secrets are not shown.
func (v *visit) hop(h hop, known redact.Known) (d Hop, sent, came bool) {
	r, e := h.result, h.result.Exchange
	moreSent, moreCame := v.cut(&e.Sent), v.cut(&e.Came) // before secrets change the length
	if !v.Secrets {
		sent, came = v.redactor.Exchange(e, known)
	}
	return Hop{
		Connection: r.Connection, Reused: r.Reused, Closed: h.phases.closed, Remote: e.Remote, TLS: tlsOf(e.TLS),
		Times: h.times(), Sent: messageOf(e.Sent, moreSent), Came: messageOf(e.Came, moreCame),
	}, sent, came
}

// times returns the phases.
func (h hop) times() Times {
	t := Times{
		DNS: h.phases.took[targets.PhaseDNS], Connect: h.phases.took[targets.PhaseConnect], TLS: h.phases.took[targets.PhaseTLS],
		Total: h.result.Done - h.from,
	}
	first := h.result.Done
	if h.result.First > 0 {
		first = h.result.First
		t.First = first - h.from
	}
	t.Body = h.result.Done - first
	opened := t.Connect + t.TLS
	if h.from != h.result.Sent {
		opened += t.DNS // the server of a redirect is looked up on the way
	}
	t.Wait = max(0, first-h.from-opened)
	return t
}

// tlsOf returns what is shown of TLS.
func tlsOf(t *targets.TLS) *TLS {
	if t == nil {
		return nil
	}
	shown := TLS(*t)
	return &shown
}

// cut leaves as much of a body as is shown. It reports whether there was more.
func (v *visit) cut(m *targets.Message) (more bool) {
	more = int64(min(len(m.Body), v.Body)) < m.Length
	m.Body = m.Body[:min(len(m.Body), v.Body)]
	return more
}

// messageOf returns what is shown of a message.
func messageOf(m targets.Message, more bool) Message {
	d := Message{Start: m.Start, Headers: m.Headers, Body: string(m.Body), Bytes: m.Length, Cut: more, raw: m.Body}
	if d.Headers == nil {
		d.Headers = []targets.Header{}
	}
	if d.Base64 = m.Binary && d.Body != targets.Redacted; d.Base64 {
		d.Body = base64.StdEncoding.EncodeToString(m.Body)
	}
	return d
}
