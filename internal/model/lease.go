package model

import (
	"math"
	"slices"

	"github.com/loadctl/loadctl/pacer"
)

// Lease is lua/lease.lua at time now.
func (b *Budget) Lease(now int64, a pacer.Ask) pacer.Reply {
	b.tick(now)
	if b.time < b.last-b.opts.Horizon {
		return pacer.Reply{Status: pacer.StatusClock, Now: b.last, Time: b.time, Recalls: b.Recalls}
	}
	m := b.Members[a.Worker]
	known := m != nil && m.Incarnation == a.Incarnation
	bare := pacer.Reply{Now: b.now, Time: b.time, Recalls: b.Recalls}
	switch {
	case known && a.Seq < m.Seq:
		bare.Status = pacer.StatusStale
		return bare
	case known && a.Seq == m.Seq:
		reply := m.reply
		reply.Now, reply.Time = b.now, b.time
		return reply
	case m != nil && !known && (a.Seq > 1 || b.Members[a.Worker+"/"+a.Incarnation] != nil):
		bare.Status = pacer.StatusReplaced
		return bare
	case b.Phase == "ended", b.Phase == "stopped" && !known:
		bare.Status = pacer.StatusEnded
		return bare
	}
	m, joins := b.enter(m, a)
	c := call{Budget: b, m: m, joins: joins, ask: a}
	c.horizon = max(b.opts.Horizon, int64(math.Floor(1.5*float64(a.RTTHi+2*frame+2000))), int64(math.Floor(3*unit*float64(b.n)/float64(b.opts.Qmax))))
	c.steal = min(a.RTTHi+10_000, c.horizon/2)
	if b.Phase == "waiting" && b.opts.Min > 0 && b.n >= b.opts.Min {
		b.start()
	}
	reply := c.grant()
	m.reply = reply
	m.seen = b.now
	b.store()
	return reply
}

// enter expires the silent, and lets the caller in.
func (b *Budget) enter(m *Member, a pacer.Ask) (*Member, bool) {
	ttl := max(b.opts.TTL, int64(math.Floor(3*unit*float64(b.n)/float64(b.opts.Qmax))))
	var silent []string
	for name, o := range b.Members {
		if o.present && o.seen < b.now-ttl {
			silent = append(silent, name)
		}
	}
	slices.SortFunc(silent, func(x, y string) int {
		if d := b.Members[x].seen - b.Members[y].seen; d != 0 {
			return int(d)
		}
		if x < y {
			return -1
		}
		return 1
	})
	for _, name := range silent[:min(16, len(silent))] {
		if name != a.Worker {
			b.drop(name, b.Members[name], "lost")
		}
	}
	if m != nil && m.Incarnation != a.Incarnation {
		if m.present {
			b.drop(a.Worker, m, "replaced")
		}
		b.Members[a.Worker+"/"+m.Incarnation] = m
		m = nil
	}
	joins := m == nil || !m.present
	if joins {
		b.joins++
		b.n++
		b.w += a.Weight
		b.version++
		if m == nil {
			m = &Member{Incarnation: a.Incarnation}
			b.Members[a.Worker] = m
		}
	} else {
		if a.Weight != m.Weight {
			b.w += a.Weight - m.Weight
			b.version++
		}
		m.V -= b.shift - m.shift
	}
	m.State, m.present = "active", true
	m.Seq, m.Weight, m.At, m.Ack, m.RTT, m.shift = a.Seq, a.Weight, b.now, a.Ack, a.RTTHi, b.shift
	return m, joins
}

func (b *Budget) start() {
	b.Phase = "running"
	b.Started = b.now + b.opts.Horizon
	p := b.opts.Pieces[0]
	if b.opts.Span > 0 {
		b.stop = b.Started + b.opts.Span
		if p.Dur == 0 || p.Dur > b.opts.Span {
			p = part(p, 0, b.opts.Span)
		}
	}
	b.piece = 1
	b.begin(p, b.Started, 0, 1)
}

// call is one lease call past the door.
type call struct {
	*Budget
	m       *Member
	joins   bool
	ask     pacer.Ask
	horizon int64
	steal   int64
}

func (c *call) granting() (*Generation, int64) {
	for {
		if c.at >= int64(len(c.Gens)) {
			return nil, 0
		}
		g := c.Gens[c.at]
		top := g.limit()
		c.skip(g, min(top, ceilFrame(g.upto(c.now), g.F)))
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
	r := pacer.Reply{Status: pacer.StatusOK, Now: b.now, Time: b.time, LeasedAt: b.now, Members: b.n, Weights: b.w, Version: b.version}
	var g *Generation
	var top int64
	if b.Phase == "running" || b.Phase == "paused" {
		g, top = c.granting()
	}
	if g != nil {
		c.take(g, top, &r)
		if b.standby == "" {
			b.standby = c.ask.Worker
		}
		if b.standby == c.ask.Worker && g.Next < top {
			r.Next = g.when(floorFrame(g.Next, g.F)) - c.steal
		}
		if g.Next >= top && g.Ends < b.now+c.horizon {
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
	r.Recalls = b.Recalls
	m.State = "active"
	return r
}

func (c *call) take(g *Generation, top int64, r *pacer.Reply) {
	b, m := c.Budget, c.m
	hi := top
	if x := g.upto(b.now + c.horizon); x < top {
		hi = floorFrame(x, g.F)
	}
	share := max(g.rateAt(b.now), g.rateAt(b.now+c.horizon)) * float64(c.ask.Weight) / float64(b.w)
	if share <= 0 {
		return
	}
	c.credit(g, share)
	q := int64(max(0, math.Floor(float64(min(c.ask.Until, b.now+c.horizon)-m.V)*share)))
	left := ceilFrame(g.upto(b.now+c.steal), g.F) - g.Next
	n := max(0, min(hi-g.Next, max(q, left)))
	if n == 0 {
		return
	}
	c.hold(g, n)
	m.V += int64(math.Floor(float64(min(n, q))/share + 0.5))
	beyond := g.over(g.Next, g.Next+n, g.Cut)
	m.Leased += n
	m.Beyond += beyond
	b.Issued += n
	b.Beyond += beyond
	r.Range = pacer.Range{Law: g.Law, First: g.Next, N: n}
	g.Next += n
	b.standby = c.ask.Worker
}
