package model

import (
	"slices"
	"testing"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestReleaseWakesTheReceivers asserts that a worker's share is given to others when it is free: its release makes them
// call, and the first call brings the share. Its leave alone makes no one call.
func TestReleaseWakesTheReceivers(t *testing.T) {
	const second = 1_000_000
	r := New(Options{Pieces: []pacer.Piece{{R0: 100, R1: 100, Den: 1}}, Hold: 10 * second, Min: 3}, "server")
	seq, version := map[string]int64{}, map[string]int64{}
	call := func(now int64, name string, c lease.Call) lease.Reply {
		seq[name]++
		c.Worker, c.Incarnation, c.Weight, c.Seq, c.Version = name, "1", 1, seq[name], version[name]
		if c.Seq > 1 {
			c.Epoch = "server"
		}
		reply := r.Renew(now, c)
		version[name] = reply.Version
		return reply
	}
	for range 2 {
		for _, name := range []string{"a", "b", "c"} {
			call(second, name, lease.Call{})
		}
	}
	r.Woken()

	leave := call(2*second, "c", lease.Call{Leaving: lease.Leaves})
	if woken := r.Woken(); leave.Give.Len() == 0 || len(woken) > 0 {
		t.Errorf("after the leave: c is to release %v, and %v are asked to call", leave.Give, woken)
	}
	if early := call(2*second, "a", lease.Call{}); early.List != nil || early.Wait != r.period() {
		t.Errorf("before the release: %+v", early)
	}
	for i := range leave.Give {
		leave.Give[i].From = lease.Pos{Law: r.laws.Newest().ID, K: 200}
	}
	call(2*second, "c", lease.Call{Leaving: lease.Leaves, Releases: leave.Give})
	if woken := r.Woken(); !slices.Equal(woken, []string{"a", "b"}) {
		t.Errorf("after the release %v are asked to call", woken)
	}
	whole := call(2*second, "a", lease.Call{}).List.Len() + call(2*second, "b", lease.Call{}).List.Len()
	if whole != lease.Whole().Len() {
		t.Errorf("a and b have %d of %d places", whole, lease.Whole().Len())
	}
}
