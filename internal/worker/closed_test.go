package worker

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
)

// Each step is a reply and when the loop sends after it. Times are ms of the Redis clock; the run begins at 1000.
func TestGate(t *testing.T) {
	const never = -1
	type step struct {
		status          pacer.Status
		at, stood       int64
		from, until     int64 // never: nothing is sent; from 0: at once
		horizon, begins int64 // 0 = 500, 1000
	}
	reply := func(s step) pacer.Reply {
		us := func(ms int64) int64 { return ms * 1000 }
		return pacer.Reply{Status: s.status, LeasedAt: us(s.at), Now: us(s.at + 7), Stood: us(s.stood), Horizon: us(max(s.horizon, 500))}
	}
	for _, c := range []struct {
		name          string
		length, alone int64
		steps         []step
	}{
		{"begins at t0, not before", 0, 0, []step{
			{status: pacer.StatusWait, at: 400, from: never},
			{status: pacer.StatusOK, at: 600, from: 1000, until: 1100},
			{status: pacer.StatusOK, at: 1050, from: 0, until: 1550},
		}},
		{"not before t0 is known", 0, 0, []step{
			{status: pacer.StatusOK, at: 600, begins: never, from: never},
			{status: pacer.StatusOK, at: 700, from: 1000, until: 1200},
		}},
		{"goes on alone for the horizon", 0, 0, []step{{status: pacer.StatusOK, at: 2000, horizon: 800, from: 0, until: 2800}}},
		{"goes on alone for as long as it is told", 0, 10_000, []step{{status: pacer.StatusOK, at: 2000, from: 0, until: 12_000}}},
		{"but not beyond the planned end", 3000, 10_000, []step{
			{status: pacer.StatusOK, at: 2000, from: 0, until: 4000},
			{status: pacer.StatusEnded, at: 0, from: never},
		}},
		{"what tells nothing of the run changes nothing", 0, 10_000, []step{
			{status: pacer.StatusOK, at: 2000, from: 0, until: 12_000},
			{status: pacer.StatusNoState, from: 0, until: 12_000},
			{status: pacer.StatusStale, at: 2500, from: 0, until: 12_000},
			{status: pacer.StatusSuspect, at: 2500, from: 0, until: 12_000},
			{status: pacer.StatusStopped, at: 2600, from: never},
		}},
		{"a pause moves the end, and goes on when resume is in force", 3000, 10_000, []step{
			{status: pacer.StatusOK, at: 2000, from: 0, until: 4000},
			{status: pacer.StatusPaused, at: 2090, from: never}, // in force from 2100
			{status: pacer.StatusPaused, at: 2300, stood: 200, from: never},
			{status: pacer.StatusPaused, at: 2500, stood: 400, from: never},
			{status: pacer.StatusOK, at: 2580, stood: 500, from: 2600, until: 4500}, // resumed, in force from 2600
			{status: pacer.StatusOK, at: 2700, stood: 500, from: 0, until: 4500},
			{status: pacer.StatusPaused, at: 3100, stood: 600, from: never}, // and once more, from 3000 to 3200
			{status: pacer.StatusOK, at: 3190, stood: 700, from: 3200, until: 4700},
		}},
		{"a pause that others saw", 3000, 10_000, []step{{status: pacer.StatusOK, at: 2700, stood: 500, from: 0, until: 4500}}},
		{"a Redis clock that goes back does not stop it", 0, 10_000, []step{
			{status: pacer.StatusOK, at: 5000, from: 0, until: 15_000},
			{status: pacer.StatusOK, at: 500, from: 0, until: 10_500},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var started int64
			g := gate{
				started: func() int64 { return started },
				length:  time.Duration(c.length) * time.Millisecond, alone: time.Duration(c.alone) * time.Millisecond,
			}
			for i, s := range c.steps {
				if started = 1_000_000; s.begins == never {
					started = 0
				}
				g.heard(reply(s))
				w := g.open.Load()
				if s.from == never {
					if w != nil {
						t.Errorf("step %d: sends from %d to %d", i, w.from, w.until)
					}
				} else if w == nil || *w != (window{s.from * 1000, s.until * 1000}) {
					t.Errorf("step %d: %+v, want %d to %d ms", i, w, s.from, s.until)
				}
			}
		})
	}
}

// loop makes the shards of a step test a closed loop that is open for ever.
func loop(s *shard) *gate {
	g := &gate{}
	g.open.Store(&window{0, pacer.Endless})
	s.closeLoop(g)
	return g
}

// A closed loop has as many requests on the wire as it may have, each without lag, and none when the gate is shut or the worker leaves.
func TestClosedLoop(t *testing.T) {
	client := &stepClient{now: 1000 * ms, keep: true}
	var notice atomic.Pointer[pacer.Notice]
	l := testLimits()
	l.maxInFlight = 7
	s := stepShard(client, 1, 3, &notice, l)
	g := loop(s)
	for range 10 {
		if until, over := s.turn(client.now); over || until <= client.now || s.inFlight != 7 {
			t.Fatalf("until %d, over %v, %d on the wire, want 7", until, over, s.inFlight)
		}
		client.now += ms
		if err := client.Poll(0, s.done); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range client.sent {
		if r.Request != uint64(1+3*i) {
			t.Errorf("request %d has index %d", i, r.Request)
		}
	}
	sum := report.NewSnapshot("w", "1")
	if n := counts(s, sum); n != (report.Counts{Sent: 70, PermitSent: 70, Completed: 70}) || n.Slots() != 0 {
		t.Errorf("%+v", n)
	}
	if sum.Lag.Max() > 1000 || sum.Latency.Min() != sum.Service.Min() || sum.Latency.Max() != sum.Service.Max() {
		t.Errorf("lag up to %d, latency %d to %d, service time %d to %d",
			sum.Lag.Max(), sum.Latency.Min(), sum.Latency.Max(), sum.Service.Min(), sum.Service.Max())
	}
	nothing := func(why string) {
		t.Helper()
		if _, over := s.turn(client.now); over && s.inFlight > 0 || len(client.sent) != 70 {
			t.Errorf("%s: %d sent", why, len(client.sent)-70)
		}
	}
	g.open.Store(nil)
	nothing("shut")
	now := s.clock.Redis(client.now) / 1000
	g.open.Store(&window{now - 1000, now})
	nothing("over")
	g.open.Store(&window{now + 1, now + 1000})
	nothing("not yet")
	g.open.Store(&window{0, pacer.Endless})
	client.busy = true
	nothing("busy")
	client.busy = false
	s.tell(draining)
	nothing("leaving")
	if _, over := s.turn(client.now); !over {
		t.Error("it does not leave")
	}
}

// A closed loop takes no memory, however many requests there are.
func TestClosedLoopAllocatesNothing(t *testing.T) {
	client := &stepClient{now: 1000 * ms}
	var notice atomic.Pointer[pacer.Notice]
	s := stepShard(client, 0, 1, &notice, testLimits())
	loop(s)
	turns := func() {
		for range 100 {
			client.now += 10_000
			until, _ := s.turn(client.now)
			if err := client.Poll(until, s.done); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := testing.AllocsPerRun(20, turns); n != 0 {
		t.Errorf("%v allocations in 100 turns", n)
	}
}

func BenchmarkClosedTurn(b *testing.B) {
	client := &stepClient{now: 1000 * ms}
	var notice atomic.Pointer[pacer.Notice]
	l := testLimits()
	l.maxInFlight = 1
	s := stepShard(client, 0, 1, &notice, l)
	loop(s)
	for b.Loop() {
		client.now += 10_000
		until, _ := s.turn(client.now)
		if err := client.Poll(until, s.done); err != nil {
			b.Fatal(err)
		}
	}
}

// circle makes all members of a sim closed loops of so many connections with answers after 10 ms: 100 requests a second on each.
func (s *sim) circle(connections int, length, alone time.Duration) {
	for _, m := range s.members {
		m.client = simEndpoint{latency: 10 * time.Millisecond, connections: connections}
		m.Closed, m.Length, m.Alone = true, length, alone
	}
}

// A fleet sends what its connections carry, from t0 to the planned end; a pause stands in between, and who joins brings its own.
func TestClosedFleet(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 0, model.Options{Pieces: []pacer.Piece{{Den: 1, Dur: 10 * second, F: 1}}, Span: 10 * second, Min: 2})
		s.fleet(3)
		s.circle(5, 10*time.Second, 10*time.Second)
		s.members[0].start()
		s.members[1].start()
		time.Sleep(4 * time.Second)
		paused := s.command("pause", nil)
		time.Sleep(3 * time.Second)
		resumed := s.command("resume", nil)
		time.Sleep(100 * time.Millisecond)
		s.members[2].start()
		s.wait()
		began := time.Duration(s.budget.Started)*time.Microsecond - time.Duration(s.began.Add(s.skew).UnixNano())
		ends := began + 10*time.Second + resumed - paused
		n := s.audit()
		if n.Sent != n.Completed || n.Sent != n.PermitSent || s.budget.Issued != 0 {
			t.Errorf("%+v, issued %d", n, s.budget.Issued)
		}
		// The clock counts µs; who is told of a pause before it is in force stops then.
		const e = 2 * time.Microsecond
		if early, late := s.between(0, began-e), s.between(ends+e, time.Hour); early+late > 0 {
			t.Errorf("%d before t0, %d after the end", early, late)
		}
		if n := s.between(paused+e, resumed-e); n > 0 {
			t.Errorf("%d while paused", n)
		}
		for _, c := range []struct {
			from, to time.Duration
			want     int
		}{{began, began + time.Second, 1000}, {resumed + time.Second, resumed + 2*time.Second, 1500}, {ends - time.Second, ends, 1500}} {
			if n := s.between(c.from-e, c.to-e); n < c.want-15 || n > c.want+15 {
				t.Errorf("%d from %v to %v, want %d", n, c.from-began, c.to-began, c.want)
			}
		}
	})
}

// After a stop nothing is sent; what is on the wire ends, and counts.
func TestClosedFleetStops(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 0, model.Options{Min: 2})
		s.fleet(2)
		s.circle(5, 0, 10*time.Second)
		for _, m := range s.members {
			m.start()
		}
		time.Sleep(3 * time.Second)
		cut := s.command("stop", nil)
		s.wait()
		if n := s.audit(); n.Completed != n.Sent || n.Sent < 2000 || s.between(cut, time.Hour) > 0 {
			t.Errorf("%+v, %d after the stop", n, s.between(cut, time.Hour))
		}
		for _, m := range s.members {
			if _, ok := m.journal.left[StateStopped]; !ok {
				t.Errorf("%s has not confirmed", m.ID)
			}
		}
	})
}

// Without Redis a closed loop goes on for as long as it may, then waits for a reply, and goes on again.
func TestClosedAlone(t *testing.T) {
	for _, c := range []struct {
		name   string
		alone  time.Duration
		silent [2]time.Duration // after the last reply
	}{
		{"permit", 3 * time.Second, [2]time.Duration{3 * time.Second, 8 * time.Second}},
		{"stop", 0, [2]time.Duration{500 * time.Millisecond, 8 * time.Second}},
		{"hold", time.Hour, [2]time.Duration{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			simulate(t, func(t *testing.T) {
				s := newSim(t, 0, model.Options{Min: 1})
				s.fleet(1)
				s.circle(5, 0, c.alone)
				m := s.members[0]
				away := 4 * time.Second
				m.away = [2]time.Duration{away, away + 8*time.Second}
				m.start()
				time.Sleep(away + 12*time.Second)
				s.command("stop", nil)
				s.wait()
				s.audit()
				// The last reply came up to 0.2·H before, the next one at most one attempt after.
				from, to := away-100*time.Millisecond, away+8*time.Second+4*time.Second
				if c.silent[1] > 0 {
					if n := s.between(away+c.silent[0], away+c.silent[1]); n > 0 {
						t.Errorf("%d when it may send nothing any more", n)
					}
					to = from + c.silent[0]
				}
				if n, want := s.between(from, to), int((to-from).Seconds()*500); n < want-60 {
					t.Errorf("%d from %v to %v, want %d", n, from, to, want)
				}
				if n := s.between(away+12*time.Second-time.Second, away+12*time.Second); n < 490 {
					t.Errorf("%d in a second when Redis was there again", n)
				}
			})
		})
	}
}
