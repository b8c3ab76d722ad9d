package sim

import (
	"context"
	"math"
	"time"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
)

// lose empties the server.
func (s *server) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeEpoch()
	s.started, s.budget = s.budget.Started, nil
	s.epochs = append(s.epochs, epoch{from: s.now(), skew: s.skew})
}

// restore makes the run anew from what a member knows of it, as run.Restore does of one with a constant rate.
func (s *server) restore(now int64, k pacer.Known) {
	if s.budget != nil {
		return
	}
	o := s.plan.Options
	e := now + 500_000 - s.started // the plan's time at the new t0
	s.past = int64(math.Round(float64(s.plan.Rate) * float64(e) / 1e6))
	o.Min, o.Span, o.Past, o.Stopped = 1, o.Span-e, s.past, s.word
	o.Started, o.Restored, o.GrantFrom, o.ID = s.started, now, now+o.PermitFor, k.Law.ID+1
	s.budget = model.New(o)
	s.budget.Server = "restored"
}

// restore brings what this member knows to the server.
func (m *member) restore(ctx context.Context, k pacer.Known) error {
	if k.Law.F == 0 {
		return nil
	}
	m.restores++
	done := make(chan bool, 1)
	op := func(_ *model.Budget, now int64) pacer.Reply {
		m.server.restore(now, k)
		return pacer.Reply{}
	}
	m.carry(m.fate(3, m.restores), op, func(_ pacer.Reply, ok bool) { done <- ok })
	select {
	case ok := <-done:
		if !ok {
			return errRefused
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// obeyed looks at each change of the rate. It is in force within H; and when everybody has heard of one that was given after the loss, not more is
// sent than it asks for, be it on permits given before.
func (w *world) obeyed(s *schedule, all []moment, r *Result) {
	horizon := w.server.reach*1000 + int64(100*time.Millisecond)
	for i, o := range w.server.orders {
		r.Sluggish = max(r.Sluggish, time.Duration(o.t0-o.at-horizon))
		from, to := w.learned(o), int64(math.MaxInt64)
		if from == to || w.plan.Lost == 0 || o.at < int64(w.plan.Lost) { // somebody never heard of it
			continue
		}
		if i+1 < len(w.server.orders) {
			to = w.server.orders[i+1].t0
		}
		var own []moment
		for _, x := range all {
			if x.at >= from+w.plan.Net.worst() && x.at < to && !x.over && x.early == 0 {
				own = append(own, x)
			}
		}
		for _, length := range Windows() {
			over, _ := s.worst(own, length, w.allowed)
			r.Raised = max(r.Raised, over)
		}
	}
}
