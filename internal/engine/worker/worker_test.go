package worker

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
)

const second = int64(1_000_000) // µs

// simulate runs f in virtual time, on one processor. On several, two goroutines of a bubble that look at due timers at
// the same time crash the race detector (golang/go#78156).
func simulate(t *testing.T, f func(*testing.T)) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, f)
}

// fleet adds n members w0, w1, ….
func (s *sim) fleet(n int) {
	for i := range n {
		s.add(fmt.Sprintf("w%d", i))
	}
}

// exactly asserts that all requests asked for were sent, and that nothing else happened except waiting.
func exactly(t *testing.T, n record.Counts, asked int64) {
	t.Helper()
	want := record.Counts{Sent: asked, Completed: asked, Busy: n.Busy}
	if n != want {
		t.Errorf("got %+v, want %d sent and completed", n, asked)
	}
}

// TestTotalIsExact: a healthy fleet of any size sends exactly the requests asked for, exactly on the grid.
func TestTotalIsExact(t *testing.T) {
	for _, c := range []struct{ workers, shards, rate, seconds int64 }{
		{1, 1, 1000, 20}, {1, 4, 5000, 5}, {4, 1, 4000, 20}, {3, 2, 7, 30}, {200, 1, 5000, 6}, {50, 1, 20, 20},
	} {
		t.Run(fmt.Sprintf("%dx%d,%d per s", c.workers, c.shards, c.rate), func(t *testing.T) {
			simulate(t, func(t *testing.T) {
				s := newSim(t, c.rate, model.Options{Span: c.seconds * second, Min: int(c.workers)})
				s.fleet(int(c.workers))
				for _, m := range s.members {
					m.Shards = int(c.shards)
				}
				s.run()
				exactly(t, s.audit(), c.rate*c.seconds)
				s.even(c.rate)
			})
		})
	}
}

// TestSlowNetwork: round trips of up to 30 ms and lost replies change nothing.
func TestSlowNetwork(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 2000, model.Options{Span: 20 * second, Min: 10})
		s.fleet(10)
		for i, m := range s.members {
			m.network(uint64(i), 0.02)
		}
		s.run()
		exactly(t, s.audit(), 40_000)
	})
}

func TestRateChange(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Span: 20 * second, Min: 4})
		s.fleet(4)
		for _, m := range s.members {
			m.start()
		}
		time.Sleep(5 * time.Second)
		t0 := s.order("set-rate", pieces(t, 3000))
		time.Sleep(5 * time.Second)
		t1 := s.order("set-rate", pieces(t, 500))
		s.wait()
		n := s.audit()
		start := time.Duration(s.firstSlot())*time.Microsecond - time.Duration(s.began.Add(s.skew).UnixNano())
		asked := int64(1000*(t0-start).Seconds()+3000*(t1-t0).Seconds()+500*(start+20*time.Second-t1).Seconds()) + 1
		if d := n.Sent - asked; d < -1 || d > 1 || n.LateDropped != 0 {
			t.Errorf("%+v; asked were %d", n, asked)
		}
		for _, c := range []struct {
			from time.Duration
			want int
		}{{t0 - time.Second, 1000}, {t0, 3000}, {t1, 500}} {
			if got := s.between(c.from, c.from+time.Second); got < c.want-1 || got > c.want+1 {
				t.Errorf("%d in the second from %v, want %d", got, c.from, c.want)
			}
		}
	})
}

func TestPauseAndResume(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Span: 10 * second, Min: 2})
		s.fleet(2)
		for _, m := range s.members {
			m.start()
		}
		time.Sleep(4 * time.Second)
		t0 := s.order("pause", nil)
		time.Sleep(7 * time.Second)
		t1 := s.order("resume", nil)
		s.wait()
		exactly(t, s.audit(), 10_000)
		if n := s.between(t0, t1); n != 0 {
			t.Errorf("%d requests while paused", n)
		}
		if n := s.maxInWindow(time.Second); n > 1001 {
			t.Errorf("%d requests in a second", n)
		}
	})
}

// TestStop: after a stop nothing is sent, and every worker says so before the last response has come.
func TestStop(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Min: 3})
		s.fleet(3)
		for _, m := range s.members {
			m.client = simEndpoint{latency: 3 * time.Second, connections: 2000}
			m.start()
		}
		time.Sleep(5 * time.Second)
		cut := s.order("stop", nil)
		asked := s.since()
		s.wait()
		n := s.audit()
		for _, m := range s.members {
			left, ok := m.left[lease.Halted]
			if !ok || left > asked+50*time.Millisecond {
				t.Errorf("%s confirmed at %v, the stop was at %v", m.ID, left, asked)
			}
			for _, x := range s.sends {
				if x.worker == m.ID && time.Duration(x.at) > left {
					t.Fatalf("%s sent at %v, after it had confirmed the stop at %v", m.ID, time.Duration(x.at), left)
				}
			}
		}
		if n.LateDropped != 0 || n.Completed != n.Sent || s.between(cut+time.Microsecond, time.Hour) > 0 {
			t.Errorf("%+v, %d after the stop", n, s.between(cut, time.Hour))
		}
		if took := s.since() - asked; took < 2900*time.Millisecond || took > 3200*time.Millisecond {
			t.Errorf("ended after %v, want what the last responses take", took)
		}
	})
}

// TestStopWaitsForEveryShard: a worker confirms a stop when its last shard has seen it, not before.
func TestStopWaitsForEveryShard(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Min: 1})
		s.fleet(1)
		m := s.members[0]
		m.Shards = 2
		m.freeze = [2]time.Duration{5*time.Second - time.Millisecond, 300 * time.Millisecond}
		m.start()
		time.Sleep(5 * time.Second)
		s.order("stop", nil)
		s.wait()
		s.audit()
		if left := m.left[lease.Halted]; left < 5200*time.Millisecond || left > 5400*time.Millisecond {
			t.Errorf("confirmed at %v, the frozen shard came back at about 5.3 s", left)
		}
	})
}

func TestJoin(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 2000, model.Options{Span: 15 * second, Min: 1})
		s.fleet(3)
		s.members[2].Weight = 2
		s.members[0].start()
		time.Sleep(3 * time.Second)
		s.members[1].start()
		time.Sleep(2 * time.Second)
		s.members[2].start()
		s.wait()
		exactly(t, s.audit(), 30_000)
		s.even(2000)
		share := map[string]int{}
		for _, x := range s.sends {
			if x.at > int64(7*time.Second) && x.at < int64(15*time.Second) {
				share[x.worker]++
			}
		}
		for id, want := range map[string]int{"w0": 4000, "w1": 4000, "w2": 8000} {
			if d := share[id] - want; d < -200 || d > 200 {
				t.Errorf("%s sent %d, its share is %d", id, share[id], want)
			}
		}
	})
}

// TestLeave: a worker that is asked to go says so. It sends what it holds until other workers have it, and leaves.
func TestLeave(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 2000, model.Options{Span: 10 * second, Min: 2})
		s.fleet(2)
		for _, m := range s.members {
			m.start()
		}
		time.Sleep(5 * time.Second)
		s.members[0].cancel()
		asked := s.since()
		<-s.members[0].exited
		if took := s.since() - asked; took > 1200*time.Millisecond {
			t.Errorf("left after %v", took)
		}
		if at, ok := s.members[0].left[lease.Leaves]; !ok || at > asked+10*time.Millisecond {
			t.Errorf("the others were notified at %v, want %v", at, asked)
		}
		s.wait()
		exactly(t, s.audit(), 20_000)
		s.even(2000)
	})
}

func TestCrash(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Span: 15 * second, Min: 4, Hold: 3 * second})
		s.fleet(4)
		s.members[0].crashed = 5 * time.Second
		s.run()
		s.audit()
		if s.members[0].err == nil {
			t.Error("no error from a worker whose client failed")
		}
		if n := s.maxInWindow(time.Second); n > 1001 {
			t.Errorf("%d requests in a second", n)
		}
		if n := s.between(9*time.Second, 15*time.Second); n < 5995 || n > 6001 {
			t.Errorf("%d requests in 6 s after the others have taken over, want 6000", n)
		}
	})
}

// TestClientFails: a worker whose client fails counts what it held, leaves at once so that others take over, and says
// why.
func TestClientFails(t *testing.T) {
	for _, resolution := range []time.Duration{0, 5 * time.Millisecond} {
		simulate(t, func(t *testing.T) {
			s := newSim(t, 1000, model.Options{Span: 10 * second, Min: 2})
			s.fleet(2)
			m := s.members[0]
			m.Shards, m.Resolution = 3, resolution
			m.breaks = 5 * time.Second
			s.run()
			n := s.audit()
			if m.err == nil || m.err.Error() != "poll client of shard 0: broken" && m.err.Error() != "poll client of shard 1: broken" && m.err.Error() != "poll client of shard 2: broken" {
				t.Errorf("ended with %v", m.err)
			}
			if left := m.left[lease.Halted]; left < m.breaks || left > m.breaks+50*time.Millisecond {
				t.Errorf("left at %v", left)
			}
			_, idle := s.books()
			if n.Sent+n.LateDropped+idle != 10_000 || n.Sent < 9700 {
				t.Errorf("%+v, idle %d; asked were 10,000", n, idle)
			}
		})
	}
}

// TestCancel: the end of ctx ends a worker that waits for others, and a worker that Redis does not answer.
func TestCancel(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Min: 2})
		s.fleet(1)
		m := s.members[0]
		m.start()
		time.Sleep(3 * time.Second)
		m.cancel()
		s.wait()
		exactly(t, s.audit(), 0)
		if took := s.since(); took > 3100*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Min: 1})
		s.fleet(1)
		m := s.members[0]
		m.away = [2]time.Duration{4 * time.Second, time.Hour}
		m.journal.fails = m.away
		m.start()
		time.Sleep(5 * time.Second)
		m.cancel()
		s.wait()
		// While the worker tries to hand over, it sends what it still holds.
		least := (11*time.Second - s.begun(0)).Milliseconds() - 10
		if n := m.total.Counts; m.err != nil || n.Sent != int64(len(s.sends)) || n.Sent < least || !m.total.Final {
			t.Errorf("%v, %+v, want %d", m.err, n, least)
		}
		if last := time.Duration(s.sends[len(s.sends)-1].at); last > 5*time.Second+6100*time.Millisecond {
			t.Errorf("it sent %v after the cancel", last-5*time.Second)
		}
		if took := s.since(); took > 23*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestHaltAfterLeaving: a worker that leaves may send what it holds for some seconds, because it no longer receives a
// stop. After that it sends nothing.
func TestHaltAfterLeaving(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Min: 2})
		s.fleet(2)
		m := s.members[0]
		m.MaxLag = 100 * time.Millisecond
		var halted atomic.Int64
		m.Halt = func() { halted.Store(int64(s.since())) }
		m.start()
		s.members[1].start()
		time.Sleep(5 * time.Second)
		m.cancel()
		<-m.exited
		time.Sleep(5 * time.Second)
		var last time.Duration
		s.mu.Lock()
		for _, x := range s.sends {
			if x.worker == m.ID {
				last = time.Duration(x.at)
			}
		}
		s.mu.Unlock()
		if end := time.Duration(halted.Load()); end < last+m.MaxLag || end > last+m.MaxLag+handoverTime {
			t.Errorf("the last was sent at %v, nothing could be written after %v", last, end)
		}
		s.order("stop", nil)
		s.wait()
		s.audit()
	})
}

// TestRedisAway: a fleet that cannot reach Redis for longer than its lease sends until the lease ends. Later it
// goes on, and never catches up in a burst.
func TestRedisAway(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Span: 20 * second, Min: 2, Hold: 3 * second})
		s.fleet(2)
		for _, m := range s.members {
			m.away = [2]time.Duration{5 * time.Second, 13 * time.Second}
		}
		s.run()
		n := s.audit()
		if _, idle := s.books(); n.Sent+n.LateDropped+idle != 20_000 || n.Recalled != 0 || n.Sent < 14_000 || n.Sent > 15_500 {
			t.Errorf("%+v, idle %d", n, idle)
		}
		if n := s.between(5*time.Second, 7400*time.Millisecond); n < 2395 {
			t.Errorf("%d sent while it was leased", n)
		}
		s.calm(1000)
		if most := s.maxInWindow(time.Second); most > 1000+100+2 { // CatchUp
			t.Errorf("%d requests in a second", most)
		}
	})
}

// calm asserts that late slots left at no more than twice the pace.
func (s *sim) calm(rate int64) {
	s.t.Helper()
	for _, w := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond} {
		if most, bound := s.maxInWindow(w), int(2*rate*int64(w+10*time.Millisecond)/int64(time.Second))+1; most > bound {
			s.t.Errorf("%d requests in %v, at most %d", most, w, bound)
		}
	}
}

// TestFrozen: a process that stood still drops slots that are too late. The others leave at no more than twice its
// pace.
func TestFrozen(t *testing.T) {
	for _, c := range []struct {
		freeze  time.Duration
		dropped int64
	}{{8 * time.Millisecond, 0}, {60 * time.Millisecond, 0}, {300 * time.Millisecond, 199}, {2 * time.Second, 1899}} {
		t.Run(c.freeze.String(), func(t *testing.T) {
			simulate(t, func(t *testing.T) {
				s := newSim(t, 1000, model.Options{Span: 10 * second, Min: 1})
				s.fleet(1)
				s.members[0].freeze = [2]time.Duration{4 * time.Second, c.freeze}
				s.run()
				n := s.audit()
				if n.LateDropped < c.dropped || n.LateDropped > c.dropped+2 {
					t.Errorf("dropped %d, want about %d", n.LateDropped, c.dropped)
				}
				s.calm(1000)
			})
		})
	}
}

// TestStalledEndpoint: an endpoint stands still for 2 of 10 s. Everything is sent, and the latency is what a user
// would have felt.
func TestStalledEndpoint(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Span: 10 * second, Min: 1})
		s.fleet(1)
		m := s.members[0]
		m.MaxLag = 5 * time.Second
		m.client = simEndpoint{latency: time.Millisecond, connections: 100, stall: [2]time.Duration{4 * time.Second, 6 * time.Second}}
		s.run()
		n := s.audit()
		exactly(t, n, 10_000)
		if n.Busy < 1850 || n.Busy > 2000 { // 100 took the connections, and slots after the stall may have found a queue
			t.Errorf("%d slots found no connection free", n.Busy)
		}
		for _, c := range []struct {
			q    float64
			want time.Duration
		}{{0.5, time.Millisecond}, {0.9, time.Second}, {0.99, 1900 * time.Millisecond}} {
			got := time.Duration(m.total.Latency.Quantile(c.q))
			if d := got - c.want; d < -20*time.Millisecond || d > 20*time.Millisecond {
				t.Errorf("latency p%v is %v, want %v", 100*c.q, got, c.want)
			}
		}
		if p99 := time.Duration(m.total.Service.Quantile(0.5)); p99 > 2*time.Millisecond {
			t.Errorf("service time p50 %v", p99)
		}
	})
}

// TestStalledEndpointDropsLate: with the default max lag the same stall drops slots that waited longer than a second.
func TestStalledEndpointDropsLate(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Span: 10 * second, Min: 1})
		s.fleet(1)
		s.members[0].client = simEndpoint{latency: time.Millisecond, connections: 100, stall: [2]time.Duration{4 * time.Second, 6 * time.Second}}
		s.run()
		if n := s.audit(); n.LateDropped < 890 || n.LateDropped > 910 {
			t.Errorf("dropped %d, want about 900: those due in the first second but for 100 on the wire", n.LateDropped)
		}
	})
}

// TestJournalFails: a Journal that fails loses nothing, whether or not a failed write was written.
func TestJournalFails(t *testing.T) {
	for _, ambiguous := range []bool{false, true} {
		simulate(t, func(t *testing.T) {
			s := newSim(t, 1000, model.Options{Span: 10 * second, Min: 1})
			s.fleet(1)
			s.members[0].journal.fails = [2]time.Duration{3 * time.Second, 8 * time.Second}
			s.members[0].journal.ambiguous = ambiguous
			s.run()
			exactly(t, s.audit(), 10_000)
		})
	}
}

// TestSeries: the series has a point for each second since the run's first t0.
func TestSeries(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Span: 10 * second, Min: 2})
		s.fleet(2)
		s.members[0].start()
		time.Sleep(7*time.Second + 300*time.Millisecond) // the first waits for the second
		s.members[1].start()
		s.wait()
		s.audit()
		for _, m := range s.members {
			for i := range int64(11) {
				if p := m.journal.points[i]; i > 0 && i < 9 && (p.Sent < 450 || p.Sent > 550) {
					t.Errorf("%s: %d requests in second %d of the run, want 500", m.ID, p.Sent, i)
				}
			}
		}
	})
}

// TestDrainTimeout: requests that do not end are abandoned after DrainTimeout. The report has them as in flight.
func TestDrainTimeout(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 100, model.Options{Span: 2 * second, Min: 1})
		s.fleet(1)
		m := s.members[0]
		m.client.latency = time.Hour
		m.DrainTimeout = 4 * time.Second
		s.run()
		s.audit()
		if n := m.total.InFlight(); n != 200 {
			t.Errorf("%d in flight, want 200", n)
		}
		if took := s.since(); took < 6*time.Second || took > 7*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestReplaced: of two processes with one id, the first ends with an error and sends no more.
func TestReplaced(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Span: 5 * second, Min: 1})
		s.fleet(1)
		first := s.members[0]
		first.start()
		time.Sleep(2 * time.Second)
		second := s.add("w0")
		second.Incarnation = "2"
		second.start()
		<-first.exited
		replaced := s.since()
		if !errors.Is(first.err, pacer.ErrReplaced) || replaced > 3*time.Second {
			t.Errorf("ended with %v at %v", first.err, replaced)
		}
		<-second.exited
		if second.err != nil {
			t.Error(second.err)
		}
		a := s.model.Audit(s.redis())
		if n := first.total.Counts; a.Owned["w0/1"]-n.Slots() < 0 || a.Owned["w0/1"]-n.Slots() > 510 || s.sent("w0", 0, time.Hour) != n.Sent+second.total.Counts.Sent {
			t.Errorf("owned %d, %+v; nobody else has its part for half a second", a.Owned["w0/1"], n)
		}
		if n := second.total.Counts; n.Slots() != a.Owned["w0/2"] || n.Sent == 0 {
			t.Errorf("owned %d, %+v", a.Owned["w0/2"], n)
		}
	})
}

// TestOpenFails: a client that cannot be opened is an error before the worker joins, and the other clients are closed.
func TestOpenFails(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Min: 1})
		m := s.add("w0")
		var opened []*simClient
		m.Shards = 3
		m.NewClient = func(i int) (Client, error) {
			if i == 2 {
				return nil, errors.New("no descriptors")
			}
			opened = append(opened, m.open(i))
			return opened[i], nil
		}
		total, err := m.Run(t.Context())
		if err == nil || total == nil || !opened[0].closed || !opened[1].closed || len(m.left) != 0 {
			t.Errorf("%v, %v", total, err)
		}
	})
}
