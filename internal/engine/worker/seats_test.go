package worker

import (
	"testing"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

// concurrent is a law with a concurrency.
func concurrent(id, t0, n int64) lease.Law {
	return lease.Law{Law: pacer.Law{ID: id, T0: t0, R0: n, R1: n, Den: 1_000_000, K: pacer.Endless}, Prev: id - 1, End: pacer.Endless, ClockEpoch: 1}
}

// TestSeats: a shard has as many requests in flight as it has seats. It goes by a View with fewer of them when enough
// requests have ended, and sends nothing until then.
func TestSeats(t *testing.T) {
	client := &stepClient{now: 1000 * ms, keep: true}
	s := stepShard(client, 1, 3, testLimits())
	s.seat()
	now := s.clock.Redis(client.now) / 1000
	laws := (*lease.Laws)(nil).With(concurrent(1, 0, 64), concurrent(2, now+2000, 128))
	half := lease.Ranges{{Lo: 0, Hi: circle.Units / 2}}
	turn := func(inFlight int, agreed int64) (until int64) {
		t.Helper()
		until, _ = s.turn(client.now)
		if s.inFlight != inFlight || s.holding.version.Load() != agreed {
			t.Fatalf("%d in flight, goes by View %d, want %d and %d", s.inFlight, s.holding.version.Load(), inFlight, agreed)
		}
		return until
	}
	answered := func(n int) { // the oldest requests
		for range n {
			s.done(client.flight[0])
			client.flight = client.flight[1:]
		}
	}
	s.see(lease.View{P: pacer.Endless, Laws: laws, Held: lease.Whole()})
	if until, next := turn(21, 1), s.clock.Local((now+2000)*1000); until != next { // of 22, 21 and 21
		t.Errorf("the next turn is at %d, the next law begins at %d", until, next)
	}
	s.see(lease.View{P: pacer.Endless, Laws: laws, Held: half})
	turn(21, 1)
	answered(9)
	turn(12, 1)
	answered(1)
	turn(11, 2) // of 11, 11 and 10
	answered(4)
	turn(11, 2)
	client.now += 3 * ms // the next law is in force
	turn(21, 2)
	s.see(lease.View{P: pacer.Endless, Laws: laws})
	turn(21, 2)
	answered(21)
	turn(0, 3)
	s.see(lease.View{P: pacer.Endless, Laws: laws, Held: half})
	turn(21, 4)
}

// TestSeatsAllocateNothing: turns of a closed loop with a concurrency allocate no memory.
func TestSeatsAllocateNothing(t *testing.T) {
	client := &stepClient{now: 1000 * ms}
	s := stepShard(client, 0, 1, testLimits())
	s.seat()
	s.see(lease.View{P: pacer.Endless, Laws: (*lease.Laws)(nil).With(concurrent(1, 0, 8)), Held: lease.Whole()})
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
