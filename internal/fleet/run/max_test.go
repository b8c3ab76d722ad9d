package run

import (
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestMaxPhases: a closed loop waits, begins, pauses, goes on and ends like any run, and its workers get matching
// replies.
func TestMaxPhases(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := closed(time.Second)
		s.MinWorkers = 2
		r, _ := b.create("x", s, Options{})
		one := b.member(r, "a")
		newest := func() *lease.Law { // the newest law that it knows
			one.renew()
			return one.holder.View().Laws.Newest()
		}
		if l := newest(); l != nil || b.state(r).Phase != "waiting" {
			t.Errorf("it waits, and there is law %+v", l)
		}
		if _, err := r.Pause(t.Context()); err == nil {
			t.Error("paused before it has begun")
		}
		b.member(r, "b").renew()
		one.start()
		state, first := b.state(r), one.holder.View().Laws.All()
		if len(first) == 0 || first[0].Phase != lease.Running || first[0].R0 != 0 || first[0].R1 != 0 || state.StartedAt.IsZero() {
			t.Errorf("%+v, %+v", first, state)
		}
		if d := state.EndsAt.Sub(state.StartedAt); d != time.Second || state.Asked != 0 || state.Rate != 0 {
			t.Errorf("it takes %v: %+v", d, state)
		}
		paused := b.must(r.Pause(t.Context()))
		inForce := func(c Change) { await.True(b, c.Command, func() bool { return b.state(r).now.After(c.At) }) }
		if l := newest(); l.Phase != lease.Paused {
			t.Errorf("%+v", l)
		}
		inForce(paused)
		if s := b.state(r); s.Phase != "paused" || !s.EndsAt.IsZero() {
			t.Errorf("%+v", s)
		}
		_, err := r.SetRate(t.Context(), pacer.PerSecond(5), 0)
		b.wants(err, ErrNoRate, "set-rate x: the run goes as fast as it can (--qps max): it has no rate to change; pause or stop it")
		resumed := b.must(r.Resume(t.Context()))
		inForce(resumed)
		if l, s := newest(), b.state(r); l.Phase != lease.Ended || !TimeOf(l.T0).Equal(s.EndsAt) || s.Phase != "running" {
			t.Errorf("%+v, %+v", l, s)
		}
		if moved := b.state(r).EndsAt.Sub(state.EndsAt); moved != resumed.At.Sub(paused.At) {
			t.Errorf("the end has moved by %v", moved)
		}
		await.True(b, "the planned end", func() bool { return b.state(r).Phase == "ended" })
		if s := b.state(r); s.Phase != "ended" || !s.EndedAt.Equal(s.EndsAt) || s.Skipped != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestStopWaitsForClosedLoops: a silent member may send until its lease ends.
func TestStopWaitsForClosedLoops(t *testing.T) {
	const permit = 3 * time.Second
	each(t, func(t *testing.T, b *bed) {
		s := closed(0)
		s.PermitFor = permit
		r, _ := b.create("x", s, Options{})
		m := b.member(r, "a")
		m.renew()
		m.renew()
		leaves := b.member(r, "b")
		leaves.renew()
		leaves.halt()
		var reported []Pending
		b.must(r.Stop(t.Context(), func(those []Pending) { reported = append(reported, those...) }))
		w := b.state(r).Workers[0]
		waited := b.state(r).now.Sub(w.LastSeen)
		if waited < permit+spec.DefaultMaxLag {
			t.Errorf("waited until %v after the last contact", waited)
		}
		b.soon("a stop with a silent member", waited, permit+spec.DefaultMaxLag+2*time.Second)
		if len(reported) != 1 || reported[0].ID != "a" || !reported[0].Silent || reported[0].Lease == 0 || reported[0].Lease > permit {
			t.Errorf("waited for %v", reported)
		}
	})
}
