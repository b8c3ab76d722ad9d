package run

import (
	"errors"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// lostRun is a run of two members that was lost, and what they know of it.
func (b *bed) lostRun(permit time.Duration) (r *Run, members []*member, started int64, k pacer.Known) {
	b.Helper()
	spec := constant(1000)
	spec.PermitFor, spec.Duration, spec.MinWorkers = permit, time.Minute, 2
	r, _ = b.create("r", spec, Options{})
	members = []*member{b.member(r, "v"), b.member(r, "w")}
	members[0].lease()
	members[1].start()
	b.until("some slots of both", func() bool {
		for _, m := range members {
			m.lease()
		}
		return members[0].leased > 100 && members[1].leased > 100
	})
	started, k = b.known(r, members[1])
	k.Members = 2
	for _, m := range members {
		m.ask.Leased, m.ask.PhiHeld = m.leased, 500_000_000
	}
	b.lose()
	return r, members, started, k
}

// A command to a run that is being restored is in force at once. What asks for less ends the permits of before, also of who comes back later;
// what asks for more leaves them.
func TestCommandsToARestoredRun(t *testing.T) {
	for name, c := range map[string]struct {
		command func(b *bed, r *Run) Change
		ends    bool // the permits
	}{
		"pause":     {func(b *bed, r *Run) Change { return b.must(r.Pause(b.Context())) }, true},
		"rate down": {func(b *bed, r *Run) Change { return b.must(r.SetRate(b.Context(), pacer.PerSecond(999), 0)) }, true},
		"rate up":   {func(b *bed, r *Run) Change { return b.must(r.SetRate(b.Context(), pacer.PerSecond(1001), 0)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b *bed) {
				r, members, started, k := b.lostRun(10 * time.Second)
				if err := r.Restore(t.Context(), started, k, true); err != nil {
					t.Fatal(err)
				}
				grants, _ := b.state(r).Restoring()
				moved := b.state(r).EndsAt.UnixMicro() - started - time.Minute.Microseconds() // the plan, by as long as it took to restore it
				if first := members[0].lease(); first.Hand != grants.UnixMicro() || len(first.Recalls) > 0 {
					t.Fatalf("before the command: %+v, it grants at %v", first, grants)
				}
				given := time.Now()
				at := c.command(b, r).At
				if at.Sub(given) > 600*time.Millisecond {
					t.Errorf("in force after %v", at.Sub(given))
				}
				members[0].ask.PhiHeld = 0
				told, late := members[0].lease(), members[1].lease()
				if recalled := len(told.Recalls) == 1 && told.Recalls[0].T0 == at.UnixMicro(); recalled != c.ends {
					t.Errorf("who is there is told %+v", told.Recalls)
				}
				if ends := late.Hand == late.LeasedAt; ends != c.ends || !ends && late.Hand != grants.UnixMicro() {
					t.Errorf("the permit of who comes back later ends at %d, it is %d, and it grants at %v", late.Hand, late.LeasedAt, grants)
				}
				s := b.state(r)
				if d := s.AskedAt(at) - (at.UnixMicro()-started-moved)/1000; d < -1 || d > 1 {
					t.Errorf("%d too many were asked for when it came into force", d)
				}
			})
		})
	}
}

// A run that was stopped while it was lost comes back as one that is stopped. Who was in it confirms that and is in its report, and nobody is waited for.
func TestStopLost(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, members, started, k := b.lostRun(10 * time.Second)
		done := make(chan error, 1)
		go func() {
			_, err := StopLost(t.Context(), b.client, "r")
			done <- err
		}()
		b.until("word is left", func() bool { return b.client.Exists(t.Context(), r.keys.Stopped).Val() > 0 })
		if err := r.Restore(t.Context(), started, k, false); err != nil {
			t.Errorf("who cannot restore it ends before others can: %v", err)
		}
		if err := r.Restore(t.Context(), started, k, true); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if s := b.state(r); s.Phase != "stopped" || b.client.Exists(t.Context(), r.keys.Stopped).Val() != 0 {
			t.Errorf("it came back %s", s.Phase)
		}
		began := time.Now()
		go func() {
			_, err := r.Stop(t.Context(), nil)
			done <- err
		}()
		for _, m := range members {
			if reply := m.lease(); reply.Status != pacer.StatusStopped || len(reply.Recalls) != 1 {
				t.Errorf("%+v", reply)
			}
			if err := r.Journal(m.ask.Worker, m.ask.Incarnation).Leave(t.Context(), "stopped"); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-done; err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("stop returned %v after %v", err, time.Since(began))
		}
		if s := b.state(r); len(s.Workers) != 2 || s.Workers[0].Leased != members[0].leased {
			t.Errorf("%+v", s.Workers)
		}
	})
}

// Who has come back and is cut off again fires on its permit of before, of which Redis knows nothing: stop waits for its end.
func TestStopWaitsForPermitsOfBefore(t *testing.T) {
	b := newBed(t)
	r, members, started, k := b.lostRun(8 * time.Second)
	if err := r.Restore(t.Context(), started, k, true); err != nil {
		t.Fatal(err)
	}
	grants, _ := b.state(r).Restoring()
	for _, m := range members {
		m.lease()
		m.ask.PhiHeld = 0 // that one gives way to what will be granted
		m.lease()
	}
	done := make(chan error, 1)
	go func() {
		_, err := r.Stop(t.Context(), nil)
		done <- err
	}()
	b.until("the stop is heard", func() bool { return members[0].lease().Status == pacer.StatusStopped })
	if err := r.Journal("v", members[0].ask.Incarnation).Leave(t.Context(), "stopped"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || time.Now().Before(grants) {
		t.Errorf("stop returned %v, %v before the permits are over", err, time.Until(grants))
	}
}

// Where nobody who can restore it is there, its workers end by themselves. A new run of that name is none of their business.
func TestStopLostForGood(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _, started, k := b.lostRun(10 * time.Second)
		if _, err := StopLost(t.Context(), b.client, "r"); !errors.Is(err, ErrNoRun) {
			t.Errorf("a run that nobody brings back: %v", err)
		}
		b.until("who has it ends", func() bool { return errors.Is(r.Restore(t.Context(), started, k, false), pacer.ErrNoState) })
		anew, _ := b.create("r", permitted(1000), Options{})
		m := b.member(anew, "x").start()
		started, k = b.known(anew, m)
		b.lose()
		if err := anew.Restore(t.Context(), started, k, true); err != nil {
			t.Fatal(err)
		}
		if phase := b.state(anew).Phase; phase != "running" {
			t.Errorf("a later run of that name is %s", phase)
		}
	})
}

// Somebody who creates a run of that name meanwhile keeps it.
func TestStopLostLeavesANewRunAlone(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _, _, _ := b.lostRun(10 * time.Second)
		done := make(chan error, 1)
		go func() {
			_, err := StopLost(t.Context(), b.client, "r")
			done <- err
		}()
		b.until("word is left", func() bool { return b.client.Exists(t.Context(), r.keys.Stopped).Val() > 0 })
		anew, _ := b.create("r", permitted(1000), Options{})
		if err := <-done; !errors.Is(err, ErrNoRun) || b.state(anew).Phase != "waiting" {
			t.Errorf("%v, it is %s", err, b.state(anew).Phase)
		}
	})
}
