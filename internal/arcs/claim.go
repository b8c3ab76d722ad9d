package arcs

import "strings"

// word is what a member says that it gave up to another under a former server.
type word struct {
	Release
	giver string // by name
}

// claim believes a worker what is true whatever was forgotten: what it holds under a promise that ran when this server was first called. Until
// then the former server cannot have given it to anybody else. Of what somebody has spoken for already, nothing.
func (r *Run) claim(m *Member, c Call) {
	if m.epoch == r.epoch && len(m.held) > 0 && !r.Without.Reclaim { // a late copy of an old claim had spoken for it
		r.takeBack(m)
	}
	valid := r.quiet > 0 && c.Claim.Era == r.era && (c.Claim.P >= r.tf+margin || r.Without.Age)
	if valid || r.Without.Owned {
		var claimed Segs
		if r.Without.Owned {
			r.seize(c.Claim.Held)
		}
		claimed, r.unknown = r.unknown.split(c.Claim.Held)
		owned := c.Claim.Held.and(claimed)
		for _, s := range owned {
			in := claimed.and(Segs{s})
			for _, x := range in {
				x.From = s.From
				x.since = r.close("", x, later(x.since, s.From))
				m.held = m.held.plus(Segs{x})
			}
		}
	}
	m.epoch = r.epoch
	m.target = m.held.bare()
	for _, x := range r.present() {
		if x != m {
			m.target = m.target.minus(x.target)
		}
	}
	if !valid {
		return
	}
	m.spoke, m.spokeOf = c.Claim, c.Epoch
	for _, x := range c.Claim.Gone {
		if x.Epoch == c.Epoch && x.To != "" {
			r.words = append(r.words, word{x, m.Name})
		}
	}
	r.heed()
}

// takeBack makes what m was believed to hold unknown again.
func (r *Run) takeBack(m *Member) {
	at := r.laws.Pos(r.now, r.era)
	if r.quiet == 0 {
		r.letGo(m, m.held, at, "")
		m.held = nil
		return
	}
	for _, s := range m.held {
		s.since = r.close(m.owner(), s, later(s.since, at))
		s.From = Pos{}
		r.unknown = r.unknown.plus(Segs{s})
	}
	m.held = nil
}

// seize makes units unknown whoever has them: only without the rule that it must not be.
func (r *Run) seize(units Segs) {
	for _, x := range r.present() {
		var in Segs
		in, x.held = x.held.split(units)
		r.unknown = r.unknown.plus(in)
		x.target = x.target.minus(in)
	}
	var in Segs
	in, r.free = r.free.split(units)
	r.unknown = r.unknown.plus(in)
}

// heed frees what was given up to a member that has not got it. The former server gave a piece only to the stay that its giver had named, as
// long as that lasted; and it lasted, as the promise shows.
func (r *Run) heed() {
	for _, w := range r.words {
		y := r.hearer(w)
		if r.Without.Word {
			y = r.members[w.giver]
		}
		if y == nil {
			continue
		}
		in, rest := r.unknown.split(Segs{{Lo: w.Lo, Hi: w.Hi}})
		for _, g := range y.spoke.Gone { // it has had it, and given it up
			if !g.From.Less(w.From) && !r.Without.Word {
				in, rest = drop(in, rest, Seg{Lo: g.Lo, Hi: g.Hi})
			}
		}
		r.unknown = rest
		for _, s := range in {
			s.From, s.To = w.From, y.ticket()
			s.since = r.close("", s, later(s.since, s.From))
			r.free = r.free.plus(Segs{s})
		}
		for _, x := range r.present() {
			in = in.minus(x.target)
		}
		y.target = union(y.target, in)
		r.woken[y.Name] = true
	}
}

// hearer is the member that a word names, if it has spoken. What it holds is not unknown any more.
func (r *Run) hearer(w word) *Member {
	for _, m := range r.present() {
		if m.spoke == nil || m.leaving || m.spokeOf != w.Epoch {
			continue
		}
		if m.spoke.Ticket == w.To || r.Without.Ticket && strings.HasPrefix(w.To, m.Name+"@") {
			return m
		}
	}
	return nil
}

// drop moves units from in to out.
func drop(in, out Segs, s Seg) (Segs, Segs) {
	those, rest := in.split(Segs{s})
	return rest, out.plus(those)
}
