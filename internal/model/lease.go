package model

import (
	"math"

	"github.com/loadctl/loadctl/pacer"
)

// Lease is lua/lease.lua at time now.
func (b *Budget) Lease(now int64, a pacer.Ask) pacer.Reply {
	b.tick(now)
	a.RTTHi = min(a.RTTHi, maxRTT)
	m := b.Members[a.Worker]
	known := m != nil && m.Incarnation == a.Incarnation
	bare := pacer.Reply{Now: b.now, Time: b.time, Recalls: b.Recalls}
	switch {
	case known && a.Seq < m.Seq:
		bare.Status = pacer.StatusStale
		return bare
	case known && a.Seq == m.Seq && !b.opts.Without.Seq:
		reply := m.reply
		reply.Now, reply.Time = b.now, b.time
		return reply
	case m != nil && !known && (a.Seq > 1 && a.Ack <= m.At || b.Members[a.Worker+"/"+a.Incarnation] != nil):
		bare.Status = pacer.StatusReplaced
		return bare
	case b.Phase == "ended", b.Phase == "stopped" && !known && (a.Leased == 0 || b.now >= b.grantFrom):
		bare.Status = pacer.StatusEnded
		return bare
	}
	b.settle(a.Known)
	far := int64(math.Floor(3 * unit * float64(b.n) / float64(b.opts.Qmax)))
	rtt := a.RTTHi
	need := max(b.opts.Horizon, 3*(rtt+2*frame+2000), far)
	if need > b.Reach && float64(b.now-b.grown) >= 0.2*float64(b.Reach) {
		b.Reach, b.grown = min(need, int64(math.Floor(1.2*float64(b.Reach)))), b.now
	} else if b.Reach > b.opts.Horizon && b.now-b.grown > 10*unit {
		b.Reach, b.grown = max(b.opts.Horizon, int64(math.Floor(0.9*float64(b.Reach)))), b.now
	}
	m = b.expire(m, a, far)
	b.suspects()
	fresh := a.Ack <= b.now && a.Ack >= b.now-int64(math.Floor(0.6*float64(b.Reach)))
	if m != nil && m.present && m.Phi > 0 && b.Phase == "running" && !fresh {
		if m.State != "suspect" {
			b.suspect(m)
		}
		m.Seq, m.Ack, m.At, m.RTT = a.Seq, a.Ack, b.now, rtt
		m.reply = b.answer()
		m.reply.Status = pacer.StatusSuspect
		b.store()
		return m.reply
	}
	c := call{Budget: b, ask: a}
	c.enter(m)
	c.steal = min(rtt+10_000, b.Reach/2)
	if b.Phase == "waiting" && b.opts.Min > 0 && b.n >= b.opts.Min {
		b.start()
	}
	reply := c.grant()
	c.m.reply = reply
	b.store()
	return reply
}

// answer is a reply without a grant.
func (b *Budget) answer() pacer.Reply {
	return pacer.Reply{Now: b.now, Time: b.time, LeasedAt: b.now, Members: b.n, Weights: b.w, Version: b.version,
		Recalls: b.Recalls, Horizon: b.Reach, Stood: b.stoodStill()}
}

// expire drops who was silent for too long. It returns the caller's record, nil for one that must get a new one.
func (b *Budget) expire(m *Member, a pacer.Ask, far int64) *Member {
	life := max(b.opts.TTL, far)
	if b.opts.PermitFor > 0 && b.Phase != "waiting" {
		life = max(life, b.opts.PermitFor)
	}
	gone := b.now + b.opts.Horizon - life
	for i, name := range b.active() {
		if i == 16 || b.Members[name].From >= gone {
			break
		}
		if name != a.Worker {
			b.drop(name, b.Members[name], "lost")
		}
	}
	if m != nil && m.present && m.From < gone {
		b.drop(a.Worker, m, "lost")
	}
	if m != nil && m.Incarnation != a.Incarnation {
		if m.present {
			b.drop(a.Worker, m, "replaced")
		}
		b.Members[a.Worker+"/"+m.Incarnation] = m
		delete(b.Members, a.Worker)
		m = nil
	}
	return m
}

// enter lets the caller in.
func (c *call) enter(m *Member) {
	b, a := c.Budget, c.ask
	present := m != nil && m.present
	c.gaveWay = b.away
	c.handing = a.PhiHeld > 0 && (!present || m.State == "suspect")
	if present && m.State == "suspect" {
		b.away -= m.Phi
	}
	c.joins = !present
	if c.joins {
		b.joins++
		b.n++
		b.w += a.Weight
		b.version++
		if m == nil {
			m = &Member{Incarnation: a.Incarnation}
			b.Members[a.Worker] = m
		}
		m.Rank = b.joins
	} else {
		if a.Weight != m.Weight {
			b.w += a.Weight - m.Weight
			b.version++
		}
		m.V -= b.shift - m.shift
	}
	b.phi += a.PhiHeld - m.Phi
	m.State, m.present, m.Phi = "active", true, a.PhiHeld
	m.Seq, m.Weight, m.At, m.Ack, m.RTT, m.shift = a.Seq, a.Weight, b.now, a.Ack, a.RTTHi, b.shift
	if d := a.Leased - m.Leased; d > 0 {
		known := min(d, b.Skipped)
		b.Skipped -= known
		b.Issued += d - known
		m.Leased = a.Leased
	}
	c.m = m
}

func (b *Budget) start() {
	t0 := b.now + b.opts.Horizon
	b.Phase, b.cutAt = "running", t0-1
	if b.Started == 0 {
		b.Started = t0
	}
	p := b.opts.Pieces[0]
	if b.opts.Span > 0 {
		b.stop = t0 + b.opts.Span
		if p.Dur == 0 || p.Dur > b.opts.Span {
			p = part(p, 0, b.opts.Span)
		}
	}
	b.piece = 1
	b.begin(p, t0, 0, 1)
}

// call is one lease call past the door.
type call struct {
	*Budget
	m       *Member
	joins   bool
	handing bool  // its permit may be in force
	gaveWay int64 // the sum of the suspects' permits before this call
	ask     pacer.Ask
	steal   int64
}

func (c *call) granting() (*Generation, int64) {
	for {
		if c.at >= int64(len(c.Gens)) {
			return nil, 0
		}
		g := c.Gens[c.at]
		top := g.limit()
		past := ceilFrame(g.upto(c.now), g.F)
		if c.now < c.grantFrom && !c.waits() && !c.opts.Without.GrantFrom {
			past = max(past, ceilFrame(g.upto(c.grantFrom), g.F))
		}
		c.skip(g, min(top, past))
		if g.Next < top {
			return g, top
		}
		if c.at+1 >= int64(len(c.Gens)) && (c.Phase != "running" || !c.advance()) {
			return nil, 0
		}
		c.at++
	}
}

func (c *call) credit(g *Generation, share float64) {
	m := c.m
	if c.joins {
		m.V = max(c.now, g.when(g.Next)) - int64(math.Floor(math.Mod(float64(c.Budget.joins)*0.618, 1)/share))
	} else if m.Gen != g.ID {
		ref := max(c.now, g.T0)
		slot := max(0, min(1, float64(ref-m.V)*float64(m.Share)/unit/unit))
		m.V = ref - int64(math.Floor(slot/share))
	}
	m.V = max(m.V, c.now-int64(math.Floor(1/share)))
	m.Gen, m.Share = g.ID, int64(math.Floor(share*unit*unit))
}

func (c *call) hold(g *Generation, n int64) {
	kept := c.m.ranges
	for len(kept) > 0 && kept[0].until <= c.now {
		kept = kept[1:]
	}
	last := min(g.K, ceilFrame(g.Next+n, g.F))
	c.m.ranges = append(kept, held{gen: g.ID, first: g.Next, n: n, until: g.when(last-1) + 1})
}

func (c *call) grant() pacer.Reply {
	b, m := c.Budget, c.m
	r := b.answer()
	r.Status = pacer.StatusOK
	var g *Generation
	var top int64
	if b.Phase == "running" || b.Phase == "paused" {
		g, top = c.granting()
	}
	promised := m.From
	m.From = b.now + b.Reach
	if !c.joins && c.ask.PhiHeld > 0 {
		promised = max(promised, b.edge)
		m.From = max(promised, min(m.From, promised+b.Reach/5))
	}
	if c.handing {
		r.Hand = b.now
		if b.now < b.grantFrom {
			if b.Phase == "running" && (b.revoked == 0 || b.opts.Without.Revoke) {
				r.Hand = b.grantFrom
			}
		} else if g != nil && b.Phase == "running" && float64(c.gaveWay) <= g.rateAt(max(b.now, g.T0))*unit*unit {
			r.Hand = g.when(ceilFrame(g.Next, g.F))
		}
		m.From = min(b.now+b.Reach, max(r.Hand, b.edge)+2*c.ask.RTTHi+10_000)
	}
	if g != nil {
		c.take(g, top, &r)
		if b.standby == "" {
			b.standby = c.ask.Worker
		}
		if b.standby == c.ask.Worker && g.Next < top {
			r.Next = max(b.grantFrom, g.when(floorFrame(g.Next, g.F))) - c.steal
		}
		if g.Next >= top && g.Ends < b.now+b.Reach {
			r.Next = b.now
		}
	} else if last := len(b.Gens) - 1; b.Phase == "running" && b.now >= b.Gens[last].Ends {
		b.Phase, b.Ended = "ended", b.Gens[last].Ends
	}
	switch b.Phase {
	case "waiting":
		r.Status = pacer.StatusWait
	case "paused":
		r.Status = pacer.StatusPaused
	case "stopped":
		r.Status = pacer.StatusStopped
	case "ended":
		r.Status = pacer.StatusEnded
	}
	if b.opts.PermitFor > 0 && r.Status == pacer.StatusOK && g != nil && !c.joins {
		r.Permit = c.permit(g)
	}
	return r
}

func (c *call) take(g *Generation, top int64, r *pacer.Reply) {
	b, m := c.Budget, c.m
	edge := c.barrier()
	hi := top
	if x := g.upto(edge); x < top {
		hi = floorFrame(x, g.F)
	}
	now, later := g.rateAt(max(b.now, g.when(g.Next))), g.rateAt(edge)
	share := max(now, later, g.rateAt(b.now)) * float64(c.ask.Weight) / float64(b.w)
	f := b.yields(min(now, later))
	if c.waits() {
		f = unit
	}
	if g.Next%g.F > 0 && f != b.thin {
		f = b.thin
		hi = min(hi, ceilFrame(g.Next, g.F))
	}
	b.thin = f
	if share <= 0 {
		return
	}
	c.credit(g, share)
	if r.Hand > 0 {
		m.V = max(m.V, r.Hand)
	}
	q := int64(max(0, math.Floor(float64(min(c.ask.Until, edge)-m.V)*share)))
	wanted := q
	if f > 0 && f < unit {
		wanted = int64(math.Floor(float64(q) * unit / float64(unit-f)))
	}
	left := ceilFrame(g.upto(b.now+c.steal), g.F) - g.Next
	n := max(0, min(hi-g.Next, max(wanted, left)))
	if n == 0 || f == unit {
		return
	}
	c.hold(g, n)
	m.V += int64(math.Floor(min(float64(n)*float64(unit-f)/unit, float64(q))/share + 0.5))
	beyond := g.over(g.Next, g.Next+n, g.Cut)
	m.Leased += n
	m.Beyond += beyond
	b.Issued += n
	b.Beyond += beyond
	r.Range = pacer.Range{Law: g.Law, First: g.Next, N: n, Yield: f}
	g.Next += n
	b.standby = c.ask.Worker
}
