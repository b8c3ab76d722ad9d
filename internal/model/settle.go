package model

import (
	"cmp"
	"slices"

	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

// settle is what comes before each call: other servers, clocks that went back, promises that are over.
func (r *Run) settle(now int64) {
	epoch := r.Identity
	first := r.epoch != epoch
	r.checkClock(now)
	if r.now = max(now, r.last); r.now-r.last > 1_000_000 { // nobody could be heard
		r.patience = r.now + max(2_000_000, 2*r.period())
		r.heard += r.now - r.last
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
	r.unheard()
	r.expire()
	r.adopt()
	if r.now-r.leveled >= 1_000_000 {
		r.leveled = r.now
		r.level()
	}
}

// inherit is for the first call of a server that is another one than before: it may have forgotten who owns what.
func (r *Run) inherit(epoch string) {
	r.epoch = epoch
	if r.Without.Stored {
		for _, m := range r.members {
			m.epoch = epoch
		}
		return
	}
	r.tf, r.quiet, r.orphans = r.now, r.now+min(r.Hold, longest)+margin, lease.Whole()
	at := r.pos(r.now)
	var all []Entry // what ends here
	gather := func(owner string, s lease.Segs) {
		for _, x := range s {
			at = lease.Later(at, x.Since)
			all = append(all, Entry{Owner: owner, Lo: x.Lo, Hi: x.Hi, From: x.Since})
		}
	}
	for _, m := range r.members {
		if m.gone {
			continue
		}
		whose := r.lapse(m, r.now)
		gather(whose, m.held)
		seen := m.joins
		if m.epoch != "" {
			seen = r.heardOf(m)
		}
		r.own(m, nil)
		m.target, m.epoch, m.joins = nil, "", seen
	}
	gather("", r.free)
	gather("", r.unknown)
	for _, e := range all {
		r.close(e.Owner, lease.Seg{Lo: e.Lo, Hi: e.Hi, Since: e.From}, at)
	}
	r.free, r.unknown = nil, lease.Segs{{Hi: circle.Units, Since: at}}
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
	at := r.pos(r.now)
	for _, s := range r.unknown {
		s.From = at
		r.free = r.free.Plus(lease.Segs{s})
	}
	r.unknown = nil
	r.adopt()
}

// expire passes on what was promised to members that are silent.
func (r *Run) expire() {
	if r.now < r.patience {
		return
	}
	late := r.now
	if r.Without.Promise {
		late += r.Hold / 2
	}
	due := slices.DeleteFunc(r.present(), func(m *Member) bool { return m.drops >= late })
	slices.SortStableFunc(due, func(a, b *Member) int { return cmp.Compare(a.drops, b.drops) })
	for _, m := range due[:min(len(due), atOnce)] {
		r.drop(m, r.now)
	}
}

// lapse is whose it is at a time what m holds: nobody's from the end of its promise on, if that is before.
func (r *Run) lapse(m *Member, t int64) string {
	ends := m.drops - grace
	if ends >= t {
		return m.owner()
	}
	at := r.pos(ends)
	m.held = m.held.Each(func(s *lease.Seg) { s.Since = r.close(m.owner(), *s, at) })
	return ""
}

// drop is for a member that is gone: what it held is free from a time on.
func (r *Run) drop(m *Member, t int64) {
	seen, whose := r.heardOf(m), r.lapse(m, t)
	m.gone = true
	units := m.held
	r.own(m, nil)
	m.joins = seen
	r.letGo(whose, units, r.pos(t))
	r.abandon(m)
}

// Remove takes a member for gone because somebody says so.
func (r *Run) Remove(now int64, name string) {
	if r.members[name] == nil {
		return
	}
	r.settle(now)
	if m := r.members[name]; m != nil {
		r.remove(m)
	}
}

// remove is for a member that somebody says is gone. Its clock may have been ahead of this one, by as much as begins no new era. As long as others
// may still claim what it is believed to hold, that is nobody's: a late copy of an old claim may have spoken for it.
func (r *Run) remove(m *Member) {
	if !m.gone && m.epoch == r.epoch {
		if r.quiet > 0 {
			r.takeBack(m)
		}
		r.drop(m, r.now+stepped)
	}
}

// replace is for a member whose name another process has taken.
func (r *Run) replace(m *Member) {
	r.remove(m)
	r.replaced[m.owner()] = true
	delete(r.members, m.Name)
}

// unheard stops a run of which no controller was heard for too long.
func (r *Run) unheard() {
	if r.Deadman == 0 || r.now <= max(r.heard, r.started)+r.Deadman {
		return
	}
	if n := r.laws.Newest(); n.Phase < lease.Stopped {
		r.change("stop", nil)
	}
}

// checkClock begins a new era where the clock went back. A promise covers the laws of its own era only, so in the new one everybody goes on with
// what it has from the first slot, and what nobody has is free: nobody else can be sending that.
func (r *Run) checkClock(now int64) {
	if r.laws == nil || r.Without.NewEra || now >= r.last-stepped {
		return
	}
	delta := now - r.last
	t, t0 := r.last, now+r.ahead()
	r.now = now
	l, old := r.behind(t, t0)
	l.Phase, l.Era = old.Phase, l.ID
	if old.Phase != lease.Running {
		r.nothing(&l)
	} else {
		if l.End < endless {
			l.End += t0 - t
		}
		if old.Dur == 0 || t < old.T0+old.Dur {
			l.Left = old.rest(t)
		}
		r.next(&l)
	}
	r.era = l.ID
	r.know(l)
	r.last, r.patience, r.started = now, now+max(2_000_000, 2*r.period()), r.started+delta
	r.heard += delta
	at := lease.Pos{G: l.ID}
	for _, m := range r.present() {
		m.drops += delta
		r.own(m, m.held.Each(func(s *lease.Seg) { s.From = at }))
	}
	r.leveled = now
	r.free = r.free.Each(func(s *lease.Seg) { s.From = at })
	if r.quiet > 0 {
		r.endQuiet()
	}
	for _, m := range r.present() {
		r.woken[m.Name] = true
	}
}
