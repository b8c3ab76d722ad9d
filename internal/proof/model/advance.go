package model

import (
	"cmp"
	"slices"

	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

// advance does what is due before each call: a change of the server, a clock that went back, leases that are over.
func (r *Run) advance(now int64) {
	epoch := r.Identity
	r.time = now
	first := r.epoch != epoch
	if r.checkClock(now); r.laws == nil && now < r.last-stepped {
		r.doubt() // how long the rights last is not known any more
	}
	if r.now = max(now, r.last); r.now-r.last > 1_000_000 { // nobody could call
		r.noExpiryBefore = r.now + max(2_000_000, 2*r.period())
		r.controllerAt += r.now - r.last
	}
	r.last = r.now
	if first {
		r.beginGrace(epoch)
	}
	if r.grace > 0 && r.now >= r.grace {
		r.endGrace()
	}
	if r.laws == nil { // it has not begun
		return
	}
	r.follow()
	r.checkDeadman()
	r.expire()
	r.assign()
	if r.now-r.rebalancedAt >= 1_000_000 {
		r.rebalancedAt = r.now
		r.rebalance()
	}
}

// beginGrace is for the first call of another server than before. It may have forgotten who owns what.
func (r *Run) beginGrace(epoch string) {
	r.epoch = epoch
	r.doubt()
	if r.Without.Stored {
		for _, m := range r.members {
			m.epoch = epoch
		}
		return
	}
	r.tf, r.grace, r.unassigned = r.now, r.now+min(r.Hold, longest)+margin, lease.Whole()
	at := r.pos(r.now)
	var all []Entry // entries that end here
	gather := func(owner string, s lease.Ranges) {
		for _, x := range s {
			at = lease.Later(at, x.Since)
			all = append(all, Entry{Owner: owner, Lo: x.Lo, Hi: x.Hi, From: x.Since})
		}
	}
	for _, m := range r.members {
		if m.gone {
			continue
		}
		whose := r.endLease(m, r.now)
		gather(whose, m.held)
		seen := m.joins
		if m.epoch != "" {
			seen = r.lastCall(m)
		}
		r.setHeld(m, nil)
		m.target, m.epoch, m.joins = nil, "", seen
	}
	gather("", r.free)
	gather("", r.unknown)
	for _, e := range all {
		r.close(e.Owner, lease.Range{Lo: e.Lo, Hi: e.Hi, Since: e.From}, at)
	}
	r.free, r.unknown = nil, lease.Ranges{{Hi: circle.Units, Since: at}}
	if r.Without.Quarantine {
		r.endGrace()
	}
}

// endGrace frees what nobody has claimed. Every lease of a former server is over.
func (r *Run) endGrace() {
	r.grace = 0
	for _, m := range r.members {
		if m.epoch != r.epoch {
			m.gone = true
		}
	}
	at := r.pos(r.now)
	for _, s := range r.unknown {
		s.From = at
		r.free = r.free.Plus(lease.Ranges{s})
	}
	r.unknown = nil
	r.assign()
}

// expire frees what was leased to silent members.
func (r *Run) expire() {
	if r.now < r.noExpiryBefore {
		return
	}
	late := r.now
	if r.Without.Lease {
		late += r.Hold / 2
	}
	due := slices.DeleteFunc(r.present(), func(m *Member) bool { return m.drops >= late })
	slices.SortStableFunc(due, func(a, b *Member) int { return cmp.Compare(a.drops, b.drops) })
	for _, m := range due[:min(len(due), atOnce)] {
		r.drop(m, r.now)
	}
}

// endLease returns the owner of m's ranges at a time: m, or nobody if its lease ended before.
func (r *Run) endLease(m *Member, t int64) string {
	ends := m.drops - expirySlack
	if ends >= t {
		return m.owner()
	}
	at := r.pos(ends)
	m.held = m.held.Each(func(s *lease.Range) { s.Since = r.close(m.owner(), *s, at) })
	return ""
}

// drop is for a member that is gone. What it held is free from a time on.
func (r *Run) drop(m *Member, t int64) {
	seen, whose := r.lastCall(m), r.endLease(m, t)
	m.gone = true
	units := m.held
	r.setHeld(m, nil)
	m.joins = seen
	r.makeFree(whose, units, r.pos(t))
	r.unassign(m)
}

// Remove removes a member because somebody says that it is dead.
func (r *Run) Remove(now int64, name string) {
	if r.members[name] == nil {
		return
	}
	r.changed = false
	r.advance(now)
	if m := r.members[name]; m != nil {
		r.remove(m)
	}
	r.reweigh()
}

// remove removes a member that somebody says is gone. Its clock may have been ahead of this one, by up to stepped. In
// the grace period others may still claim what it is believed to hold, as a late copy of an old claim may have spoken
// for it. Until then these ranges are unknown.
func (r *Run) remove(m *Member) {
	if !m.gone && m.epoch == r.epoch {
		if r.grace > 0 {
			r.takeBack(m)
		}
		r.drop(m, r.now+stepped)
	}
}

// replace is for a member whose name another process has taken. If the first process lives, it calls now, and the reply
// says so.
func (r *Run) replace(m *Member) {
	r.remove(m)
	r.woken[m.Name] = true
	r.replaced[m.owner()] = true
	delete(r.members, m.Name)
}

// checkDeadman stops a run that no controller has called for too long.
func (r *Run) checkDeadman() {
	if r.Deadman == 0 || r.now <= max(r.controllerAt, r.started)+r.Deadman {
		return
	}
	if n := r.laws.Newest(); n.Phase < lease.Stopped {
		r.change(Order{Kind: "stop"})
	}
}

// checkClock begins a new clock epoch if the clock went back. A lease covers the laws of its own clock epoch only. So in the new
// clock epoch all go on with what they hold, from its first slot. What nobody holds is free, as nobody else can be sending
// it.
func (r *Run) checkClock(now int64) {
	if r.laws == nil || r.Without.NewClockEpoch || now >= r.last-stepped {
		return
	}
	delta := now - r.last
	t, t0 := r.last, now+r.ahead()
	r.now = now
	l, old := r.lawAfter(t, t0)
	l.Phase, l.ClockEpoch = old.Phase, l.ID
	if old.Phase != lease.Running {
		r.askNothing(&l)
	} else {
		if l.End < endless {
			l.End += t0 - t
		}
		if old.Dur == 0 || t < old.T0+old.Dur {
			l.Left = old.rest(t)
		}
		r.next(&l)
	}
	r.clockEpoch = l.ID
	r.addLaws(l)
	r.last, r.noExpiryBefore, r.started = now, now+max(2_000_000, 2*r.period()), r.started+delta
	r.controllerAt += delta
	if r.bound.Until > 0 && r.bound.Until < endless {
		r.bound.Until += delta
	}
	at := lease.Pos{Law: l.ID}
	for _, m := range r.present() {
		m.drops += delta
		r.setHeld(m, m.held.Each(func(s *lease.Range) { s.From = at }))
	}
	r.rebalancedAt = now
	r.free = r.free.Each(func(s *lease.Range) { s.From = at })
	if r.grace > 0 {
		r.endGrace()
	}
	for _, m := range r.present() {
		r.woken[m.Name] = true
	}
}
