package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
)

// A Net is what a network does by itself to each message.
type Net struct {
	Lo, Hi   time.Duration // how long a message takes
	Rare     time.Duration // one in fifty takes up to this longer; 0 = none
	LoseCall float64       // probability
	LoseBack float64
	Double   float64       // a call arrives twice,
	Late     time.Duration // the second time up to this later
	Refuse   bool          // a server that is away says so, instead of saying nothing
}

// slow tells whether round trips are longer than in a data centre.
func (n Net) slow() bool { return n.Hi > 5*time.Millisecond || n.Rare > 0 }

// worst is 2e, the longest round trip, and what clocks 100 ppm apart add when a sample of 10 s ago is believed, ns.
func (n Net) worst() int64 { return int64(2*n.Hi + n.Rare + 2*time.Millisecond) }

// fate is what will happen to one call, drawn in advance.
type fate struct {
	there, back         time.Duration
	lostThere, lostBack bool
	double              time.Duration // 0 = not
	late                bool          // a deadline that passed in a pause is seen before the reply
}

// fate draws the n-th of a kind for this member, whenever it is asked for.
func (m *member) fate(kind, n uint64) fate {
	rng := rand.New(rand.NewPCG(m.plan.Seed, uint64(m.index)<<40|kind<<32|n))
	net := m.plan.Net
	way := func() time.Duration {
		d := net.Lo + time.Duration(rng.Int64N(int64(net.Hi-net.Lo)))
		if rng.IntN(50) == 0 && net.Rare > 0 {
			d += time.Duration(rng.Int64N(int64(net.Rare)))
		}
		return d
	}
	f := fate{there: way(), back: way(), lostThere: rng.Float64() < net.LoseCall, lostBack: rng.Float64() < net.LoseBack, late: rng.IntN(2) == 0}
	if rng.Float64() < net.Double {
		f.double = time.Duration(rng.Int64N(int64(net.Late)))
	}
	return f
}

// carry brings an operation to the server, and its outcome back. It arrives also if nobody waits for it any more.
func (m *member) carry(f fate, op func(b *model.Budget, now int64) pacer.Reply, done func(r pacer.Reply, done bool)) {
	if f.lostThere || within(m.now(), m.CutCalls) {
		return
	}
	time.AfterFunc(f.there, func() {
		m.server.do(op, func(r pacer.Reply, ok bool) {
			if f.lostBack || within(m.now(), m.CutBack) || !ok && !m.plan.Net.Refuse {
				return
			}
			time.AfterFunc(f.back, func() { done(r, ok) })
		})
	})
	if f.double > 0 {
		time.AfterFunc(f.there+f.double, func() { m.server.do(op, func(pacer.Reply, bool) {}) })
	}
}

var errRefused = errors.New("connection refused")

type outcome struct {
	reply pacer.Reply
	ok    bool
}

// link is a member's way to the server.
type link struct{ *member }

// Lease implements pacer.Limiter.
func (m link) Lease(ctx context.Context, a pacer.Ask) (pacer.Reply, error) {
	m.calls++
	f := m.fate(0, m.calls)
	if err := m.alive(ctx); err != nil {
		return pacer.Reply{}, err
	}
	a.Until -= m.drifted(a.Until*1000) / 1000
	got := make(chan outcome, 1)
	m.carry(f, m.lease(a), func(r pacer.Reply, ok bool) { got <- outcome{r, ok} })
	var x outcome
	var err error
	select {
	case x = <-got:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if e := m.alive(ctx); e != nil {
		return pacer.Reply{}, e
	}
	m.advance() // before the reply's time moves the clock
	m.trace(m.name, "seq %d received %v %v", a.Seq, x.ok, err)
	switch {
	case err != nil:
		return pacer.Reply{}, err
	case ctx.Err() != nil && f.late:
		return pacer.Reply{}, ctx.Err()
	case !x.ok:
		return pacer.Reply{}, errRefused
	}
	r := x.reply
	m.received()
	if r.Time > 0 {
		r.Time += m.drifted(r.Time*1000) / 1000
	}
	if r.Next > 0 {
		r.Next += m.drifted(r.Next*1000) / 1000
	}
	return r, nil
}

// lease is the call at the server.
func (m *member) lease(a pacer.Ask) func(b *model.Budget, now int64) pacer.Reply {
	return func(b *model.Budget, now int64) pacer.Reply {
		if b == nil {
			return pacer.Reply{Status: pacer.StatusNoState}
		}
		r := b.Lease(now, a)
		if r.LeasedAt == r.Now && (r.Status == pacer.StatusOK || r.Hand > 0) { // a pause that was not heard of is a change of the rate
			m.granted(a, r, b.Members[m.name].From)
		}
		if m.plan.Trace != nil {
			m.trace(m.name, "seq %d ack %v until %v phi %d → %s %d..+%d yield %d hand %v next %v leased at %v permit %d %v…%v H %d members %d", a.Seq, m.since(a.Ack), m.since(a.Until), a.PhiHeld,
				r.Status, r.Range.First, r.Range.N, r.Range.Yield, m.since(r.Hand), m.since(r.Next), m.since(r.LeasedAt), r.Permit.Phi(), m.since(r.Permit.From), m.since(r.Permit.Until), r.Horizon, r.Members)
		}
		return r
	}
}

// alive blocks while the process is paused, and until ctx ends when it was killed.
func (m *member) alive(ctx context.Context) error {
	if m.killed() {
		<-ctx.Done()
		return ctx.Err()
	}
	if d := m.awake(m.now()) - m.now(); d > 0 {
		time.Sleep(time.Duration(d))
	}
	return nil
}

// wakeup is a published message: that the run has changed.
func (m *member) wakeup(n uint64) {
	f := m.fate(1, n)
	if f.lostBack {
		return
	}
	time.AfterFunc(f.back, func() {
		if within(m.now(), m.CutBack) {
			return
		}
		select {
		case m.wake <- struct{}{}:
		default:
		}
	})
}
