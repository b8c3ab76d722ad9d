package arcs

import "fmt"

// settle is what comes before each call: other servers, clocks that went back, promises that are over.
func (r *Run) settle(now int64) {
	epoch := r.Identity
	first := r.epoch != epoch
	r.checkClock(now)
	if r.now = max(now, r.last); r.now-r.last > 1_000_000 {
		r.patience = r.now + max(2_000_000, 2*r.period())
	}
	r.last = r.now
	if first {
		r.inherit(epoch)
	}
	if r.quiet > 0 && r.now >= r.quiet {
		r.endQuiet()
	}
	if r.laws == nil { // it has not begun
		return
	}
	r.follow()
	r.expire()
	if r.now-r.leveled >= 1_000_000 {
		r.leveled = r.now
		r.level()
		r.dust()
	}
}

// inherit is for the first call of a server that is another one than before: it may have forgotten who owns what.
func (r *Run) inherit(epoch string) {
	r.epoch = epoch
	r.words = nil
	if r.Without.Stored {
		for _, m := range r.members {
			m.epoch = epoch
		}
		return
	}
	r.tf, r.quiet = r.now, r.now+r.Hold+margin
	at := r.laws.Pos(r.now, r.era)
	old := r.unknown
	r.unknown = nil
	gather := func(owner string, s Segs) {
		for _, x := range s {
			x.since = r.close(owner, x, at)
			x.From, x.To = Pos{}, ""
			r.unknown = r.unknown.plus(Segs{x})
		}
	}
	for _, m := range r.members {
		gather(m.owner(), m.held.minus(r.unknown))
		m.held, m.target, m.spoke = nil, nil, nil
	}
	gather("", r.free.minus(r.unknown))
	r.free = nil
	gather("", old)
	if r.Without.Quarantine {
		r.endQuiet()
	}
}

// endQuiet frees what nobody has claimed: every promise of a former server is over.
func (r *Run) endQuiet() {
	r.quiet = 0
	for _, m := range r.members {
		if m.epoch != r.epoch {
			m.gone = true
		}
	}
	at := r.laws.Pos(r.now, r.era)
	for _, s := range r.unknown {
		s.From, s.To = at, ""
		r.free = r.free.plus(Segs{s})
	}
	r.unknown, r.words = nil, nil
	r.assign(r.orphans())
}

// expire passes on what was promised to members that are silent.
func (r *Run) expire() {
	if r.now < r.patience {
		return
	}
	for _, m := range r.present() {
		wait := m.until + grace
		if r.Without.Promise {
			wait = m.heard + r.Hold/2
		}
		silent := len(m.held) == 0 && r.now > m.heard+3_000_000+2*r.period()
		if r.now > wait || silent {
			r.drop(m, r.now)
		}
	}
}

// drop is for a member that is gone: what it held is free from a time on.
func (r *Run) drop(m *Member, at int64) {
	m.gone = true
	units := m.held
	m.held = nil
	r.letGo(m, units, r.laws.Pos(at, r.era), "")
	lost := m.target
	m.target = nil
	r.orphan(m)
	r.assign(lost)
}

// orphan makes what was promised to a member that goes anybody's.
func (r *Run) orphan(m *Member) {
	r.free = r.free.each(func(s *Seg) {
		if s.To == m.ticket() {
			s.To = ""
		}
	})
}

// Remove takes a member for gone because somebody says so. Its clock may have been ahead of this one, by as much as begins no new era.
func (r *Run) Remove(name string) {
	if m := r.members[name]; m != nil && !m.gone && r.laws != nil && m.epoch == r.epoch {
		r.drop(m, r.now+stepped)
	}
	delete(r.members, name)
}

// checkClock begins a new era where the clock went back. A promise covers the laws of its own era only, so in the new one everybody goes on with
// what it has from the first slot, and what nobody has is free: nobody else can be sending that.
func (r *Run) checkClock(now int64) {
	if r.laws == nil || r.Without.NewEra || now >= r.last-stepped {
		return
	}
	delta := now - r.last
	active := r.laws.at(r.last, r.era)
	r.now = now
	l := r.continued(active, r.last, now+r.ahead())
	l.EraBefore, l.Was, l.Era = r.era, r.last, l.ID
	r.era, r.last, r.patience = l.ID, now, now+max(2_000_000, 2*r.period())
	r.add(l)
	at := Pos{l.ID, 0}
	for _, m := range r.members {
		m.until, m.heard = m.until+delta, m.heard+delta
		m.held = m.held.each(func(s *Seg) { s.From = at })
	}
	r.leveled = now
	r.free = r.free.each(func(s *Seg) { s.From = at })
	if r.quiet > 0 {
		r.endQuiet()
	}
	for _, m := range r.present() {
		r.woken[m.Name] = true
	}
}

func (r *Run) String() string {
	return fmt.Sprintf("epoch %s era %d quiet %d free %v unknown %v", r.epoch, r.era, r.quiet, r.free, r.unknown)
}
