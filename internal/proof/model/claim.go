package model

import "github.com/loadctl/loadctl/pacer/lease"

// claim believes what a worker says it holds, if its lease was still running when this server was first called.
// Until then the former server cannot have given it to anybody else. A place that somebody has already claimed is not
// believed.
func (r *Run) claim(m *Member, c lease.Call) {
	if m.epoch == r.epoch && len(m.held) > 0 && !r.Without.Reclaim { // a late copy of an old claim had spoken for it
		r.takeBack(m)
	}
	valid := r.grace > 0 && r.laws != nil && c.Claim.ClockEpoch == r.clockEpoch && (c.Claim.P >= r.tf+margin || r.Without.Age)
	if valid || r.Without.Owned {
		if r.Without.Owned {
			r.seize(c.Claim.Held)
		}
		var claimed lease.Ranges
		claimed, r.unknown = r.unknown.Split(c.Claim.Held)
		held := m.held
		for _, s := range c.Claim.Held {
			for _, x := range claimed.And(lease.Ranges{s}) {
				x.From = s.From
				x.Since = r.close("", x, lease.Later(x.Since, s.From))
				held = held.Plus(lease.Ranges{x})
			}
		}
		if len(held) > len(m.held) {
			r.setHeld(m, held)
		}
	}
	m.epoch = r.epoch
	r.unassigned = r.unassigned.Union(m.target)
	m.target = nil
	r.addTarget(m, m.held.And(r.unassigned))
}

// takeBack makes what m was believed to hold unknown again.
func (r *Run) takeBack(m *Member) {
	at := r.pos(r.now)
	if r.grace == 0 {
		units := m.held
		r.setHeld(m, nil)
		r.makeFree(m.owner(), units, at)
		return
	}
	for _, s := range m.held {
		s.Since = r.close(m.owner(), s, lease.Later(s.Since, at))
		s.From = lease.Pos{}
		r.unknown = r.unknown.Plus(lease.Ranges{s})
	}
	r.setHeld(m, nil)
}

// seize makes places unknown, whoever has them. Only runs without the rule Owned do this.
func (r *Run) seize(units lease.Ranges) {
	for _, x := range r.present() {
		var in lease.Ranges
		in, x.held = x.held.Split(units)
		r.unknown = r.unknown.Plus(in)
	}
	var in lease.Ranges
	in, r.free = r.free.Split(units)
	r.unknown = r.unknown.Plus(in)
}
