package worker

import (
	"testing"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// TestClosedLoop: a closed loop keeps the allowed number of requests in flight, each without lag. It has none when the
// run is not active or the worker leaves.
func TestClosedLoop(t *testing.T) {
	client := &stepClient{now: 1000 * ms, keep: true}
	l := testLimits()
	l.maxInFlight = 7
	s := looped(client, 1, 3, l)
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
		if r.Call.Number != uint64(1+3*i) {
			t.Errorf("request %d has index %d", i, r.Call.Number)
		}
	}
	sum := record.NewSnapshot("w", "1")
	if n := counts(s, sum); n != (record.Counts{Sent: 70, Completed: 70}) {
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
	now := s.clock.Redis(client.now) / 1000
	running := func(t0 int64) lease.Law {
		return lease.Law{Law: pacer.Law{ID: 2, T0: t0, Den: 1}, Prev: 1, End: pacer.Endless, ClockEpoch: 1}
	}
	paused := running(now)
	paused.Phase = lease.Paused
	for why, v := range map[string]lease.View{
		"nothing is known yet":    {P: pacer.Endless},
		"paused":                  {P: pacer.Endless, Laws: (*lease.Laws)(nil).With(paused)},
		"the lease is over":       {P: now, Laws: (*lease.Laws)(nil).With(running(now - 1000))},
		"it goes on, but not yet": {P: now + 1000, Laws: (*lease.Laws)(nil).With(running(now + 1))},
	} {
		s.see(v)
		nothing(why)
	}
	s.see(lease.View{P: pacer.Endless, Laws: (*lease.Laws)(nil).With(running(now))})
	client.busy = true
	nothing("busy")
	client.busy = false
	s.setMode(draining)
	nothing("leaving")
	if _, over := s.turn(client.now); !over {
		t.Error("it does not leave")
	}
}

// TestClosedLoopAllocatesNothing: a closed loop allocates no memory, whatever the number of requests.
func TestClosedLoopAllocatesNothing(t *testing.T) {
	client := &stepClient{now: 1000 * ms}
	s := looped(client, 0, 1, testLimits())
	turns := func() {
		for range 100 {
			client.now += 10_000
			until, _ := s.turn(client.now)
			if err := client.Poll(until, s.done); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := testing.AllocsPerRun(20, turns); n != 0 || s.request == 0 {
		t.Errorf("%v allocations in 100 turns, %d sent", n, s.request)
	}
}

func BenchmarkClosedTurn(b *testing.B) {
	client := &stepClient{now: 1000 * ms}
	l := testLimits()
	l.maxInFlight = 1
	s := looped(client, 0, 1, l)
	for b.Loop() {
		client.now += 10_000
		until, _ := s.turn(client.now)
		if err := client.Poll(until, s.done); err != nil {
			b.Fatal(err)
		}
	}
}

// Each shard of a closed loop has the shares of the mix, however many shards there are, and no number comes twice.
func TestClosedLoopOfAMix(t *testing.T) {
	spec := targets.Spec{}
	for i, weight := range []int64{1, 1, 2} {
		name := string(rune('a' + i))
		spec.Flows = append(spec.Flows, targets.Flow{Name: name, Weight: weight, Steps: []targets.Step{{Name: name, URL: "http://a/"}}})
	}
	mix := spec.Mix()
	const parts, requests = 4, 1000
	seen := map[uint64]bool{}
	for part := range parts {
		s := &shard{part: part, parts: parts, mix: mix}
		counts := [3]int{}
		for range requests {
			c := s.nextCall()
			if seen[c.Number] {
				t.Fatalf("shard %d: number %d comes twice", part, c.Number)
			}
			seen[c.Number] = true
			counts[c.Step]++
			s.request++
		}
		if counts != [3]int{requests / 4, requests / 4, requests / 2} {
			t.Errorf("shard %d: %v", part, counts)
		}
	}
	if s := (&shard{part: 2, parts: 5, request: 7}); s.nextCall().Number != 37 {
		t.Errorf("without a mix: %+v", s.nextCall())
	}
}
