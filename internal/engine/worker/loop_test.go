package worker

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// newLoops is newArcs for a closed loop with this many connections. Answers take 10 ms, so each connection sends 100
// requests a second.
func newLoops(t *testing.T, fleet, connections int, o model.Options) *sim {
	o.Pieces = []pacer.Piece{{Den: 1, Dur: o.Span}}
	s := newSim(t, 0, o)
	for _, id := range []string{"a", "b", "c"}[:fleet] {
		m := s.add(id)
		m.client = simEndpoint{latency: 10 * time.Millisecond, connections: connections}
		m.Closed = true
	}
	return s
}

// begun returns when the i-th law begins, as a time of the sim.
func (s *sim) begun(i int) time.Duration {
	return time.Duration(s.model.Laws().All()[i].T0)*time.Microsecond - time.Duration(s.began.Add(s.skew).UnixNano())
}

// stood checks for how long a member reports that it stood still.
func (m *simMember) stood(silent, paused, within time.Duration) {
	m.t.Helper()
	self := m.total.Self
	if d := time.Duration(self.Silent) - silent; d < -within || d > within {
		m.t.Errorf("%s stood still for %v because nothing was received, want %v", m.ID, time.Duration(self.Silent), silent)
	}
	if d := time.Duration(self.Paused) - paused; d < -within || d > within {
		m.t.Errorf("%s was paused for %v, want %v", m.ID, time.Duration(self.Paused), paused)
	}
}

// TestLoops: a fleet sends what its connections carry, from t0 to the planned end. A pause interrupts it, and a worker
// that joins adds its own requests.
func TestLoops(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newLoops(t, 3, 5, model.Options{Span: 10 * second, Min: 2})
		s.members[0].Shards = 2 // of 5 connections each
		s.members[0].start()
		s.members[1].start()
		time.Sleep(4 * time.Second)
		paused := s.order("pause", nil)
		time.Sleep(3 * time.Second)
		resumed := s.order("resume", nil)
		time.Sleep(100 * time.Millisecond)
		s.members[2].start()
		s.wait()
		began := s.begun(0)
		ends := began + 10*time.Second + resumed - paused
		if asked, idle := s.books(); asked != 0 || idle != 0 {
			t.Errorf("asked %d, idle %d", asked, idle)
		}
		const e = 2 * time.Microsecond // the clock counts µs
		if early, late := s.between(0, began-e), s.between(ends+e, time.Hour); early+late > 0 {
			t.Errorf("%d before t0, %d after the end", early, late)
		}
		if n := s.between(paused+e, resumed-e); n > 0 {
			t.Errorf("%d while paused", n)
		}
		for _, c := range []struct {
			from, to time.Duration
			want     int
		}{{began, began + time.Second, 1500}, {resumed, resumed + 100*time.Millisecond, 150}, {resumed + time.Second, resumed + 2*time.Second, 2000}, {ends - time.Second, ends, 2000}} {
			if n := s.between(c.from-e, c.to-e); n < c.want-15 || n > c.want+15 {
				t.Errorf("%d from %v to %v, want %d", n, c.from-began, c.to-began, c.want)
			}
		}
		for _, m := range s.members {
			n := m.total.Counts
			if n.Sent != n.Completed || n.Sent == 0 {
				t.Errorf("%s: %+v", m.ID, n)
			}
		}
		s.members[0].stood(0, resumed-paused, time.Millisecond)
		s.members[2].stood(0, 0, time.Millisecond)
	})
}

// TestLoopsStop: nothing is sent after a stop, and each worker confirms it. An interrupted worker sends nothing more,
// and leaves at once.
func TestLoopsStop(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newLoops(t, 3, 5, model.Options{Min: 3})
		for _, m := range s.members {
			m.start()
		}
		time.Sleep(3 * time.Second)
		left := s.since()
		s.members[0].cancel()
		<-s.members[0].exited
		if took := s.since() - left; took > 500*time.Millisecond {
			t.Errorf("it left %v after it was ordered to", took)
		}
		time.Sleep(2 * time.Second)
		cut := s.order("stop", nil)
		s.wait()
		s.books()
		if n := s.sent("a", left+time.Millisecond, time.Hour); n > 0 {
			t.Errorf("who left sent %d later", n)
		}
		if n := s.between(cut+time.Microsecond, time.Hour); n > 0 || s.between(left, cut) < 1900 {
			t.Errorf("%d after the stop, %d before", n, s.between(left, cut))
		}
		// The workers have given up all that they held.
		c := lease.Call{Worker: "last", Incarnation: "1", Seq: 1, Weight: 1}
		if r := s.model.Renew(s.redis(), c); r.Members != 1 {
			t.Errorf("%d members are there", r.Members)
		}
	})
}

// TestLoopsAlone: without Redis a closed loop goes on until its lease ends. It goes on again after a reply, and
// reports the time in between.
func TestLoopsAlone(t *testing.T) {
	for name, hold := range map[string]time.Duration{"permit": 3 * time.Second, "stop": 2 * time.Second, "hold": 10 * 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T) {
				s := newLoops(t, 1, 5, model.Options{Min: 1, Hold: hold.Microseconds()})
				m := s.members[0]
				const away, back = 4 * time.Second, 12 * time.Second
				m.away = [2]time.Duration{away, back}
				m.start()
				time.Sleep(16 * time.Second)
				s.order("stop", nil)
				s.wait()
				s.books()
				from, to := away+min(hold, back-away), back // it sends nothing
				if n, want := s.between(time.Second, from-600*time.Millisecond), int((from-1600*time.Millisecond).Seconds()*500); n < want-10 {
					t.Errorf("%d before %v, want %d", n, from, want)
				}
				if n := s.between(from+time.Millisecond, to); n > 0 {
					t.Errorf("%d when it may send nothing any more", n)
				}
				if n := s.between(15*time.Second, 16*time.Second); n < 490 {
					t.Errorf("%d in a second when Redis was there again", n)
				}
				first := back
				for _, x := range s.sends {
					if at := time.Duration(x.at); at > from+time.Millisecond && at < first+2*time.Second {
						first = at
						break
					}
				}
				var last time.Duration
				for _, x := range s.sends {
					if at := time.Duration(x.at); at < first {
						last = max(last, at)
					}
				}
				silent := first - last
				if silent < 100*time.Millisecond { // answers take 10 ms
					silent = 0
				}
				m.stood(silent, 0, 12*time.Millisecond)
			})
		})
	}
}

// TestLoopsPauseAndResumeAtOnce: a short pause stays short, even if a worker receives both commands before the first
// takes effect.
func TestLoopsPauseAndResumeAtOnce(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newLoops(t, 1, 5, model.Options{Min: 1})
		s.members[0].start()
		time.Sleep(3 * time.Second)
		paused, resumed := s.order("pause", nil), s.order("resume", nil)
		time.Sleep(2 * time.Second)
		s.order("stop", nil)
		s.wait()
		if resumed-paused > 5*time.Millisecond {
			t.Fatalf("the pause takes %v", resumed-paused)
		}
		if n := s.between(resumed, resumed+200*time.Millisecond); n < 95 {
			t.Errorf("%d in 200 ms after it", n)
		}
	})
}

// TestRangesPatience: if Redis is silent for a while and the run is over by its laws, a worker ends by itself. A pause
// delays that.
func TestRangesPatience(t *testing.T) {
	for name, pause := range map[string]time.Duration{"no pause": 0, "a pause": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T) {
				s := newLoops(t, 1, 1, model.Options{Min: 1, Span: 60 * second})
				m := s.members[0]
				m.away = [2]time.Duration{4*time.Second + pause, time.Hour}
				began := time.Now()
				m.start()
				time.Sleep(2 * time.Second)
				if pause > 0 {
					s.order("pause", nil)
					time.Sleep(pause)
					s.order("resume", nil)
				}
				s.wait()
				if !errors.Is(m.err, lease.ErrSilence) {
					t.Errorf("it ended with %v", m.err)
				}
				over := s.begun(0) + time.Minute + pause
				if ended := time.Since(began); ended < over || ended > over+15*time.Second {
					t.Errorf("it ended after %v, the run was over after %v", ended, over)
				}
			})
		})
	}
}

// tooFast checks that a member ended because of its MaxRate, which is no failure of the sim.
func (m *simMember) tooFast(says string) {
	m.t.Helper()
	if !errors.Is(m.err, ErrTooFast) || !strings.HasPrefix(m.err.Error(), says) {
		m.t.Errorf("%s ended with %v", m.ID, m.err)
	}
	m.err = nil
}

// TestRangesTooFast: after a change to a rate above its limit a worker sends nothing, and other workers soon have its
// share.
func TestRangesTooFast(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Span: 12 * second, Min: 3})
		for _, id := range []string{"a", "b", "c"} {
			s.add(id).Shards = 2
		}
		s.members[1].MaxRate, s.members[2].MaxRate = pacer.PerSecond(2000), pacer.PerSecond(1000)
		for _, m := range s.members {
			m.start()
		}
		time.Sleep(3 * time.Second)
		first := s.order("set-rate", pieces(t, 2000))
		time.Sleep(3 * time.Second)
		second := s.order("set-rate", pieces(t, 2001))
		s.wait()
		for i, change := range map[int]time.Duration{1: second, 2: first} {
			m := s.members[i]
			m.tooFast("the cluster is asked for 200")
			if n := s.sent(m.ID, change, time.Hour); n > 0 {
				t.Errorf("%s sent %d after the change", m.ID, n)
			}
		}
		s.books()
		for _, from := range []time.Duration{first + 1500*time.Millisecond, second + 1500*time.Millisecond} {
			if n := s.between(from, from+time.Second); n < 1998 || n > 2003 {
				t.Errorf("%d in a second after one has left", n)
			}
		}
		if n := s.between(first-time.Second, first-time.Millisecond); n < 998 || n > 1001 {
			t.Errorf("%d in a second before", n)
		}
	})
}

// TestRangesTooFastAhead: a worker leaves when it receives laws that are too fast, before they take effect. A worker
// that joins a run that is too fast sends nothing.
func TestRangesTooFastAhead(t *testing.T) {
	simulate(t, func(t *testing.T) {
		ramp, err := pacer.Stages(pacer.PerSecond(100), pacer.Stage{Length: 20 * time.Second, To: pacer.PerSecond(100)}, pacer.Stage{To: pacer.PerSecond(300)},
			pacer.Stage{Length: 10 * time.Second, To: pacer.PerSecond(300)}).Pieces()
		if err != nil {
			t.Fatal(err)
		}
		s := newSim(t, 0, model.Options{Pieces: ramp, Span: 30 * second, Min: 1})
		m := s.add("a")
		m.MaxRate = pacer.PerSecond(299)
		s.run()
		m.tooFast("the cluster is asked for 300/s, more than --max-qps 299 of this worker")
		s.books()
		if last := time.Duration(s.sends[len(s.sends)-1].at) - s.begun(0); last < 9*time.Second || last > 20*time.Second {
			t.Errorf("the last was sent after %v, the law is known after 10 s and in force after 20 s", last)
		}
		late := s.add("b")
		late.MaxRate = pacer.PerSecond(99)
		late.start()
		<-late.exited
		late.tooFast("the cluster is asked for ")
		if n := s.sent("b", 0, time.Hour); n > 0 {
			t.Errorf("%d sent", n)
		}
	})
}

// TestRangesTooFastByItsLimiter: what the limiter may let pass counts as a rate too, as soon as it is known.
func TestRangesTooFastByItsLimiter(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 100, model.Options{Min: 1})
		m := s.add("a")
		more := 50.0
		m.MaxRate, m.Surge = pacer.PerSecond(150), func() (func(float64) float64, error) {
			time.Sleep(200 * time.Millisecond) // the network
			s.mu.Lock()
			defer s.mu.Unlock()
			n := more
			return func(float64) float64 { return n }, nil
		}
		m.start()
		time.Sleep(5 * time.Second)
		s.mu.Lock()
		more = 51
		s.mu.Unlock()
		changed := s.since()
		<-m.exited
		if took := s.since() - changed; took > 2*time.Second {
			t.Errorf("it left %v after the change", took)
		}
		m.tooFast("the cluster is asked for 100/s, and its limiter may let 51 more pass in a second")
		s.books()
	})
}

// looped returns a shard of a closed loop that may send without end.
func looped(client Client, part, parts int, l limits) *shard {
	s := stepShard(client, part, parts, l)
	s.closeLoop()
	s.given(lease.Law{Law: pacer.Law{ID: 1, Den: 1}, End: pacer.Endless, ClockEpoch: 1})
	return s
}
