package arcs

import (
	"hash/fnv"

	"github.com/loadctl/loadctl/pacer"
)

const endless = pacer.Endless

// ahead is how long before it is in force a change is made, µs.
func (r *Run) ahead() int64 { return 20_000 + 3*int64(len(r.members)) }

// start begins when all are there: one arc each.
func (r *Run) start() {
	all := r.present()
	if len(all) < max(1, r.Min) {
		return
	}
	at, sum := int64(0), int64(0)
	for i, m := range all {
		sum += m.Weight
		end := whole()[0].Hi * sum / weights(all)
		all[i].target = Segs{{Lo: at, Hi: end}}
		at = end
		r.woken[m.Name] = true
	}
	l := Law{Rest: r.Pieces, End: endless}
	l.T0 = r.now + lead
	if r.Span > 0 {
		l.End = l.T0 + r.Span
	}
	r.number(&l)
	r.era = l.ID
	l.Era = l.ID
	l.next()
	r.limit(&l)
	r.add(l)
	r.free = r.free.each(func(s *Seg) { s.From = Pos{l.ID, 0} })
	r.follow()
}

// number gives a law its number, which is above all others. Where the clock has gone back, two servers would take the same one for two laws: the
// identity keeps them apart.
func (r *Run) number(l *Law) {
	l.ID = r.now
	if n := r.laws.newest(); n != nil {
		h := fnv.New32a()
		_, _ = h.Write([]byte(r.Identity)) // a hash does not fail
		l.ID = max(l.ID, n.ID+1+int64(h.Sum32()%1_000_000)*16)
	}
	r.command = l.ID
}

// next takes the first piece of what is left of the plan, up to its end.
func (l *Law) next() {
	if len(l.Rest) == 0 || l.T0 >= l.End {
		l.Phase, l.Rest = Over, nil
		l.nothing()
		return
	}
	p := l.Rest[0]
	l.Rest = l.Rest[1:]
	if l.End < endless && (p.Dur == 0 || l.T0+p.Dur > l.End) {
		p = p.Part(0, l.End-l.T0)
	}
	l.R0, l.R1, l.Den, l.Dur, l.F, l.K = p.R0, p.R1, p.Den, p.Dur, p.F, endless
	switch {
	case p.Dur > 0:
		l.K = l.Before(l.T0 + p.Dur)
	case p.R0 == 0:
		l.K = 0
	}
}

func (l *Law) nothing() { l.R0, l.R1, l.Den, l.Dur, l.F, l.K = 0, 0, 1, 0, 1, 0 }

// limit ends the law with the run's last request: no slot has an ordinal beyond.
func (r *Run) limit(l *Law) {
	l.Stop = 0
	if r.Requests > 0 && l.Phase == Running && l.Base+l.K >= r.Requests {
		l.K, l.Stop = max(0, r.Requests-l.Base), l.T0
		if l.K > 0 {
			l.Stop = l.Due(l.K-1)/1000 + 1
		}
	}
}

// add makes a law known, and what was the newest end there.
func (r *Run) add(l Law) { r.laws = r.laws.with(l) }

// follow makes the laws of the plan ahead of time, so that it goes on when this server is away. Their numbers follow from the law
// before, so another server makes the same ones.
func (r *Run) follow() {
	for {
		l := *r.laws.newest()
		end := l.T0 + l.Dur
		if l.Dur == 0 {
			end = l.End
		}
		if l.Stop > 0 {
			end = l.Stop
		}
		if l.Phase != Running || end >= endless || end > r.now+r.Hold+r.period() {
			return
		}
		n := Law{Rest: l.Rest, End: l.End, Base: l.Base + l.K, Era: l.Era, EraBefore: l.EraBefore}
		n.Was = l.Was + end - l.T0
		n.T0, n.ID = end, l.ID+1
		n.C = l.phase(l.K, end)
		if l.Stop > 0 {
			n.Rest = nil
		}
		n.next()
		r.limit(&n)
		r.add(n)
	}
}

// continued is a law that goes on at t0 with what the i-th asks for, whose last moment is t.
func (r *Run) continued(i int, t, t0 int64) Law {
	old := &r.laws.all[i]
	l := *old
	cut := min(old.Before(t), r.laws.cuts[i])
	l.Base, l.C = r.laws.base(i, cut), old.phase(cut, t)
	r.number(&l)
	l.T0, l.Stop = t0, 0
	l.Was += t0 - old.T0
	if old.Phase == Running {
		if l.End < endless {
			l.End += t0 - t
		}
		l.Rest = append([]pacer.Piece{old.remainder(t)}, old.Rest...)
		if old.Dur > 0 && t >= old.T0+old.Dur {
			l.Rest = l.Rest[1:]
		}
		l.next()
		r.limit(&l)
	}
	return l
}

// base is the ordinal of the slot behind the first cut slots of the i-th law: what was asked for before it.
func (l *Laws) base(i int, cut int64) int64 {
	sum := cut
	for j := range i {
		sum += l.cuts[j]
	}
	return sum
}

// learn takes laws that this server has forgotten. If they change what was asked for before the newest, its ordinals are not those that they
// should be, and it is made anew.
func (r *Run) learn(laws *Laws) {
	if laws == nil {
		return
	}
	if r.laws == nil { // a server that knows of no start
		r.laws, r.era, r.command = laws, laws.newest().Era, laws.newest().ID
	}
	var news []Law
	newest := r.laws.newest().ID
	for _, l := range laws.since(r.laws) {
		if l.Era == r.era || r.laws.era(l.Era) {
			news = append(news, l)
		}
	}
	if len(news) == 0 {
		return
	}
	r.laws = r.laws.with(news...)
	i := r.laws.at(r.now, r.era)
	if news[0].ID < newest && r.laws.base(i, 0) != r.laws.all[i].Base {
		t0 := r.now + r.ahead()
		r.add(r.continued(i, t0, t0))
	}
	r.follow()
}

// era tells whether the laws of an era are known.
func (l *Laws) era(id int64) bool {
	for i := range l.all {
		if l.all[i].Era == id {
			return true
		}
	}
	return false
}

// Command is set-rate (with pieces), pause, resume or stop. It returns when it is in force, and whether anything changed.
func (r *Run) Command(now int64, kind string, pieces []pacer.Piece) (t0 int64, done bool) {
	r.settle(now)
	if r.laws == nil {
		return 0, false
	}
	t0 = r.now + r.ahead()
	for i := len(r.laws.all) - 1; i >= 0; i-- {
		if x := &r.laws.all[i]; x.ID == r.command {
			t0 = max(t0, x.T0+1)
		}
	}
	i := r.laws.at(t0, r.era)
	old := r.laws.all[i]
	if old.Phase == Over || old.Phase == Running && kind == "resume" || old.Phase == Paused && kind == "pause" {
		return 0, false
	}
	l := r.continued(i, t0, t0)
	switch {
	case kind == "stop":
		l.Phase = Over
		l.nothing()
	case kind == "pause":
		l.Rest = append([]pacer.Piece{old.remainder(t0)}, old.Rest...)
		l.Phase = Paused
		l.nothing()
		if l.End = old.End; l.End < endless {
			l.End -= t0
		}
	case kind == "resume":
		if l.Phase = Running; l.End < endless {
			l.End += t0
		}
		l.next()
	case old.Phase == Paused:
		l.Rest = pieces
	default:
		l.Rest, l.End = pieces, old.End
		l.next()
	}
	r.limit(&l)
	r.add(l)
	r.follow()
	return t0, true
}
