package worker

import (
	"context"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
)

// simLimiter is a token bucket on the Redis clock.
type simLimiter struct {
	burst  int64
	slow   float64          // the share of the rate at which it fills; 0 = the whole rate
	closed [2]time.Duration // it grants nothing, from … to

	tokens float64
	at     int64
	calls  int
	grants []simGrant
}

// simGrant is n slots at a time of the sim.
type simGrant struct {
	at time.Duration
	n  int64
}

// granting is a fleet of a run with a limiter.
func granting(t *testing.T, rate int64, l *simLimiter, o model.Options) *sim {
	t.Helper()
	s := newSim(t, rate, o)
	s.limiter = l
	l.tokens = float64(l.burst)
	return s
}

// Grant implements Grants.
func (m *simMember) Grant(ctx context.Context, n int64, rate pacer.Rate) (lease.Grant, error) {
	answer := make(chan lease.Grant, 1)
	go func() {
		if within(m.since(), m.away) { // it stands still, and later carries out even calls that were given up
			time.Sleep(m.away[1] - m.since())
		}
		m.travel()
		m.mu.Lock()
		g := m.limiter.grant(m.redis(), n, rate.Float(), m.since())
		m.mu.Unlock()
		m.travel()
		answer <- g
	}()
	select {
	case g := <-answer:
		return g, nil
	case <-ctx.Done():
		return lease.Grant{}, errAway
	}
}

func (l *simLimiter) grant(now, n int64, rate float64, since time.Duration) lease.Grant {
	fill := rate / 1e6
	if l.slow > 0 {
		fill *= l.slow
	}
	if l.at > 0 {
		l.tokens = min(float64(l.burst), l.tokens+float64(now-l.at)*fill)
	}
	l.at = now
	l.calls++
	g := lease.Grant{Now: now, N: min(n, int64(l.tokens)), Burst: l.burst}
	if within(since, l.closed) {
		g.N = 0
	}
	l.tokens -= float64(g.N)
	if g.N > 0 {
		l.grants = append(l.grants, simGrant{since, g.N})
	}
	if g.N < n {
		g.Retry = max(1, int64(math.Ceil((float64(int64(l.tokens)+1)-l.tokens)/fill)))
	}
	return g
}

// granted returns how many slots were granted.
func (l *simLimiter) granted() (n int64) {
	for _, g := range l.grants {
		n += g.n
	}
	return n
}

// settled checks the counts of a limited run. It returns how many slots were asked for, and how many were not granted.
func (s *sim) settled() (asked, ungranted int64) {
	s.t.Helper()
	asked, idle := s.books()
	var sent, dropped int64
	for _, m := range s.members {
		n := m.total.Counts
		sent, ungranted, dropped = sent+n.Sent, ungranted+n.Ungranted, dropped+n.LateDropped
	}
	if sent != int64(len(s.sends)) || idle+dropped != 0 {
		s.t.Errorf("%d sent, %d arrived; idle %d, dropped as late %d", sent, len(s.sends), idle, dropped)
	}
	return asked, ungranted
}

// limited starts members with this many shards each.
func (s *sim) limited(shards int, ids ...string) {
	for _, id := range ids {
		m := s.add(id)
		m.Shards = shards
		m.delay = func() time.Duration { return time.Millisecond }
	}
	for _, m := range s.members {
		m.start()
	}
}

// TestGrantsAreExact: if the limiter lets the whole rate pass, each slot is sent once and on time, and each worker's
// slots are spread evenly.
func TestGrantsAreExact(t *testing.T) {
	for _, terms := range []lease.Terms{{}, {Even: true}, {Strict: true}} {
		for _, shards := range []int{1, 3} {
			simulate(t, func(t *testing.T) {
				l := &simLimiter{burst: 1500}
				s := granting(t, 3000, l, model.Options{Min: 3, Span: 10_000_000})
				for _, id := range []string{"a", "b", "c"} {
					s.add(id).Terms = terms
				}
				for _, m := range s.members {
					m.Shards, m.delay = shards, func() time.Duration { return time.Millisecond }
					m.start()
				}
				s.wait()
				if asked, ungranted := s.settled(); asked != 30_000 || ungranted != 0 || len(s.sends) != 30_000 || l.granted() != 30_000 {
					t.Errorf("%+v: asked %d, ungranted %d, sent %d, granted %d", terms, asked, ungranted, len(s.sends), l.granted())
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
				if most := 3 * 10 * 13; l.calls > most {
					t.Errorf("%d calls in 10 s, at most %d are expected", l.calls, most)
				}
			})
		}
	}
}

// TestGrantsFromAfar: a distant Redis makes no slot late, and no slot is lost when a worker joins.
func TestGrantsFromAfar(t *testing.T) {
	simulate(t, func(t *testing.T) {
		l := &simLimiter{burst: 1500}
		s := granting(t, 1000, l, model.Options{Min: 2, Span: 10_000_000})
		for _, id := range []string{"a", "b", "c"} {
			m := s.add(id)
			m.Shards, m.delay = 2, func() time.Duration { return 50 * time.Millisecond }
			m.start()
			time.Sleep(2 * time.Second)
		}
		s.wait()
		if asked, ungranted := s.settled(); asked != 10_000 || ungranted != 0 || len(s.sends) != 10_000 {
			t.Errorf("asked %d, ungranted %d, sent %d", asked, ungranted, len(s.sends))
		}
		for _, x := range s.sends {
			if late := x.at - x.due; late > int64(2*time.Millisecond) {
				t.Fatalf("a request due at %v was sent at %v", time.Duration(x.due), time.Duration(x.at))
			}
		}
	})
}

// TestGrantsAreObeyed: slots that the limiter refuses are not sent. All others are, and the counts add up.
func TestGrantsAreObeyed(t *testing.T) {
	for _, terms := range []lease.Terms{{}, {Even: true}, {Together: true}} {
		for _, burst := range []int64{20, 500} {
			simulate(t, func(t *testing.T) {
				l := &simLimiter{burst: burst, slow: 0.5}
				s := granting(t, 1000, l, model.Options{Min: 2, Span: 10_000_000})
				for _, id := range []string{"a", "b"} {
					m := s.add(id)
					m.Terms, m.Shards, m.delay = terms, 2, func() time.Duration { return time.Millisecond }
					m.start()
				}
				s.wait()
				asked, ungranted := s.settled()
				unused := l.granted() - int64(len(s.sends)) // granted slots that are too old when the answer comes
				if asked != 10_000 || unused < 0 || unused > 100 || ungranted != asked-int64(len(s.sends)) {
					t.Errorf("%+v %d: asked %d, ungranted %d, sent %d, granted %d", terms, burst, asked, ungranted, len(s.sends), l.granted())
				}
				if n := l.granted(); n < 4900 || n > 5000+burst+260 {
					t.Errorf("%+v %d: %d were granted of 500/s", terms, burst, n)
				}
				for _, id := range []string{"a", "b"} {
					if n := s.sent(id, 0, time.Hour); n < 1000 {
						t.Errorf("%+v %d: %s sent %d", terms, burst, id, n)
					}
				}
			})
		}
	}
}

// TestGrantsMakeUp: refused slots are made up for, up to what the limiter lets pass at once. They are due when
// granted. A queue makes up for nothing.
func TestGrantsMakeUp(t *testing.T) {
	for _, c := range []struct {
		burst int64
		terms lease.Terms
		lost  int64 // about how many of the 1000 slots due while it was closed
	}{
		{2000, lease.Terms{}, 0}, {300, lease.Terms{}, 700}, {300, lease.Terms{Together: true}, 850}, {2000, lease.Terms{Even: true}, 1000},
	} {
		simulate(t, func(t *testing.T) {
			l := &simLimiter{burst: c.burst, closed: [2]time.Duration{5 * time.Second, 6 * time.Second}}
			s := granting(t, 1000, l, model.Options{Min: 2, Span: 10_000_000})
			for _, id := range []string{"a", "b"} {
				m := s.add(id)
				m.Terms, m.Shards, m.delay = c.terms, 2, func() time.Duration { return time.Millisecond }
				m.start()
			}
			s.wait()
			asked, ungranted := s.settled()
			slack := int64(300) // slots granted ahead were still sent, and calls are some ms apart
			if asked != 10_000 || ungranted > c.lost || ungranted < c.lost-slack || len(s.sends) != int(asked-ungranted) {
				t.Errorf("%+v: asked %d, ungranted %d, sent %d", c, asked, ungranted, len(s.sends))
			}
			if burst := s.sent("", 6*time.Second, 6*time.Second+100*time.Millisecond); !c.terms.Even && burst < min(c.burst, 700)-50 {
				t.Errorf("%+v: %d were sent when it opened", c, burst)
			}
			for _, x := range s.sends {
				if late := x.at - x.due; late > int64(5*time.Millisecond) {
					t.Fatalf("%+v: a request due at %v was sent at %v", c, time.Duration(x.due), time.Duration(x.at))
				}
			}
		})
	}
}

// TestGrantsOutage: during an outage of Redis each worker sends its share of the rate, evenly. Slots not sent during
// the outage are not made up for. Strict workers send nothing.
func TestGrantsOutage(t *testing.T) {
	const from, to = 5 * time.Second, 13 * time.Second
	for _, terms := range []lease.Terms{{}, {Even: true}, {Together: true}, {Strict: true}} {
		simulate(t, func(t *testing.T) {
			l := &simLimiter{burst: 1000}
			s := granting(t, 3000, l, model.Options{Min: 3, Span: 20_000_000})
			for _, id := range []string{"a", "b", "c"} {
				m := s.add(id)
				m.Terms, m.Shards, m.away = terms, 2, [2]time.Duration{from, to}
				m.start()
			}
			s.wait()
			asked, ungranted := s.settled()
			lost := int64(2000) // due before the outage is noticed
			if terms.Strict {
				lost = 8 * 3000
			}
			if asked != 60_000 || ungranted > lost || len(s.sends) != int(asked-ungranted) {
				t.Errorf("%+v: asked %d, ungranted %d, sent %d", terms, asked, ungranted, len(s.sends))
			}
			for at := from + time.Second; at < to; at += time.Second / 2 {
				if n := s.sent("", at, at+time.Second/2); terms.Strict && n > 0 || !terms.Strict && (n < 1495 || n > 1505) {
					t.Errorf("%+v: %d sent in half a second from %v", terms, n, at)
				}
			}
			for at := from; at < 15*time.Second; at += 100 * time.Millisecond {
				if n := s.sent("", at, at+100*time.Millisecond); n > 300+300 {
					t.Errorf("%+v: %d sent in 100 ms from %v", terms, n, at)
				}
			}
			if n := s.sent("", 14*time.Second, 19*time.Second); n < 14_990 && !terms.Together || n < 14_650 || n > 15_350 {
				t.Errorf("%+v: %d sent in 5 s after it", terms, n)
			}
		})
	}
}

// TestGrantsEndWithTheLease: a worker that receives nothing for longer than its lease sends nothing. It goes on when
// Redis answers again.
func TestGrantsEndWithTheLease(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := granting(t, 1000, &simLimiter{burst: 500}, model.Options{Min: 2, Span: 20_000_000, Hold: 3_000_000})
		for _, id := range []string{"a", "b"} {
			s.add(id).away = [2]time.Duration{5 * time.Second, 13 * time.Second}
			s.members[len(s.members)-1].start()
		}
		s.wait()
		if asked, _ := s.books(); asked != 20_000 {
			t.Errorf("asked %d", asked)
		}
		for _, x := range []struct {
			from, to    time.Duration
			least, most int64
		}{{6, 7, 995, 1005}, {9, 13, 0, 0}, {15, 19, 3990, 4010}} {
			if n := s.sent("", x.from*time.Second, x.to*time.Second); n < x.least || n > x.most {
				t.Errorf("%d sent from %d to %d s", n, x.from, x.to)
			}
		}
	})
}

// TestGrantsAfterChanges: commands take effect at the announced time, and earlier slots are not made up for.
func TestGrantsAfterChanges(t *testing.T) {
	simulate(t, func(t *testing.T) {
		l := &simLimiter{burst: 10_000}
		s := granting(t, 1000, l, model.Options{Min: 2})
		s.limited(2, "a", "b")
		time.Sleep(3 * time.Second)
		s.mu.Lock()
		l.closed = [2]time.Duration{s.since(), s.since() + 2*time.Second} // 2 s at 1000/s are refused
		s.mu.Unlock()
		time.Sleep(2*time.Second - 300*time.Millisecond)
		faster := s.order("set-rate", pieces(t, 4000))
		time.Sleep(3 * time.Second)
		s.mu.Lock()
		l.closed = [2]time.Duration{s.since(), s.since() + time.Second}
		s.mu.Unlock()
		time.Sleep(800 * time.Millisecond)
		paused := s.order("pause", nil)
		time.Sleep(2 * time.Second)
		resumed := s.order("resume", nil)
		time.Sleep(2 * time.Second)
		s.mu.Lock()
		l.closed = [2]time.Duration{s.since(), s.since() + time.Second}
		s.mu.Unlock()
		time.Sleep(600 * time.Millisecond)
		stopped := s.order("stop", nil)
		s.wait()
		s.settled()
		const ms = time.Millisecond
		for _, x := range []struct {
			from, to    time.Duration
			least, most int64
		}{
			{time.Second, 2 * time.Second, 998, 1002}, {faster - time.Second, faster - ms, 0, 0}, {faster + 500*ms, faster + 1500*ms, 3998, 4002},
			{faster, faster + 500*ms, 1900, 2002}, {paused + ms, resumed - ms, 0, 0}, {resumed, resumed + time.Second, 3998, 4002}, {stopped + ms, time.Hour, 0, 0},
		} {
			if n := s.sent("", x.from, x.to); n < x.least || n > x.most {
				t.Errorf("%d requests from %v to %v, expected %d to %d", n, x.from, x.to, x.least, x.most)
			}
		}
	})
}

// TestGrantsAtTheEnd: slots may be granted until a quarter of a second after the last slot. Then the rest is dropped,
// and the run ends.
func TestGrantsAtTheEnd(t *testing.T) {
	for opens, lost := range map[time.Duration]int64{100 * time.Millisecond: 0, time.Minute: 500} {
		simulate(t, func(t *testing.T) {
			l := &simLimiter{burst: 10_000}
			s := granting(t, 1000, l, model.Options{Min: 2, Span: 5_000_000})
			s.limited(2, "a", "b")
			time.Sleep(2 * time.Second)
			end := time.Duration(s.firstSlot()*1000-s.began.Add(s.skew).UnixNano()) + 5*time.Second
			s.mu.Lock()
			l.closed = [2]time.Duration{end - 750*time.Millisecond, end + opens}
			s.mu.Unlock()
			s.wait()
			asked, ungranted := s.settled()
			if asked != 5000 || ungranted < lost || ungranted > lost+250 && lost > 0 || lost == 0 && ungranted > 0 {
				t.Errorf("asked %d, ungranted %d", asked, ungranted)
			}
			if took := s.since() - end; took > time.Second {
				t.Errorf("the workers ended after %v", took)
			}
		})
	}
}

// TestGrantsReportHowFar: a range is released only beyond the last slot that was asked for, even if the granter
// receives the release late.
func TestGrantsReportHowFar(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := granting(t, 1000, &simLimiter{burst: 500}, model.Options{Min: 1})
		h := lease.NewHolder("a", "1", 1)
		for range 2 {
			h.Receive(s.redis(), s.model.Renew(s.redis(), h.Call()))
		}
		time.Sleep(time.Second)
		v := h.View()
		m := s.add("a")
		f := &feed{changed: make(chan struct{}, 1)}
		f.newest.Store(&v)
		sh := newShard(0, 1, m.Clock, m.open(0), f, limits{maxInFlight: 1})
		sh.granted = &granted{}
		g := granter{grants: m, clock: m.Clock, feed: f, shards: []*shard{sh}, log: slog.New(slog.DiscardHandler)}
		g.prepare()
		now := s.redis()
		g.step(t.Context(), m.Clock.Now(), now)
		later := v
		later.Version++
		f.newest.Store(&later)
		g.adopt(now)
		last := g.line.at(g.line.len()-1).Due / 1000
		if version, reached := g.taken(); version != later.Version || reached <= last || last < now+200_000 {
			t.Errorf("version %d, reached %d; the last slot that was asked for is due at %d", version, reached, last)
		}
	})
}

// TestGrantsMove: a worker that joins soon has its share, a worker that leaves hands its share over, and no slot is
// lost.
func TestGrantsMove(t *testing.T) {
	simulate(t, func(t *testing.T) {
		l := &simLimiter{burst: 1500}
		s := granting(t, 3000, l, model.Options{Min: 2, Span: 20_000_000})
		s.limited(2, "a", "b")
		time.Sleep(5 * time.Second)
		c := s.add("c")
		c.Shards = 2
		c.start()
		time.Sleep(5 * time.Second)
		s.members[0].cancel()
		s.wait()
		if asked, ungranted := s.settled(); asked != 60_000 || ungranted != 0 || len(s.sends) != 60_000 {
			t.Errorf("asked %d, ungranted %d, sent %d", asked, ungranted, len(s.sends))
		}
		if n := s.sent("c", 6*time.Second, 7*time.Second); n < 950 {
			t.Errorf("a newcomer sent %d a second after it came, its share is 1000", n)
		}
		if n := s.sent("a", 11*time.Second, 20*time.Second); n > 0 {
			t.Errorf("who left sent %d requests a second later", n)
		}
	})
}

// TestGrantsAtAHalt: when a worker stops, its due slots are counted once, granted or not. Later slots go back to the
// server, except those that are known not to be asked for.
func TestGrantsAtAHalt(t *testing.T) {
	first := law(1, 0, 1000, 1000)
	for _, c := range []struct {
		reached int64
		refused bool // the worker ends because of a law that begins after 250 ms
		want    record.Counts
	}{
		{100_000, false, record.Counts{LateDropped: 100}},
		{240_000, false, record.Counts{LateDropped: 200, Ungranted: 40}},
		{350_000, false, record.Counts{LateDropped: 200, Ungranted: 150}},
		{100_000, true, record.Counts{LateDropped: 100, Recalled: 50, Beyond: 50}},
		{350_000, true, record.Counts{LateDropped: 200, Ungranted: 50, Recalled: 50, Beyond: 50}},
	} {
		s := stepShard(&stepClient{}, 0, 1, testLimits())
		s.granted = &granted{}
		s.given(first)
		g := granter{clock: s.clock, feed: s.holding.feed, shards: []*shard{s}}
		g.prepare()
		g.slots.Take(s.holding.newest.Load())
		g.walk(300_000)
		s.halt()
		for range 200 {
			g.give(g.line.pop())
		}
		g.flush()
		if c.refused {
			v := *s.holding.newest.Load()
			v.Version++
			v.Laws = v.Laws.With(s.after(first, law(2, 250_000, 5000, 1000), 250))
			v.Held = nil
			g.feed.refused.Store(&v)
		}
		g.countUnsent(c.reached)
		g.countUnsent(c.reached)
		if n := counts(s, record.NewSnapshot("w", "1")); n != c.want {
			t.Errorf("reached %d, refused %v: %+v, expected %+v", c.reached, c.refused, n, c.want)
		}
	}
}
