// Package try sends one request, or each step of one flow, and tells all of it: addresses, TLS, what was sent, what came,
// times, checks and takes. It is loadctl try.
//
//	t := try.Trial{Spec: spec.Target, Local: local, Slot: 0, Body: 2 << 10}
//	done, err := t.Run(ctx)
//	if err != nil { … }   // nothing was sent, or ctx ended
//	err = done.Text(os.Stdout)
//	err = done.Err()      // why a request failed; nil if none did
//
// The engine of the workers sends the requests, so they are those of a run: the same bytes, the same connections, the same
// judgement. The steps of a flow follow each other at once: at and after are not waited for. As in a run, a flow ends
// with a step that failed.
//
// Guarantees: each step is sent at most once, plus the redirects that it was asked to follow. Secrets are not shown, unless
// Trial.Secrets says so: see package redact.
package try

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/loadctl/loadctl/internal/engine/loop"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/probe"
	"github.com/loadctl/loadctl/targets/redact"
	"github.com/loadctl/loadctl/targets/wire"
)

// MostBody is the most that is kept of a body, in bytes.
const MostBody = 64 << 10

// patience bounds the question which version of HTTP a server speaks.
const patience = 10 * time.Second

// A Trial is what is tried.
type Trial struct {
	Spec    targets.Spec // valid; methods of gRPC are described
	Local   targets.Local
	Slot    uint64   // its number fills placeholders, and chooses the flow and the rows of data files
	Body    int      // how many bytes of each body are kept, up to MostBody
	Names   []string // of headers, parameters and members that are secrets too
	Secrets bool     // secrets are shown
}

// Run sends the request, or the steps of the flow, one after the other. The error says why nothing could be sent, or is the
// cause of the end of ctx. A request that failed is no error: see Done.Err.
func (t Trial) Run(ctx context.Context) (*Done, error) {
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t.Local.Trace = rand.Text() // each trial is a trace of its own
	s, err := probe.Settle(limit, t.Spec, t.Local)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	t.Spec = s
	w, err := wire.New(s, t.Local)
	if err != nil {
		return nil, err
	}
	defer w.Shut()
	clock := pacer.NewClock()
	client, err := loop.New(clock, w, len(w.Steps())+s.Redirects+1) // servers keep their connections, as in a run
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }() // all has been told
	seen := &observer{}
	client.Watch(seen, t.Body)
	client.Time(seen)
	v := visit{Trial: t, client: client, clock: clock, timeout: w.Timeout, seen: seen, steps: s.Steps(), redactor: redact.New(s, t.Names)}
	return v.walk(ctx)
}

// A visit is a Trial on its way.
type visit struct {
	Trial
	client   *loop.Client
	clock    *pacer.Clock
	timeout  time.Duration
	seen     *observer
	steps    []targets.Spec // of all flows
	redactor *redact.Redactor
	cells    []redact.Cell // secrets that the flow may send
}

// walk sends the steps until one fails.
func (v *visit) walk(ctx context.Context) (*Done, error) {
	mix := v.Spec.Mix()
	d := &Done{Slot: v.Slot, Rows: []Row{}, Requests: []Request{}, NotSent: []string{}}
	begin, flow, rest := 0, 0, 0
	if mix != nil {
		flow = int(mix.Flow(v.Slot))
		begin, d.Flow = mix.Step(v.Slot), v.Spec.Flows[flow].Name
		rest = mix.Rest(begin)
	}
	v.findRows(d, mix, flow)
	session := &targets.Session{Start: v.clock.Now()}
	for i := range rest + 1 {
		name := ""
		if mix != nil {
			name = v.Spec.Flows[flow].Steps[i].Name
		}
		if n := len(d.Requests); n > 0 && !d.Requests[n-1].OK {
			d.NotSent = append(d.NotSent, name)
			continue
		}
		r, err := v.send(ctx, targets.Call{Number: v.Slot, Step: begin + i, Session: session})
		if err != nil {
			return nil, err
		}
		r.Step = name
		d.Requests = append(d.Requests, r)
	}
	d.OK = d.Err() == nil
	return d, nil
}

// findRows notes the rows of data files that the flow uses.
func (v *visit) findRows(d *Done, mix *targets.Mix, flow int) {
	for _, source := range v.Spec.DataOf(flow) {
		d.Rows = append(d.Rows, Row{source.Name, mix.Picker(source)(v.Slot) + 1})
	}
	v.cells = v.redactor.Cells(v.Spec, v.Local.Tables)(v.Slot)
}

// send sends one request, and returns what became of it when it has ended.
func (v *visit) send(ctx context.Context, call targets.Call) (Request, error) {
	v.seen.reset()
	due := v.clock.Now()
	stop := context.AfterFunc(ctx, v.client.Wake)
	defer stop()
	var ended *targets.Result
	done := func(r targets.Result) { ended = &r }
	for sent := false; ended == nil; {
		if sent = sent || v.client.Send(v.clock.Now(), due, call); sent && ctx.Err() != nil {
			v.client.Cancel(due, context.Cause(ctx))
		}
		if err := v.client.Poll(v.clock.Now()+int64(v.timeout), done); err != nil {
			return Request{}, err
		}
		if ctx.Err() != nil && (!sent || ended != nil) {
			return Request{}, context.Cause(ctx)
		}
	}
	return v.tell(*ended)
}
