package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// event is what may happen to a run: it is done, or it is known before the run begins and comes at a time.
type event struct {
	name string
	do   func(*pair)
	plan func(p *pair, at time.Duration)
	harm bool // slots may be late or nobody's, or a worker may receive a change late
	lost bool // a worker may own slots and not know it, as a reply is lost or comes too late
}

// change is an event that gives a command.
func change(kind string, rate int64) func(*pair) {
	return func(p *pair) {
		var ps []pacer.Piece
		if rate > 0 {
			ps = pieces(p.t, rate)
		}
		if rate > 0 && p.kind == "seats" {
			ps = seatedPieces(rate)
		}
		p.command(kind, ps)
	}
}

// leave is an event in which workers get a signal.
func leave(ids ...string) func(*pair) {
	return func(p *pair) {
		for _, id := range ids {
			p.named(id).cancel()
		}
	}
}

// allEvents are those of which all pairs are played.
func allEvents() []event {
	return slices.Concat(ordinary(), faults())
}

// ordinary events are those in which nothing fails.
func ordinary() []event {
	return []event{
		{name: "join", do: (*pair).join},
		{name: "leave", do: leave("w0")},
		{name: "two leave", do: leave("w1", "w2")},
		{name: "rate up", do: change("set-rate", 2*pairRate)},
		{name: "rate down", do: change("set-rate", pairRate/3)},
		{name: "rate over 2 s", do: func(p *pair) {
			if p.kind == "seats" { // it has no ramps
				p.command("set-rate", append([]pacer.Piece{{R0: pairRate / seatedRate, R1: pairRate / seatedRate, Den: 1_000_000, Dur: 2_000_000}}, seatedPieces(2*pairRate)...))
				return
			}
			p.command("set-rate", []pacer.Piece{{R0: pairRate, R1: 2 * pairRate, Den: 1, Dur: 2_000_000}, {R0: 2 * pairRate, R1: 2 * pairRate, Den: 1}})
		}},
		{name: "half of the rate", do: func(p *pair) { p.order(model.Order{Kind: "scale", Factor: lease.Unscaled / 2}) }},
		{name: "pause", do: change("pause", 0)},
		{name: "resume", do: change("resume", 0)},
		{name: "endpoint frozen", do: func(p *pair) { p.right(true, pacer.Endless) }},
		{name: "end of a freeze", do: func(p *pair) { p.right(false, pacer.Endless) }},
		{name: "stop", do: change("stop", 0)},
		{name: "planned end", plan: func(p *pair, at time.Duration) { p.model.Span = (at - pairBegin).Microseconds() }},
		{name: "last request", plan: func(p *pair, at time.Duration) { p.model.Requests = int64(pairRate * (at - pairBegin).Seconds()) }},
		{name: "rm of a dead one", do: func(p *pair) {
			if dead := p.members[0]; dead.crashed > 0 && p.since() >= dead.crashed {
				p.remove(dead.ID)
			}
		}},
		{name: "rm --force of a live one", do: func(p *pair) { go p.force("w3") }, lost: true}, // if it is cut off
		{name: "name of a suspended one", do: func(p *pair) {
			if m := p.members[2]; m.wakes() > p.since() {
				p.takeName(m.ID)
			}
		}},
		{name: "Redis frozen 1 s", plan: frozen(time.Second)},
	}
}

// faults are events after which slots may be missing.
func faults() []event {
	return []event{
		{name: "name of a live one", do: func(p *pair) { p.takeName("w3") }, harm: true},
		{name: "suspend 1 s", plan: suspend(time.Second), harm: true},
		{name: "suspend 3 s", plan: suspend(3 * time.Second), harm: true, lost: true},
		{name: "suspend 12 s", plan: suspend(12 * time.Second), harm: true, lost: true},
		{name: "suspend 40 s", plan: suspend(40 * time.Second), harm: true, lost: true},
		{name: "kill", plan: func(p *pair, at time.Duration) { p.members[0].crashed = at }, harm: true},
		{name: "no Redis", plan: func(p *pair, at time.Duration) { p.gone = append(p.gone, [2]time.Duration{at, at + faultTime}) }, harm: true},
		{name: "lost messages", plan: func(p *pair, at time.Duration) { p.deaf = append(p.deaf, [2]time.Duration{at, at + faultTime}) }, harm: true},
		{name: "lost replies", plan: func(p *pair, at time.Duration) { p.lossy = append(p.lossy, [2]time.Duration{at, at + faultTime}) }, harm: true, lost: true},
		{name: "Redis frozen 4 s", plan: frozen(4 * time.Second), harm: true},
		{name: "state of 1 s ago", plan: oldState(time.Second), harm: true, lost: true},
		{name: "state of 3 s ago", plan: oldState(3 * time.Second), harm: true, lost: true},
		{name: "no right for 2 s", do: (*pair).withoutRight, harm: true},
		{name: "emptied", do: func(p *pair) { p.lose(false) }, harm: true, lost: true},
		{name: "run removed", do: func(p *pair) { p.lose(true) }, harm: true, lost: true},
	}
}

// suspend stops the process of w2 for some time.
func suspend(d time.Duration) func(*pair, time.Duration) {
	return func(p *pair, at time.Duration) {
		m := p.members[2]
		m.asleep = append(m.asleep, [2]time.Duration{at, at + d})
	}
}

// frozen makes Redis stand still for some time.
func frozen(d time.Duration) func(*pair, time.Duration) {
	return func(p *pair, at time.Duration) { p.cold = append(p.cold, [2]time.Duration{at, at + d}) }
}

// oldState makes another server go on with what the run's server knew some time before.
func oldState(d time.Duration) func(*pair, time.Duration) {
	return func(p *pair, at time.Duration) {
		var saved *model.Run
		time.AfterFunc(at-d-p.since(), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.model != nil {
				saved = p.model.Clone()
			}
		})
		time.AfterFunc(at-p.since(), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if saved != nil && p.model != nil {
				p.servers++
				p.model = saved
				p.model.Become(fmt.Sprint("server ", p.servers))
				p.forgot, p.deserted = true, !slices.ContainsFunc(p.members, (*simMember).runs)
			}
		})
	}
}

// runs reports whether a worker has not ended.
func (m *simMember) runs() bool {
	select {
	case <-m.exited:
		return false
	default:
		return true
	}
}

// lose deletes the run's state. A worker restores it, unless it was removed.
func (p *pair) lose(removed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.model, p.forgot = nil, true
	if removed {
		p.removed = p.since()
	}
}

// restore is what a worker does when the state is lost.
func (p *pair) restore(_ context.Context, laws []lease.Law) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.removed > 0:
		return pacer.ErrNoState
	case p.model == nil && len(laws) > 0:
		p.model = model.Restore(model.Options{Pieces: p.plan.Pieces, Span: p.plan.Span, Requests: p.plan.Requests, Hold: p.plan.Hold, Min: 1}, "server", p.redis(), laws)
		if p.stopped {
			p.model.Command(p.redis(), "stop", nil)
		}
	}
	return nil
}

// takeName starts another process with the name of a worker.
func (p *pair) takeName(id string) {
	before := 0
	for _, m := range p.members {
		if m.ID == id {
			m.ousted = true
			before++
		}
	}
	m := p.member(id)
	m.ousted = before > 1 // two new processes call in any order
	m.Incarnation = fmt.Sprint(len(p.members))
	m.start()
}

// remove is what an operator does who knows that a worker is dead.
func (p *pair) remove(id string) {
	p.mu.Lock()
	if p.model == nil {
		p.mu.Unlock()
		return
	}
	p.model.Remove(p.redis(), id)
	woken := p.model.Woken()
	p.mu.Unlock()
	p.publish(lease.Message{}, woken)
}

// force is remove for a worker that has called: it is asked to call, and removed if it has missed three calls.
func (p *pair) force(id string) {
	first := p.lastCall(id)
	p.publish(lease.Message{}, []string{id})
	for {
		switch called := p.lastCall(id); {
		case called != first || called == 0:
			return
		case p.redis()-called > (1500 * time.Millisecond).Microseconds():
			p.named(id).ousted = true // it is alive, and cut off
			p.remove(id)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// lastCall returns when a worker last called, µs; 0: it is not a member.
func (p *pair) lastCall(id string) int64 {
	time.Sleep(p.thaws() - p.since())
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.model == nil {
		return 0
	}
	return p.model.LastCall(id)
}

// command gives a command to a run that may be over, or may be as wanted.
func (p *pair) command(kind string, ps []pacer.Piece) {
	p.order(model.Order{Kind: kind, Pieces: ps})
}

func (p *pair) order(o model.Order) {
	p.changing(func() bool {
		p.stopped = p.stopped || o.Kind == "stop"
		if p.model == nil || p.kind == "closed" && (o.Kind == "set-rate" || o.Kind == "scale") {
			return false
		}
		p.orders++
		o.ID = fmt.Sprint(p.orders)
		a := p.model.Order(p.redis(), o)
		if laws := p.model.Laws(); p.kind == "seats" && a.Status == "OK" {
			for i := max(0, laws.At(a.T0)); i < len(laws.All()); i++ {
				if l := &laws.All()[i]; laws.Live(l.ID) {
					p.allow(max(l.T0, a.T0), l.Concurrency())
				}
			}
		}
		return a.Status == "OK"
	})
}

// right replaces the rights of the run to send. A freeze pauses it, and its end resumes it.
func (p *pair) right(frozen bool, until int64) {
	p.changing(func() bool {
		if p.model == nil {
			return false
		}
		read := p.model.Right(p.redis(), model.RightCall{})
		c := model.RightCall{Store: true, Identity: read.Identity, Was: read.Bound.Rights, Latest: pacer.Endless, Frozen: frozen,
			Bound: model.Bound{Rights: "right", Allow: pacer.Endless - 1, Until: until}}
		return p.model.Right(p.redis(), c).Status == "OK"
	})
}

// withoutRight lets the rights of the run end, and renews them after 2 s.
func (p *pair) withoutRight() {
	p.right(false, p.redis())
	go func() {
		time.Sleep(2 * time.Second)
		p.right(false, pacer.Endless)
	}()
}

// changing makes a change when Redis carries it out, and sends the laws to all workers if it has effect.
func (p *pair) changing(change func() bool) {
	time.Sleep(p.thaws() - p.since())
	p.mu.Lock()
	changed, laws := change(), []lease.Law(nil)
	if changed {
		laws = p.model.Laws().All()
	}
	p.mu.Unlock()
	if changed {
		p.publish(lease.Message{Laws: laws, LawsOnly: true}, nil)
	}
}
