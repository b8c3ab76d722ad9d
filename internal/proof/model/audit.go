package model

import (
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

// Audit counts all slots asked for before a position: how many each incarnation owned, and how many nobody did.
type Audit struct {
	Asked, Idle int64
	Owned       map[string]int64
	Until       map[string]int64 // up to which ordinal the log says that an incarnation owned places
}

// Laws returns all laws that this server has ever known.
func (r *Run) Laws() *lease.Laws { return r.ever }

// Now returns the highest time that this server has seen in this clock epoch, µs.
func (r *Run) Now() int64 { return r.last }

// LastCall returns when a member last called, µs; 0 if it is not one.
func (r *Run) LastCall(name string) int64 {
	if m := r.members[name]; m != nil && !m.gone && m.epoch == r.epoch {
		return r.lastCall(m)
	}
	return 0
}

// Audit adds up the log and what is still open. Asked = Σ Owned + Idle, if each place was always in one state.
func (r *Run) Audit(now int64) Audit {
	end := r.ever.Ordinal(r.ever.Pos(now))
	begin := r.ever.Ordinal(lease.Pos{}) // of a run that was lost, nobody knows what came before
	out := Audit{Asked: end - begin, Owned: map[string]int64{}, Until: map[string]int64{}}
	add := func(owner string, lo, hi, from, to int64) {
		n := circle.Range{Lo: lo, N: hi - lo}.Count(max(begin, from), to)
		if owner == "" {
			out.Idle += n
		} else {
			out.Owned[owner] += n
		}
	}
	for _, e := range r.log {
		to := min(end, r.ever.Ordinal(e.To))
		add(e.Owner, e.Lo, e.Hi, r.ever.Ordinal(e.From), to)
		out.Until[e.Owner] = max(out.Until[e.Owner], to)
	}
	open := func(owner string, ranges lease.Ranges) {
		for _, s := range ranges {
			add(owner, s.Lo, s.Hi, r.ever.Ordinal(s.Since), end)
		}
	}
	for _, m := range r.members {
		open(m.owner(), m.held)
	}
	open("", r.free)
	open("", r.unknown)
	return out
}
