package sim

import (
	"fmt"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
)

// A server is the budget's Redis, with all that can happen to it.
type server struct {
	*world
	mu     sync.Mutex
	budget *model.Budget
	backup *model.Budget // what the replica knows, from the moment on from which it hears nothing any more
	skew   int64         // of its clock, ns
	thaw   int64         // calls that came while it stood still: when the last of them is served, true ns
	reach  int64         // H as it was at most, µs
	epochs []epoch
	orders []order

	started int64 // the run's first t0, µs of the Redis clock, before it was lost
	past    int64 // what was asked for before it was restored
	word    bool  // it was stopped while it was lost
}

// An epoch is a stretch of true time with one server and one clock.
type epoch struct {
	from, to int64 // true ns
	skew     int64 // ns to add to the true time for the Redis clock, beside the start of time
	laws     []*model.Generation
}

// An order is a command that changed the schedule.
type order struct {
	at  int64   // when it was given, true ns
	t0  int64   // when it is in force, true ns
	id  int64   // of its recall
	old float64 // the highest rate that could still be held of what it ended, per second
}

func newServer(w *world, o model.Options) *server {
	b := model.New(o)
	b.Server = "first"
	return &server{world: w, budget: b, skew: int64(w.plan.Skew), epochs: []epoch{{skew: int64(w.plan.Skew)}}}
}

// clock is by how much the Redis clock is ahead now, ns.
func (s *server) clock() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.skew
}

// redis is the Redis clock at a true time, µs.
func (s *server) redis(at int64) int64 { return (s.epoch + at + s.skew) / 1000 }

// up tells whether the server answers at a time.
func (s *server) up(at int64) bool {
	return !within(at, s.plan.Down) && !within(at, s.plan.Frozen)
}

// do carries out op when the server runs. An op for a server that is away is not carried out. After it, then is called.
func (s *server) do(op func(b *model.Budget, now int64) pacer.Reply, then func(r pacer.Reply, done bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if within(now, s.plan.Down) {
		then(pacer.Reply{}, false)
		return
	}
	for _, d := range s.plan.Frozen {
		if d.has(now) {
			s.thaw = max(s.thaw, int64(d.To)) + 2311 // one after the other, in the order they came
			time.AfterFunc(time.Duration(s.thaw-now), func() { s.do(op, then) })
			return
		}
	}
	r := op(s.budget, s.redis(now))
	if s.budget != nil {
		s.reach = max(s.reach, s.budget.Reach)
	}
	then(r, true)
}

// forget makes the replica's link break: from now on it learns nothing.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backup = s.budget.Clone()
}

// promote replaces the server by its replica, whose clock is ahead by skew.
func (s *server) promote(n int, skew time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeEpoch()
	s.budget, s.backup = s.backup, nil
	s.budget.Server = fmt.Sprint("replica ", n)
	s.skew += int64(skew)
	s.epochs = append(s.epochs, epoch{from: s.now(), skew: s.skew})
}

// step moves the server's clock.
func (s *server) step(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeEpoch()
	s.skew += int64(by)
	s.epochs = append(s.epochs, epoch{from: s.now(), skew: s.skew})
}

func (s *server) closeEpoch() {
	last := &s.epochs[len(s.epochs)-1]
	last.to = s.now()
	if s.budget != nil {
		last.laws = s.budget.Clone().Laws
	}
}

// command gives a command; who can be reached is woken. A server that cannot be reached is tried again.
func (s *server) command(n int, c Command) {
	s.mu.Lock()
	now := s.now()
	if s.budget == nil && c.Kind == "stop" {
		s.word = true
	}
	if !s.up(now) || s.budget == nil {
		s.mu.Unlock()
		time.AfterFunc(100*time.Millisecond+time.Duration(n)*1013, func() { s.command(n, c) })
		return
	}
	before := s.budget.Clone()
	status, t0 := s.budget.Command(s.redis(now), fmt.Sprint("c", n), c.Kind, c.Pieces)
	o := order{at: now, t0: t0*1000 - s.epoch - s.skew, old: planned(before, t0)}
	if rs := s.budget.Recalls; status == "OK" && len(rs) > 0 && rs[len(rs)-1].T0 == t0 {
		o.id = rs[len(rs)-1].ID
		s.orders = append(s.orders, o)
	}
	s.mu.Unlock()
	for _, m := range s.members {
		m.wakeup(uint64(n))
	}
}

// planned is the highest rate that leased slots may have after t0.
func planned(b *model.Budget, t0 int64) (most float64) {
	for _, g := range b.Laws {
		if g.Ends > t0 && g.T0 <= t0+b.Reach {
			most = max(most, g.Rate(max(t0, g.T0)))
		}
	}
	return most
}
