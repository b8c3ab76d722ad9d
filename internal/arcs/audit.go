package arcs

// Audit is what a server says in the end of all slots asked for before a position: how many each incarnation owned, and nobody.
type Audit struct {
	Asked, Idle int64
	Owned       map[string]int64
}

// Laws are the laws as this server knows them.
func (r *Run) Laws() *Laws { return r.laws }

// Audit adds up the log, with what it has open. Asked = Σ Owned + Idle, if each unit has always been in one place.
func (r *Run) Audit(now int64) Audit {
	end := r.laws.Pos(now, r.era)
	out := Audit{Asked: r.laws.asked(end), Owned: map[string]int64{}}
	add := func(owner string, lo, hi int64, from, to Pos) {
		n := r.laws.count(lo, hi, from, to)
		if owner == "" {
			out.Idle += n
		} else {
			out.Owned[owner] += n
		}
	}
	for _, e := range r.log {
		to := e.To
		if end.Less(to) {
			to = end
		}
		add(e.Owner, e.Lo, e.Hi, e.From, to)
	}
	for _, m := range r.members {
		for _, s := range m.held {
			add(m.owner(), s.Lo, s.Hi, s.since, end)
		}
	}
	for _, s := range r.free {
		add("", s.Lo, s.Hi, s.since, end)
	}
	for _, s := range r.unknown {
		add("", s.Lo, s.Hi, s.since, end)
	}
	return out
}

// Now is the highest time that this server has seen in this era, µs.
func (r *Run) Now() int64 { return r.last }

// Newest is what the newest law asks for, and from when on; Over, 0 if there is none.
func (l *Laws) Newest() (Phase, int64) {
	x := l.newest()
	if x == nil {
		return Running, 0
	}
	return x.Phase, x.T0
}
