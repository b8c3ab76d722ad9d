package model

import (
	"fmt"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestFourCallsInALease: a worker of a large fleet calls four times in a lease, however short that is. A reply
// without a lease also says when.
func TestFourCallsInALease(t *testing.T) {
	s := newScripts(t, redistest.Start(t).Client(), "x")
	pieces, _ := pacer.Constant(pacer.PerSecond(1), 0).Pieces()
	for _, c := range []struct{ fleet, hold, want int64 }{
		{4100, 2_000_000, 500_000}, {4100, 3_000_000, 750_000}, {4100, 10_000_000, 4100 * 250},
		{20, 10_000_000, 500_000}, {80, 10_000_000, 800_000}, {100, 10_000_000, 1_000_000}, {1000, 10_000_000, 1_000_000},
	} {
		fleet, hold, want := c.fleet, c.hold, c.want
		o := Options{Pieces: pieces, Hold: hold}
		s.lose()
		s.make(1_700_000_000_000_000, o, "server", nil)
		r := New(o, "server")
		for i := range fleet {
			c := lease.Call{Worker: fmt.Sprint("w", i), Incarnation: "1", Seq: 2, Weight: 1}
			s.Renew(1_700_000_000_000_000, c, nil)
			r.enter(c) // Renew would sort them each time
		}
		r.members["w0"].seq = 2
		c := lease.Call{Worker: "w0", Incarnation: "1", Seq: 1, Weight: 1}
		if got := s.Renew(1_700_000_000_000_001, c, nil); got.Status != lease.Stale || got.Wait != want {
			t.Errorf("hold %d: %s, call again after %d, want %d", hold, got.Status, got.Wait, want)
		}
		if got := r.Renew(1_700_000_000_000_001, c); got.Status != lease.Stale || got.Wait != want {
			t.Errorf("model, hold %d: %s, call again after %d, want %d", hold, got.Status, got.Wait, want)
		}
	}
}

// TestEndlessLeases: with endless leases, laws are made ahead while they are few. After a failover nobody waits
// longer than ten minutes.
func TestEndlessLeases(t *testing.T) {
	const start, endlessly = 1_700_000_000_000_000, 10 * 365 * 86_400_000_000
	loop, err := pacer.Sine(pacer.PerSecond(500), pacer.PerSecond(500), 4*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := loop.Pieces()
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Pieces: pieces, Loop: true, Min: 1, Hold: endlessly}, "one")
	h := lease.NewHolder("w", "1", 1)
	now := int64(start)
	renew := func() {
		for again := true; again; {
			again = h.Receive(now, r.Renew(now, h.Call()))
		}
		now += 500_000
	}
	for range 100 {
		renew()
		n, last := len(h.View().Laws.All()), h.View().Laws.Newest()
		if n < many && now > start+1_000_000 || n > 5*many || last.T0+last.Dur < now+near {
			t.Fatalf("%d laws are known, the last is over in %d µs", n, last.T0+last.Dur-now)
		}
	}
	r.Become("two")
	now += 1_000_000
	renew()
	if wait := r.grace - now; wait <= 0 || wait > longest+margin || h.View().Held.Len() != 1<<24 {
		t.Errorf("what nobody claims is free in %d µs; the worker holds %d units", wait, h.View().Held.Len())
	}
}
