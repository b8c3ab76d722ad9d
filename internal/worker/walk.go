package worker

import "github.com/loadctl/loadctl/targets"

// begin returns the call that a slot starts with. start is when the slot was due, ns of the local clock.
func (s *shard) begin(number uint64, start int64) targets.Call {
	c := targets.Call{Number: number, Step: s.step(number)}
	if s.walks != nil && s.walks.mix.Rest(c.Step) > 0 {
		c.Session = s.walks.session(start)
	}
	return c
}

// started counts a flow whose first request was sent.
func (s *shard) started(c targets.Call) {
	s.recorder.StepSent(c.Step)
	if c.Session == nil {
		return
	}
	s.walks.n++
	for i := range s.walks.mix.Rest(c.Step) {
		s.recorder.StepReached(c.Step + 1 + i)
	}
}

// notStarted takes back the session of a request that found no connection.
func (s *shard) notStarted(c targets.Call) {
	if c.Session != nil {
		s.walks.n++
		s.walks.end(c.Session)
	}
}

// walkOn makes a flow go on after a request of it has ended, or ends it.
func (s *shard) walkOn(r *Result) {
	c := r.Call
	switch {
	case c.Session == nil:
	case s.walks.mix.Rest(c.Step) == 0:
		s.walks.end(c.Session)
	case r.Outcome.Class != "" || mode(s.mode.Load()) == stopping:
		s.giveUpWalk(c)
	default:
		s.walks.wait(c, r.Done)
	}
}

// giveUpWalk ends a flow before the steps after this one.
func (s *shard) giveUpWalk(c targets.Call) {
	for i := range s.walks.mix.Rest(c.Step) {
		s.recorder.StepEnded(c.Step + 1 + i)
	}
	s.walks.end(c.Session)
}

// follow sends the steps of flows that are ready. It returns when the next turn is due for them.
func (s *shard) follow(now int64) (until int64) {
	w := s.walks
	until = w.opening(now)
	for step := 0; w.opened > 0 && step < len(w.open); step++ {
		for o := &w.open[step]; o.waiting.Len() > 0; {
			planned, first := o.planned(), &o.waiting.all[0]
			if planned > now {
				until = min(until, planned)
				break
			}
			switch {
			case now-planned > s.limits.maxLag:
				s.recorder.StepLate(step)
				s.giveUpWalk(w.pop(o, now).call)
				continue
			case s.inFlight < s.limits.maxInFlight && s.client.Send(now, first.due, first.call):
				s.recorder.Followed()
				s.recorder.StepSent(step)
				s.inFlight++
				w.pop(o, now)
				continue
			}
			return min(until, planned+s.limits.maxLag+1) // no connection is free
		}
	}
	return until
}

// abandonWalks ends all flows that are between two requests.
func (s *shard) abandonWalks() {
	w := s.walks
	drop := func(l *pauses) {
		for _, p := range l.all {
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
