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
// judgement. The steps of a flow follow each other at once: at and after are not waited for. In a flow with conditions or loops
// they are, and pauses too, as a loop may wait for something. As in a run, a flow ends with a step that failed.
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
	"github.com/loadctl/loadctl/targets/program"
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
	call := targets.Call{Number: v.Slot, Step: begin, Session: &targets.Session{Start: v.clock.Now()}}
	if mix != nil && mix.Course(begin) != nil {
		mix.Course(begin).Start(call.Session)
		if err := v.follow(ctx, d, call, mix); err != nil {
			return nil, err
		}
		d.OK = d.Err() == nil
		return d, nil
	}
	for i := range rest + 1 {
		call.Step = begin + i
		if n := len(d.Requests); n > 0 && !d.Requests[n-1].OK {
			d.NotSent = append(d.NotSent, v.name(mix, call.Step))
			continue
		}
		r, err := v.send(ctx, call)
		if err == nil {
			err = v.note(d, r, mix)
		}
		if err != nil {
			return nil, err
		}
	}
	d.OK = d.Err() == nil
	return d, nil
}

// follow sends the steps of a flow with a Course.
func (v *visit) follow(ctx context.Context, d *Done, call targets.Call, mix *targets.Mix) error {
	course, begin := mix.Course(call.Step), call.Step
	for {
		r, err := v.send(ctx, call)
		if err != nil {
			return err
		}
		next := program.Turn{Step: -1}
		if r.Outcome.Class == "" {
			next, r.Outcome.Class = course.After(call, r.Outcome.Status, r.Done)
		}
		if err := v.note(d, r, mix); err != nil {
			return err
		}
		if next.Step < 0 || r.Outcome.Class != "" {
			break
		}
		call.Step = begin + next.Step
		pause := mix.Due(call.Step, call.Session.Start, r.Done+int64(next.Pause)) - v.clock.Now()
		select {
		case <-time.After(time.Duration(pause)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for i := range mix.Rest(begin) + 1 {
		switch call.Session.State.Fate(i) {
		case program.Missed:
			d.NotSent = append(d.NotSent, v.name(mix, begin+i))
		case program.Bypassed:
			d.Bypassed = append(d.Bypassed, v.name(mix, begin+i))
		}
	}
	return nil
}

// name returns the name of a step; "" without flows.
func (v *visit) name(mix *targets.Mix, step int) string {
	if mix == nil {
		return ""
	}
	return mix.Names()[step]
}

// note adds a request that has ended.
func (v *visit) note(d *Done, r targets.Result, mix *targets.Mix) error {
	one, err := v.tell(r)
	one.Step = v.name(mix, r.Call.Step)
	d.Requests = append(d.Requests, one)
	return err
}

// findRows notes the rows of data files that the flow uses.
func (v *visit) findRows(d *Done, mix *targets.Mix, flow int) {
	for _, source := range v.Spec.DataOf(flow) {
		d.Rows = append(d.Rows, Row{source.Name, mix.Picker(source)(v.Slot) + 1})
	}
	v.cells = v.redactor.Cells(v.Spec, v.Local.Tables)(v.Slot)
}

// send sends one request, and returns what became of it when it has ended.
func (v *visit) send(ctx context.Context, call targets.Call) (targets.Result, error) {
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
			return targets.Result{}, err
		}
		if ctx.Err() != nil && (!sent || ended != nil) {
			return targets.Result{}, context.Cause(ctx)
		}
	}
	return *ended, nil
}
