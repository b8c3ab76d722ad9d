package run

import (
	"errors"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report"
)

// lostRun is a run of two members that was lost.
func (b *bed) lostRun(permit time.Duration) (r *Run, members []*member) {
	b.Helper()
	spec := constant(1000)
	spec.PermitFor, spec.Duration, spec.MinWorkers = permit, time.Minute, 2
	r, _ = b.create("r", spec, Options{})
	members = []*member{b.member(r, "v"), b.member(r, "w")}
	members[0].renew()
	members[1].start()
	members[0].renew()
	b.lose()
	return r, members
}

// A command to a run that was restored is in force at once, and the plan is what it was until then.
func TestCommandsToARestoredRun(t *testing.T) {
	for name, command := range map[string]func(b *bed, r *Run) Change{
		"pause":     func(b *bed, r *Run) Change { return b.must(r.Pause(b.Context())) },
		"rate down": func(b *bed, r *Run) Change { return b.must(r.SetRate(b.Context(), pacer.PerSecond(999), 0)) },
		"rate up":   func(b *bed, r *Run) Change { return b.must(r.SetRate(b.Context(), pacer.PerSecond(1001), 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b *bed) {
				r, members := b.lostRun(10 * time.Second)
				started := members[0].laws()[0].T0
				if err := b.restore(r, members[0], true); err != nil {
					t.Fatal(err)
				}
				members[0].renew()
				given := time.Now()
				at := command(b, r).At
				if at.Sub(given) > 600*time.Millisecond {
					t.Errorf("in force after %v", at.Sub(given))
				}
				for _, m := range members { // the second one claims only now
					if m.renew(); m.laws()[len(m.laws())-1].T0 != at.UnixMicro() {
						t.Errorf("%s knows %+v", m.id, m.laws())
					}
				}
				if d := b.state(r).AskedAt(at) - (at.UnixMicro()-started)/1000; d < -1 || d > 1 {
					t.Errorf("%d too many were asked for when it came into force", d)
				}
			})
		})
	}
}

// A run that was stopped while it was lost comes back as one that is stopped. Who was in it confirms that and is in its report, and nobody is waited for.
func TestStopLost(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, members := b.lostRun(10 * time.Second)
		done := make(chan error, 1)
		go func() {
			_, err := StopLost(t.Context(), b.client, "r")
			done <- err
		}()
		b.until("word is left", func() bool { return b.client.Exists(t.Context(), r.keys.Stopped).Val() > 0 })
		if err := b.restore(r, members[0], false); err != nil {
			t.Errorf("who cannot restore it ends before others can: %v", err)
		}
		if err := b.restore(r, members[0], true); err != nil {
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
			b.until("the stop is heard of", func() bool { m.renew(); return m.phase() == lease.Stopped })
			m.leave()
			total := told(m.id, m.incarnation, 1, report.Counts{})
			if err := r.Journal(m.id, m.incarnation).Publish(t.Context(), total, total, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-done; err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("stop returned %v after %v", err, time.Since(began))
		}
		if s := b.state(r); len(s.Workers) != 2 {
			t.Errorf("%+v", s.Workers)
		}
	})
}

// Who was there before the run was lost, and has not come back, may be sending by its promise of then: stop waits for its end.
func TestStopWaitsForPromisesOfBefore(t *testing.T) {
	const permit = 4 * time.Second
	each(t, func(t *testing.T, b *bed) {
		r, members := b.lostRun(permit)
		promised := time.UnixMicro(members[1].holder.View().P)
		if err := b.restore(r, members[0], true); err != nil {
			t.Fatal(err)
		}
		members[0].renew()
		done := make(chan error, 1)
		go func() {
			_, err := r.Stop(t.Context(), nil)
			done <- err
		}()
		b.until("the stop is heard of", func() bool { members[0].renew(); return members[0].phase() == lease.Stopped })
		members[0].leave()
		if err := <-done; err != nil || time.Now().Before(promised) {
			t.Errorf("stop returned %v, %v before the promises are over", err, time.Until(promised))
		}
	})
}

// Where nobody who can restore it is there, its workers end by themselves. A new run of that name is none of their business.
func TestStopLostForGood(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, members := b.lostRun(10 * time.Second)
		if _, err := StopLost(t.Context(), b.client, "r"); !errors.Is(err, ErrNoRun) {
			t.Errorf("a run that nobody brings back: %v", err)
		}
		b.until("who has it ends", func() bool { return errors.Is(b.restore(r, members[0], false), pacer.ErrNoState) })
		anew, _ := b.create("r", permitted(1000), Options{})
		m := b.member(anew, "x").start()
		b.lose()
		if err := b.restore(anew, m, true); err != nil {
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
		r, _ := b.lostRun(10 * time.Second)
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
