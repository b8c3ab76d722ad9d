package worker

import (
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
)

// TestRangesAreExact: each slot is sent once and on time, and each worker's slots are spread evenly.
func TestRangesAreExact(t *testing.T) {
	for _, shards := range []int{1, 3} {
		simulate(t, func(t *testing.T) {
			s := newSim(t, 3000, model.Options{Min: 3, Span: 10_000_000})
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

// TestRangesMove: a worker that joins soon has its share, a worker that leaves hands its share over, and no slot is
// lost.
func TestRangesMove(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 3000, model.Options{Min: 2, Span: 20_000_000})
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

// TestRangesOutlastOutages: during an outage of Redis workers send what they were leased.
func TestRangesOutlastOutages(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 3000, model.Options{Min: 3, Span: 20_000_000})
		for _, id := range []string{"a", "b", "c"} {
			s.add(id).away = [2]time.Duration{5 * time.Second, 13 * time.Second}
		}
		s.run()
		if asked, idle := s.books(); asked != 60_000 || idle != 0 || len(s.sends) != 60_000 {
			t.Errorf("asked %d, idle %d, sent %d", asked, idle, len(s.sends))
		}
	})
}

// TestRangesObey: commands take effect at the announced time, and a stopped run stays stopped.
func TestRangesObey(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Min: 3})
		for _, id := range []string{"a", "b", "c"} {
			s.add(id).Shards = 2
			s.members[len(s.members)-1].start()
		}
		time.Sleep(3 * time.Second)
		faster := s.order("set-rate", pieces(t, 4000))
		time.Sleep(12 * time.Second) // meanwhile the laws that have ended are forgotten
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

// TestRangesOfAKilledWorker: nobody sends its share until its lease ends. Then other workers send it.
func TestRangesOfAKilledWorker(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 3000, model.Options{Min: 3, Span: 30_000_000, Hold: 5_000_000})
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
