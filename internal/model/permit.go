package model

import (
	"math"
	"slices"

	"github.com/loadctl/loadctl/pacer"
)

// active are the names of the members that have not left, by when their permits begin and then by name, as a sorted set has them.
func (b *Budget) active() []string {
	var names []string
	for name, m := range b.Members {
		if m.present {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		if d := b.Members[x].From - b.Members[y].From; d != 0 {
			return int(d)
		}
		if x < y {
			return -1
		}
		return 1
	})
	return names
}

func (b *Budget) suspect(m *Member) {
	m.State = "suspect"
	b.away += m.Phi
}

func (b *Budget) suspects() {
	if b.opts.PermitFor == 0 {
		return
	}
	edge := max(b.edge, b.now+int64(math.Floor(0.4*float64(b.Reach))))
	for _, m := range b.Members {
		if m.present && m.From >= b.edge && m.From < edge && m.State == "active" {
			b.suspect(m)
		}
	}
	b.edge = edge
}

func (b *Budget) anew(t, t0 int64) {
	if b.Phase == "running" && len(b.Gens) > 0 {
		g, c := b.cut(t)
		for _, x := range b.Gens {
			b.skip(x, x.limit())
		}
		b.cutAt = t0
		over := b.Gens
		if t != t0 {
			b.Gens, b.at = nil, 0
		}
		b.resume(remainder(g, t), t0, c, g.Piece)
		if len(b.Gens) == 0 {
			b.Gens, b.at = over, int64(len(over)-1)
		}
	}
	b.edge = b.now + b.Reach
	for _, m := range b.Members {
		m.At = min(m.At, b.now)
		if t != t0 {
			m.ranges = nil
		}
		if m.State == "active" {
			b.suspect(m)
		}
		if m.State == "suspect" {
			m.From = b.edge - 1
		}
	}
	b.version++
}

func (b *Budget) settle(known int64) {
	behind, untold := known > b.id && b.Phase == "running", b.latest() == b.renewed
	other := b.Server != "" && b.identity != "" && b.Server != b.identity && !b.opts.Without.Identity
	b.id = max(b.id, known)
	switch {
	case b.time < b.last-b.Reach:
		by := b.last - b.time
		for _, at := range []*int64{&b.Started, &b.stop, &b.pausedAt, &b.heard, &b.grown, &b.cutAt, &b.grantFrom, &b.revoked} {
			if *at > 0 {
				*at -= by
			}
		}
		last := b.last
		b.now = b.time
		b.anew(last, b.now+b.Reach)
	case other || behind:
		t0 := max(b.now+b.Reach, b.cutAt+1)
		b.anew(t0, t0)
	}
	if other || untold {
		b.renewed = b.latest()
	}
	if b.Server != "" {
		b.identity = b.Server
	}
	if b.now-b.last > unit {
		b.heard += b.now - b.last
	}
	if b.opts.Deadman > 0 && (b.Phase == "running" || b.Phase == "paused") && b.now > max(b.heard, b.Started)+b.opts.Deadman {
		b.halt(max(b.now+lead, b.cutAt+1))
		b.version++
	}
}

// barrier is the time up to which slots are granted.
func (c *call) barrier() int64 {
	edge := c.now + c.Reach
	if c.opts.PermitFor == 0 || c.opts.Without.Barrier {
		return edge
	}
	for _, m := range c.Members {
		if m.present && m.From >= c.edge {
			edge = min(edge, m.From)
		}
	}
	return edge
}

// waits tells whether nothing that is due up to H from now is granted, because of permits of before the state was lost.
func (b *Budget) waits() bool { return b.now+b.Reach < b.grantFrom && !b.opts.Without.GrantFrom }

// low is the lowest rate of what is to come, as far as a permit given now may last.
func (b *Budget) low() int64 {
	low := pacer.Endless
	for _, g := range b.Gens {
		if g.Ends > b.now {
			low = min(low, g.Low)
		}
	}
	return low
}

func (c *call) permit(g *Generation) pacer.Permit {
	b, m := c.Budget, c.m
	low, ends := b.low(), min(b.now, m.From-b.opts.Horizon)+b.opts.PermitFor
	if b.stop > 0 {
		ends = min(ends, b.stop)
	}
	if b.opts.Deadman > 0 {
		ends = min(ends, max(b.heard, b.Started)+b.opts.Deadman)
	}
	if b.left >= 0 {
		ends = min(ends, b.Gens[len(b.Gens)-1].Ends+int64(math.Floor(float64(b.left)/float64(max(1, low))*unit*unit)))
	}
	if low == pacer.Endless {
		return pacer.Permit{}
	}
	free := low - (b.phi - m.Phi)
	phi := max(0, min(int64(math.Floor(float64(low)*float64(c.ask.Weight)/float64(b.w))), free))
	from := max(m.From, g.T0, b.grantFrom)
	if b.opts.Without.Ack {
		b.phi -= m.Phi - phi
		m.Phi = phi
	}
	if phi == 0 || from >= ends {
		return pacer.Permit{}
	}
	if phi > m.Phi {
		b.phi += phi - m.Phi
		m.Phi = phi
	}
	phase := int64(math.Floor(math.Mod(float64(m.Rank)*0.6180339887, 1) * unit))
	return pacer.Permit{
		Law:  pacer.Law{T0: g.T0, C: phase, R0: phi, R1: phi, Den: unit, K: pacer.Endless, F: 1},
		From: from, Until: ends,
	}
}

func (b *Budget) yields(r float64) int64 {
	if b.away == 0 || b.opts.Without.Thinning {
		return 0
	}
	return int64(min(unit, math.Ceil(float64(b.away)/max(1, r*unit*unit)*unit)))
}
