package worker

import (
	"container/heap"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/program"
)

// use sends the request that a slot is for, if there is a connection: the step that is ready longest, where each request has
// a slot, or else the first request of a flow.
func (s *shard) use(now int64, x *slot) (sent bool) {
	if w := s.walks; w != nil && w.each && w.ready(now) {
		c := w.timed.all[0].call
		if sent = s.client.Send(now, x.local, c); sent {
			heap.Pop(&w.timed)
			s.recorder.StepFollowed(c.Step)
		}
		return sent
	}
	c := s.begin(uint64(x.Ordinal), x.local)
	if sent = s.client.Send(now, x.local, c); sent {
		s.started(c)
	} else {
		s.notStarted(c)
	}
	return sent
}

// begin returns the call that a slot starts with. start is when the slot was due, ns of the local clock.
func (s *shard) begin(number uint64, start int64) targets.Call {
	c := targets.Call{Number: number, Step: s.step(number)}
	if s.walks == nil {
		return c
	}
	if course := s.walks.mix.Course(c.Step); course != nil {
		c.Session = s.walks.session(start)
		course.Start(c.Session)
	} else if s.walks.mix.Rest(c.Step) > 0 || s.walks.each {
		c.Session = s.walks.session(start)
	}
	if s.walks.each {
		c.Session.SetRow(s.walks.turn(number))
	}
	return c
}

// started counts a flow whose first request was sent.
func (s *shard) started(c targets.Call) {
	s.recorder.StepSent(c.Step)
	if c.Session == nil {
		return
	}
	s.walks.begun++
	for i := range s.walks.mix.Rest(c.Step) {
		s.recorder.StepReached(c.Step + 1 + i)
	}
}

// notStarted takes back the session of a request that found no connection.
func (s *shard) notStarted(c targets.Call) {
	if c.Session != nil {
		s.walks.end(c.Session)
	}
}

// decide computes what the flow of a request with a Course does next. If the flow fails there, so does the request: it is
// counted with that class.
func (s *shard) decide(r *targets.Result) (next program.Turn) {
	next.Step = -1
	if r.Call.Session == nil || r.Outcome.Class != "" {
		return next
	}
	if course := s.walks.mix.Course(r.Call.Step); course != nil {
		next, r.Outcome.Class = course.After(r.Call, r.Outcome.Status, r.Done)
	}
	return next
}

// walkOn makes a flow go on after a request of it has ended, or ends it. next is what decide returned.
func (s *shard) walkOn(r *targets.Result, next program.Turn) {
	c := r.Call
	w := s.walks
	switch {
	case c.Session == nil:
	case w.mix.Course(c.Step) != nil:
		s.goOn(r, next)
	case w.mix.Rest(c.Step) == 0:
		w.end(c.Session)
	case r.Outcome.Class != "" || !w.each && s.ending():
		s.giveUpWalk(c)
	case s.ending(): // no slot comes for the flow
		w.end(c.Session)
	default:
		w.wait(r, c.Step+1, 0)
	}
}

// ending reports whether no step of a flow begins any more.
func (s *shard) ending() bool { return s.walks.over || mode(s.mode.Load()) == stopping }

// goOn is walkOn for a flow with a Course.
func (s *shard) goOn(r *targets.Result, next program.Turn) {
	c, w := r.Call, s.walks
	if next.Step < 0 || r.Outcome.Class != "" {
		s.giveUpWalk(c)
		return
	}
	c.Step += next.Step - w.mix.Index(c.Step)
	if next.Again {
		s.recorder.StepReached(c.Step)
	}
	if s.ending() {
		if w.each { // no slot comes for the flow
			w.end(c.Session)
			return
		}
		s.recorder.StepEnded(c.Step)
		s.giveUpWalk(c)
		return
	}
	w.wait(r, c.Step, next.Pause)
}

// giveUpWalk ends a flow before the steps after this one. Of a flow with a Course these are all that it did not come to.
func (s *shard) giveUpWalk(c targets.Call) {
	if s.walks.mix.Course(c.Step) != nil {
		s.endCourse(c)
		return
	}
	for i := range s.walks.mix.Rest(c.Step) {
		s.recorder.StepEnded(c.Step + 1 + i)
	}
	s.walks.end(c.Session)
}

// endCourse ends a flow with a Course.
func (s *shard) endCourse(c targets.Call) {
	mix := s.walks.mix
	first := c.Step - mix.Index(c.Step)
	for i := range mix.Index(c.Step) + mix.Rest(c.Step) + 1 {
		switch c.Session.State.Fate(i) {
		case program.Bypassed:
			s.recorder.StepBypassed(first + i)
		case program.Missed:
			s.recorder.StepEnded(first + i)
		}
	}
	s.walks.end(c.Session)
}

// follow sends the steps of flows that are ready. It returns when the next turn is due for them.
func (s *shard) follow(now int64) (until int64) {
	w := s.walks
	until = w.opening(now)
	w.looks++ // another step is first: connections may be few
	for i := 0; w.opened > 0 && i < len(w.open); i++ {
		step := (w.looks + i) % len(w.open)
		o := &w.open[step]
		for free := true; free && o.waiting.Len() > 0; {
			planned, first := o.planned(), &o.waiting.all[0]
			if planned > now {
				until = min(until, planned)
				break
			}
			switch {
			case now-planned > s.limits.maxLag:
				s.recorder.FollowedLate(step)
				s.giveUpWalk(w.drop(o).call)
				continue
			case s.inFlight < s.limits.maxInFlight && s.client.Send(now, first.due, first.call):
				s.recorder.Followed(step)
				s.inFlight++
				w.leave(o, now)
				continue
			}
			until, free = min(until, planned+s.limits.maxLag+1), false
		}
	}
	return until
}

// finishWalks returns until when flows on their way may send at the end of a run: 0 if there are none, or their time is
// over. Then no step begins any more.
func (s *shard) finishWalks(now int64) (until int64) {
	w := s.walks
	if w == nil || w.n == 0 || w.over {
		return 0
	}
	if w.until == 0 && w.each {
		w.until = now // there are no slots any more
	}
	if w.until == 0 {
		w.until = now + int64(walkTime)
	}
	if now < w.until {
		return w.until
	}
	w.over = true
	s.abandonWalks()
	return 0
}

// abandonWalks ends all flows that are between two requests. Where each request has a slot, these flows stay unfinished:
// nothing but the end of the slots has ended them.
func (s *shard) abandonWalks() {
	w := s.walks
	drop := func(l *pauses) {
		for _, p := range l.all {
			if w.each {
				w.end(p.call.Session)
				continue
			}
			s.recorder.StepEnded(p.call.Step)
			s.giveUpWalk(p.call)
		}
		clear(l.all)
		l.all = l.all[:0]
	}
	drop(&w.timed)
	for i := range w.open {
		drop(&w.open[i].waiting)
	}
	w.opened = 0
}
