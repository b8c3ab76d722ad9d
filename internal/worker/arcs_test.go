package worker

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/internal/arcs"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// newArcs is a fleet whose workers lease arcs from the model of the scripts.
func newArcs(t *testing.T, rate int64, o arcs.Options) *sim {
	t.Helper()
	if o.Pieces == nil {
		o.Pieces = pieces(t, rate)
	}
	if o.Hold == 0 {
		o.Hold = 10_000_000
	}
	return &sim{t: t, began: time.Now(), skew: 1234567 * time.Microsecond, arcs: arcs.New(o, "server")}
}

// firstSlot is Worker.Started.
func (s *sim) firstSlot() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.arcs.Laws().All(); len(all) > 0 {
		return all[0].T0
	}
	return 0
}

// Renew implements lease.Server.
func (m *simMember) Renew(ctx context.Context, c lease.Call) (lease.Reply, error) {
	if m.crashed > 0 && m.since() >= m.crashed || within(m.since(), m.away) {
		<-ctx.Done()
		return lease.Reply{}, errAway
	}
	m.travel()
	m.mu.Lock()
	r := m.arcs.Renew(m.redis(), c)
	woken := m.arcs.Woken()
	m.mu.Unlock()
	m.publish(lease.Message{}, woken)
	m.travel()
	if m.loss != nil && m.loss() {
		<-ctx.Done()
	}
	return r, ctx.Err()
}

// publish sends a message to members by name; nil: to all.
func (s *sim) publish(msg lease.Message, to []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if to == nil && len(msg.Laws) > 0 || slices.Contains(to, m.ID) {
			select {
			case m.messages <- msg:
			default:
			}
		}
	}
}

// order gives a command and tells everyone. It returns t0 as a time of the sim.
func (s *sim) order(kind string, ps []pacer.Piece) time.Duration {
	s.mu.Lock()
	t0, status := s.arcs.Command(s.redis(), kind, ps)
	laws := s.arcs.Laws().All()
	s.mu.Unlock()
	if status != "OK" {
		s.t.Errorf("%s: %s", kind, status)
	}
	s.publish(lease.Message{Laws: laws, Quiet: true}, nil)
	return time.Duration(t0)*time.Microsecond - time.Duration(s.began.Add(s.skew).UnixNano())
}

// books holds what each worker says of itself against what the server counted, and returns all that was asked for, and what nobody owned.
func (s *sim) books() (asked, idle int64) {
	s.t.Helper()
	a := s.arcs.Audit(s.redis())
	sum := a.Idle
	for _, m := range s.members {
		owned := a.Owned[m.ID+"/1"]
		sum += owned
		n := m.total.Counts
		if m.crashed > 0 {
			continue
		}
		if m.err != nil {
			s.t.Errorf("%s: %v", m.ID, m.err)
		}
		if told := n.Slots() - n.Beyond; told != owned {
			s.t.Errorf("%s owned %d slots, and accounts for %d: %+v", m.ID, owned, told, n)
		}
	}
	if sum != a.Asked {
		s.t.Errorf("asked %d, owned and idle %d", a.Asked, sum)
	}
	seen := map[int64]bool{}
	for _, x := range s.sends {
		if seen[x.due] && !s.members[0].Closed && s.limiter == nil { // what a limiter grants late is due when it does
			s.t.Errorf("two requests are due at %v", time.Duration(x.due))
		}
		seen[x.due] = true
	}
	return a.Asked, a.Idle
}

// sent is how many requests a worker sent from one time to another; "" means all workers.
func (s *sim) sent(id string, from, to time.Duration) (n int64) {
	for _, x := range s.sends {
		if (id == "" || x.worker == id) && x.at >= int64(from) && x.at < int64(to) {
			n++
		}
	}
	return n
}

// variation is that of the gaps between a worker's requests: standard deviation by mean.
func (s *sim) variation(id string) float64 {
	var last, sum, squares, n float64
	for _, x := range s.sends {
		if x.worker != id {
			continue
		}
		if last > 0 {
			gap := float64(x.at) - last
			sum, squares, n = sum+gap, squares+gap*gap, n+1
		}
		last = float64(x.at)
	}
	mean := sum / n
	return math.Sqrt(max(0, squares/n-mean*mean)) / mean
}

// TestArcsAreExact: each slot is sent once, on time, and every worker's part of them is even.
func TestArcsAreExact(t *testing.T) {
	for _, shards := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			s := newArcs(t, 3000, arcs.Options{Min: 3, Span: 10_000_000})
			for _, id := range []string{"a", "b", "c"} {
				m := s.add(id)
				m.Shards = shards
				m.delay = func() time.Duration { return time.Millisecond }
			}
			s.run()
			if asked, idle := s.books(); asked != 30_000 || idle != 0 || len(s.sends) != 30_000 {
				t.Errorf("asked %d, idle %d, sent %d", asked, idle, len(s.sends))
			}
			for _, id := range []string{"a", "b", "c"} {
				if v := s.variation(id); v > 0.4 {
					t.Errorf("%s: gaps vary by %.2f", id, v)
				}
			}
			for _, x := range s.sends {
				if late := x.at - x.due; late < -int64(2*time.Millisecond) || late > int64(2*time.Millisecond) {
					t.Fatalf("a request due at %v was sent at %v", time.Duration(x.due), time.Duration(x.at))
				}
			}
		})
	}
}

// TestArcsMove: who joins has its share soon, who leaves hands its own over, and nothing is lost on the way.
func TestArcsMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newArcs(t, 3000, arcs.Options{Min: 2, Span: 20_000_000})
		for _, id := range []string{"a", "b"} {
			s.add(id).Shards = 2
		}
		s.add("c").Shards = 2
		s.members[0].start()
		s.members[1].start()
		time.Sleep(5 * time.Second)
		s.members[2].start()
		time.Sleep(5 * time.Second)
		s.members[0].cancel()
		s.wait()
		if asked, idle := s.books(); asked != 60_000 || idle != 0 || len(s.sends) != 60_000 {
			t.Errorf("asked %d, idle %d, sent %d", asked, idle, len(s.sends))
		}
		if n := s.sent("c", 6*time.Second, 7*time.Second); n < 950 {
			t.Errorf("a newcomer sent %d a second after it came, its share is 1000", n)
		}
		if n := s.sent("a", 11*time.Second, 20*time.Second); n > 0 {
			t.Errorf("who left sent %d requests a second later", n)
		}
	})
}

// TestArcsOutlastOutages: what is promised is sent while Redis is away.
func TestArcsOutlastOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newArcs(t, 3000, arcs.Options{Min: 3, Span: 20_000_000})
		for _, id := range []string{"a", "b", "c"} {
			s.add(id).away = [2]time.Duration{5 * time.Second, 13 * time.Second}
		}
		s.run()
		if asked, idle := s.books(); asked != 60_000 || idle != 0 || len(s.sends) != 60_000 {
			t.Errorf("asked %d, idle %d, sent %d", asked, idle, len(s.sends))
		}
	})
}

// TestArcsObey: commands are in force when they say, and a stopped run has stopped.
func TestArcsObey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newArcs(t, 1000, arcs.Options{Min: 3})
		for _, id := range []string{"a", "b", "c"} {
			s.add(id).Shards = 2
			s.members[len(s.members)-1].start()
		}
		time.Sleep(3 * time.Second)
		faster := s.order("set-rate", pieces(t, 4000))
		time.Sleep(12 * time.Second) // laws that are over are forgotten meanwhile
		paused := s.order("pause", nil)
		time.Sleep(2 * time.Second)
		resumed := s.order("resume", nil)
		time.Sleep(12 * time.Second)
		stopped := s.order("stop", nil)
		s.wait()
		asked, idle := s.books()
		if asked != int64(len(s.sends)) || idle != 0 {
			t.Errorf("asked %d, sent %d, idle %d", asked, len(s.sends), idle)
		}
		const ms = time.Millisecond
		for _, x := range []struct {
			from, to time.Duration
			least    int64
			most     int64
		}{
			{faster - time.Second, faster - ms, 998, 1001}, {faster, faster + time.Second, 3998, 4002},
			{paused + ms, resumed - ms, 0, 0}, {resumed, resumed + time.Second, 3998, 4002}, {stopped + ms, time.Hour, 0, 0},
		} {
			if n := s.sent("", x.from, x.to); n < x.least || n > x.most {
				t.Errorf("%d requests from %v to %v, expected %d to %d", n, x.from, x.to, x.least, x.most)
			}
		}
	})
}

// TestArcsOfAKilledWorker: its share is not sent until its promise is over, and then by others.
func TestArcsOfAKilledWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newArcs(t, 3000, arcs.Options{Min: 3, Span: 30_000_000, Hold: 5_000_000})
		for _, id := range []string{"a", "b", "c"} {
			s.add(id)
		}
		s.members[2].crashed = 5 * time.Second
		s.run()
		asked, _ := s.books()
		if asked != 90_000 {
			t.Errorf("asked %d", asked)
		}
		if n := s.sent("", 6*time.Second, 9*time.Second); n < 5990 || n > 6010 {
			t.Errorf("%d requests in 3 s without a third of the fleet", n)
		}
		if n := s.sent("", 12*time.Second, 15*time.Second); n < 8990 || n > 9010 {
			t.Errorf("%d requests in 3 s when its share was taken over", n)
		}
	})
}
