package sim

import (
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/pacer/lease"
)

// soon is the time, µs, after which a command must be in force.
const soon = 100_000

// server is the run's Redis, with all its faults.
type server struct {
	*world
	run    *model.Run
	backup *model.Run
	skew   int64 // of its clock, ns
	thaw   int64
	word   bool             // it was stopped while it was lost
	skews  map[int64]int64  // of the clock when each law was first seen, by number
	called map[string]int64 // when each incarnation last called, µs
	bad    error            // of the state
	rights []granted
}

func newServer(w *world) *server {
	return &server{world: w, run: model.New(w.options(int(w.Options.Min)), "first"), skew: int64(w.Skew), skews: map[int64]int64{}, called: map[string]int64{}}
}

// options returns the settings of a run that waits for this many members.
func (w *world) options(members int) model.Options {
	return model.Options{Bound: w.firstRights(), Pieces: w.Options.Pieces, Span: w.Options.Span, Requests: w.Requests, Min: members, Hold: w.Options.PermitFor, Seed: w.Options.Arrivals, Without: w.without}
}

func (s *server) redis() int64 { return (zero + s.Now + s.skew) / 1000 }

// do runs op when the server runs. A server that is unreachable does not run it.
func (s *server) do(op func()) {
	if within(s.Now, s.Down) {
		return
	}
	for _, d := range s.Frozen {
		if s.Now >= int64(d.From) && s.Now < int64(d.To) {
			s.thaw = max(s.thaw, int64(d.To)) + 2311
			s.after(time.Duration(s.thaw-s.Now), func() { s.do(op) })
			return
		}
	}
	op()
	if s.run == nil {
		return
	}
	if s.bad == nil {
		if s.bad = s.run.Check(); s.bad != nil {
			s.bad = fmt.Errorf("at %v: %w", time.Duration(s.Now), s.bad)
		}
	}
	for _, l := range s.run.Laws().All() {
		if _, known := s.skews[l.ID]; !known {
			s.skews[l.ID] = s.skew
		}
	}
	for _, name := range s.run.Woken() {
		for _, m := range s.nodes {
			if m.Name == name && m.alive() {
				m.message(nil, true)
			}
		}
	}
}

// renew handles a call.
func (s *server) renew(c lease.Call) lease.Reply {
	if s.run == nil {
		if c.Claim == nil || c.Laws == nil {
			return lease.Reply{Status: lease.NoState, Seq: c.Seq, Wait: 100_000}
		}
		s.run = model.Restore(s.options(1), "server", s.redis(), c.Laws)
		if s.word {
			s.run.Command(s.redis(), "stop", nil)
		}
	}
	s.called[c.Worker+"/"+c.Incarnation] = s.redis()
	return s.run.Renew(s.redis(), c)
}

func (s *server) fork() {
	if s.run != nil {
		s.backup = s.run.Clone()
	}
}

func (s *server) promote(n int, skew time.Duration) {
	if s.backup == nil {
		return
	}
	s.run, s.backup = s.backup, nil
	s.run.Become(fmt.Sprint("replica ", n))
	s.skew += int64(skew)
	s.trace("server", "replica %d", n)
}

func (s *server) lose() { s.run = nil; s.trace("server", "state is lost") }

// order carries out a command. If the run has no right to send so much, it gets one.
func (s *server) order(c Command) (t0 int64, status string) {
	if s.Rights == nil {
		return s.run.Command(s.redis(), c.Kind, c.Pieces)
	}
	o := model.Order{Kind: c.Kind, Pieces: c.Pieces, Factor: c.Factor}
	for try := range 2 {
		o.ID = fmt.Sprint(c.At, " ", s.Now, " ", try)
		a := s.run.Order(s.redis(), o)
		if a.Status != "RESERVE" {
			return a.T0, a.Status
		}
		s.store(s.run.Right(s.redis(), model.RightCall{}), endless)
	}
	return 0, "RESERVE"
}

// command gives a command. All workers are notified, three times. If the server cannot be reached, it is tried again.
func (s *server) command(n int, c Command) {
	if s.run == nil && c.Kind == "stop" {
		s.word = true
	}
	if s.run == nil || within(s.Now, s.Down) || within(s.Now, s.Frozen) {
		s.after(100*time.Millisecond+time.Duration(n)*1013, func() { s.command(n, c) })
		return
	}
	s.do(func() {
		t0, done := s.order(c)
		s.trace("server", "%s: %d %v", c.Kind, t0, done)
		if done == "OK" && t0 > s.run.Now()+soon && s.bad == nil {
			s.bad = fmt.Errorf("at %v: %s is in force only in %d µs", time.Duration(s.Now), c.Kind, t0-s.run.Now())
		}
	})
	laws := s.run.Laws().Trim(s.redis() - 1_000_000).All()
	for _, m := range s.nodes {
		for _, d := range []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond} {
			s.after(d, func() { m.message(laws, false) })
		}
	}
}

// remove is `workers rm`.
func (s *server) remove(n int, name string) {
	if s.run == nil || within(s.Now, s.Down) || within(s.Now, s.Frozen) {
		s.after(100*time.Millisecond+time.Duration(n)*1013, func() { s.remove(n, name) })
		return
	}
	s.do(func() { s.run.Remove(s.redis(), name) })
}
