package model

import (
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/pacer/poisson"
)

const (
	endless = pacer.Endless
	begin   = 600_000    // µs from the last join to the first slot, or 400 µs a member if that is more
	spread  = 4096       // a server takes one number of each spread
	many    = 100        // from so many laws on only those are made that begin within near
	near    = 10_000_000 // µs
)

// ahead returns how long a change is made before it is in force, µs.
func (r *Run) ahead() int64 { return 20_000 + 3*int64(len(r.members)+len(r.replaced)) }

// start begins when enough members are there, and the run may send. Each gets one range.
func (r *Run) start() {
	all := r.staying()
	if r.Min == 0 || len(all) < r.Min || !r.mayBegin() {
		return
	}
	r.unassigned = lease.Whole() // a claim may have brought targets
	at, sum := int64(0), int64(0)
	for _, m := range all {
		m.target = nil
		sum += m.Weight
		end := share(sum, weights(all))
		if end > at {
			r.addTarget(m, lease.Ranges{{Lo: at, Hi: end}})
		}
		at = end
		r.woken[m.Name] = true
	}
	l := lease.Law{Plan: r.plan(), End: endless}
	if r.first(&l, r.now+max(begin, 400*int64(len(all)))); r.Span > 0 {
		l.End = l.T0 + r.Span
	}
	r.next(&l)
	r.addLaws(l)
	r.free = r.free.Each(func(s *lease.Range) { s.From = lease.Pos{Law: l.ID} })
	r.follow()
}

// number returns a number for a new law, above all others. After the clock has gone back two servers could take the
// same number for two laws. So modulo spread each server has its own.
func (r *Run) number() int64 {
	h := int64(0)
	for _, b := range []byte(r.Identity) {
		h = (h*31 + int64(b)) % spread
	}
	id := r.now
	if all := r.laws.All(); len(all) > 0 {
		id = max(id, all[len(all)-1].ID+1)
	}
	r.command = id + (h-id%spread+spread)%spread
	return r.command
}

// next takes the next piece of the plan, up to the run's end and its number of requests. No slot has an ordinal
// beyond that number.
func (r *Run) next(l *lease.Law) {
	p, ok := takePiece(l)
	if !ok || l.T0 >= l.End {
		l.Phase = lease.Ended
		r.askNothing(l)
		return
	}
	if l.End < endless && (p.Dur == 0 || l.T0+p.Dur > l.End) {
		p = p.Part(0, l.End-l.T0)
	}
	l.R0, l.R1, l.Den, l.Dur, l.K, l.Stop = p.R0, p.R1, p.Den, p.Dur, endless, 0
	switch {
	case p.Dur > 0:
		g := law{*l}
		l.K = g.asks(l.T0 + p.Dur)
	case p.R0 == 0:
		l.K = 0
	}
	if r.Requests > 0 && l.Base+l.K >= r.Requests {
		l.K = max(0, r.Requests-l.Base)
		g := law{*l}
		l.Stop = g.when(l.K) // n requests at a rate take n / rate
		if l.Dur > 0 {
			l.Stop = min(l.Stop, l.T0+l.Dur)
		}
	}
}

// takePiece removes the next piece from what follows a law.
func takePiece(l *lease.Law) (p pacer.Piece, ok bool) {
	if l.Left.Den > 0 {
		p, l.Left = l.Left, pacer.Piece{}
		return p, true
	}
	if l.Piece >= len(l.Plan.Pieces) {
		if !l.Plan.Loop {
			return p, false
		}
		l.Piece = 0
	}
	l.Piece++
	return l.Plan.At(l.Piece - 1), true
}

// askNothing makes a law that asks for no slots.
func (r *Run) askNothing(l *lease.Law) {
	l.R0, l.R1, l.Den, l.Dur, l.K, l.Stop = 0, 0, 1, 0, 0, 0
}

// follow makes the laws of the plan ahead of time, so that it goes on while this server is away. Their numbers follow
// from the law before, so another server makes the same ones.
func (r *Run) follow() {
	for {
		l := law{*r.laws.Newest()}
		end := l.T0 + l.Dur
		if l.Dur == 0 {
			end = endless
		}
		if l.Stop > 0 {
			end = l.Stop
		}
		soon := r.Hold
		if len(r.laws.All()) >= many {
			soon = min(soon, near)
		}
		if l.Phase != lease.Running || end >= endless || end > r.now+soon+r.period() {
			return
		}
		n := lease.Law{Prev: l.ID, Cut: l.K, Base: l.Base + l.K, Plan: l.Plan, Piece: l.Piece, End: l.End, ClockEpoch: l.ClockEpoch}
		n.T0, n.ID, n.C, n.Seed = end, l.ID+1, l.remainder(l.K, end), poisson.Next(l.Seed)
		if l.Stop > 0 {
			n.End = end
		}
		r.next(&n)
		r.addLaws(n)
	}
}

// addLaws adds laws. Only the audit needs those that are over.
func (r *Run) addLaws(laws ...lease.Law) {
	was := r.laws
	r.laws = r.laws.With(laws...).In(r.clockEpoch).Trim(r.now - margin)
	r.ever = r.ever.With(laws...).In(r.clockEpoch)
	r.changed = r.changed || r.laws != was
}

// lawAfter returns a law from t0 on that follows the one in force at t, with nothing asked for yet; and that one.
func (r *Run) lawAfter(t, t0 int64) (n lease.Law, old law) {
	i := r.laws.At(t)
	old = law{r.laws.All()[i]}
	cut := min(old.before(t), r.laws.Cut(i))
	n = lease.Law{Prev: old.ID, Cut: cut, Base: old.Base + cut, Plan: old.Plan, Piece: old.Piece, Left: old.Left, End: old.End, ClockEpoch: old.ClockEpoch}
	n.ID, n.T0, n.C, n.Seed = r.number(), t0, old.remainder(cut, t), poisson.Next(old.Seed)
	return n, old
}

// learn takes laws of its clock epoch that this server has forgotten or never received.
func (r *Run) learn(laws []lease.Law) {
	if len(laws) == 0 {
		return
	}
	if r.laws == nil { // a server that knows of no start
		r.clockEpoch, r.started = laws[len(laws)-1].ClockEpoch, laws[0].T0
	}
	var own []lease.Law
	for _, l := range laws {
		if l.ClockEpoch == r.clockEpoch {
			if l.Plan.ID == 0 { // the plan of the run's description, which is not sent
				l.Plan = r.plan()
			}
			own = append(own, l)
		}
	}
	if len(own) > 0 {
		r.addLaws(own...)
		r.findCommand()
		r.follow()
	}
}

// findCommand finds the last law of a command. The plan's own next law has the next number. It may begin much later,
// and a command must not wait for it.
func (r *Run) findCommand() {
	for _, l := range r.laws.All() {
		if r.laws.Live(l.ID) && (r.command == 0 || l.ID > r.command && (l.ID != l.Prev+1 || r.Without.Command)) {
			r.command = l.ID
		}
	}
}

// Command is start, set-rate (with pieces), pause, resume or stop. It returns when it is in force, and a status of an
// Answer.
func (r *Run) Command(now int64, kind string, pieces []pacer.Piece) (t0 int64, status string) {
	r.advance(now)
	r.controllerAt = r.now
	t0, status = r.act(Order{Kind: kind, Pieces: pieces})
	r.weigh()
	return t0, status
}

func (r *Run) act(o Order) (t0 int64, status string) {
	if r.laws == nil {
		return r.early(o)
	}
	return r.change(o)
}

// plan returns the plan of the run's description, or what commands before the start have made of it.
func (r *Run) plan() *lease.Plan {
	p := r.scaled
	p.Pieces, p.Loop = r.Pieces, r.Loop
	return &p
}

// scales reports whether the order changes the factor of the plan.
func (o Order) scales() bool { return o.Kind == "scale" || o.Kind == "cap" }

// aim returns what a plan becomes by scale or cap. After a cap no scale makes more of it.
func (o Order) aim(p *lease.Plan) *lease.Plan {
	n := *p
	n.Top, n.Of, n.Factor = p.Most(), p.Given(), o.Factor
	if o.Kind == "cap" {
		n.Top, n.Factor = min(n.Top, o.Factor), min(o.Factor, p.Share())
	}
	n.Factor = min(n.Factor, n.Top)
	return &n
}

// isSo reports whether the plan is already what aim makes of it.
func (o Order) isSo(p *lease.Plan) bool {
	n := o.aim(p)
	return n.Share() == p.Share() && n.Most() == p.Most()
}

// change is a command after the start.
func (r *Run) change(o Order) (t0 int64, status string) {
	kind := o.Kind
	t0 = r.now + r.ahead()
	if i, ok := r.laws.Index(r.command); ok && r.laws.All()[i].ClockEpoch == r.clockEpoch {
		t0 = max(t0, r.laws.All()[i].T0+1)
	}
	was := r.laws.All()[r.laws.At(t0)]
	phase := was.Phase
	switch {
	case phase >= lease.Stopped && kind != "stop":
		return was.T0, "ENDED"
	case kind == "start":
		return r.started, "SAME"
	case phase >= lease.Stopped, phase == lease.Running && kind == "resume", phase == lease.Paused && kind == "pause",
		o.scales() && o.isSo(was.Plan):
		return was.T0, "SAME"
	}
	n, old := r.lawAfter(t0, t0)
	switch kind {
	case "stop":
		n.Phase = lease.Stopped
		r.askNothing(&n)
	case "pause":
		n.Phase, n.Left = lease.Paused, old.rest(t0)
		r.askNothing(&n)
		if n.End < endless {
			n.End -= t0
		}
	case "resume":
		if n.End < endless {
			n.End += t0
		}
		r.next(&n)
	default:
		if o.scales() {
			n.Plan = o.aim(old.Plan)
			n.Plan.ID = n.ID
			n.Left = old.Left
			if phase == lease.Running {
				n.Left = old.rest(t0)
			}
			if n.Left.Den > 0 {
				n.Left = n.Left.Scaled(float64(n.Plan.Share()) / float64(old.Plan.Share()))
			}
		} else {
			n.Plan, n.Piece, n.Left = &lease.Plan{ID: n.ID, Pieces: o.Pieces}, 0, pacer.Piece{}
		}
		if n.Phase = phase; phase == lease.Paused {
			r.askNothing(&n)
		} else {
			r.next(&n)
		}
	}
	r.addLaws(n)
	r.follow()
	return t0, "OK"
}

// early is a command before the start, as change. A t0 of 0 means: when the run begins. After a stop there is no
// start.
func (r *Run) early(o Order) (t0 int64, status string) {
	switch kind := o.Kind; {
	case kind == "set-rate":
		r.Pieces, r.Loop, r.scaled, r.given = o.Pieces, false, lease.Plan{}, true
	case o.scales() && o.isSo(r.plan()):
		return 0, "SAME"
	case o.scales():
		r.scaled, r.given = *o.aim(r.plan()), true
	case kind == "start" && r.Min != 1:
		r.Min = 1
	case kind == "start":
		return 0, "SAME"
	case kind == "stop":
		l := lease.Law{Plan: r.plan(), Phase: lease.Stopped, End: endless}
		r.first(&l, r.now) // nobody sends anything
		r.askNothing(&l)
		r.addLaws(l)
		return l.T0, "OK"
	default:
		return 0, "WAITING"
	}
	return 0, "OK"
}

// first makes a law the first one.
func (r *Run) first(l *lease.Law, t0 int64) {
	l.ID, l.T0, l.Seed = r.number(), t0, r.Seed
	if l.ClockEpoch = l.ID; r.given {
		l.Plan.ID = l.ID
	}
	r.clockEpoch, r.started = l.ID, t0
}
