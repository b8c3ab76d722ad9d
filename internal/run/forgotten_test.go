package run

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// save is the run as Redis has it; the function that it returns makes Redis forget all that came later, as a replica that takes over.
func (b *bed) save(r *Run) (failover func()) {
	b.Helper()
	saved := map[string]string{}
	for _, key := range r.keys.all() {
		if v, err := b.client.Dump(b.Context(), key).Result(); err == nil {
			saved[key] = v
		}
	}
	return func() {
		b.client.Del(b.Context(), r.keys.all()...)
		for key, v := range saved {
			b.client.RestoreReplace(b.Context(), key, 0, v)
		}
		b.client.HSet(b.Context(), r.keys.Budget, "epoch", "another")
	}
}

// A command that a failover forgot comes back with a worker that has heard of it. One that the new server was given is newer, and holds.
func TestForgottenCommand(t *testing.T) {
	for name, told := range map[string]int64{"forgotten": 0, "told": 10} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b *bed) {
				r, _ := b.create("r", permitted(1000), Options{})
				m := b.member(r, "w").start()
				failover := b.save(r)
				b.must(r.SetRate(t.Context(), pacer.PerSecond(500), 0))
				m.renew()
				b.until("that rate", func() bool { return b.state(r).Rate == 500 })
				failover()
				want := float64(500)
				if told > 0 {
					want = float64(told)
					b.must(r.SetRate(t.Context(), pacer.PerSecond(told), 0))
				}
				m.renew()
				b.until("what it knows to be in force", func() bool { return b.state(r).Rate == want })
				for range 5 {
					m.renew()
					if rate := b.state(r).Rate; rate != want {
						t.Fatalf("it goes on at %v", rate)
					}
				}
				if m.holder.View().Held.Len() == 0 {
					t.Error("what it held is not its own any more")
				}
			})
		})
	}
}

// A run that was made anew under the same name is not that of those who were in the old one.
func TestRestoreOfAnother(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", constant(100), Options{})
		m := b.member(r, "w").start()
		m.leave()
		b.must(r.Stop(t.Context(), nil))
		b.create("r", constant(100), Options{New: true})
		for _, describes := range []bool{true, false} {
			if err := b.restore(r, m, describes); !errors.Is(err, pacer.ErrNoState) {
				t.Errorf("described %v: %v", describes, err)
			}
		}
	})
}

// A pause, a resume and a failover do not leave the plan: what is restored goes on as planned.
func TestRestoreByThePlan(t *testing.T) {
	planned := permitted(0)
	planned.QPS, planned.Stages = pacer.PerSecond(1000), []string{"10s:1000", "0s:10", "600s:10"}
	requests := permitted(1000)
	requests.Requests = 100_000
	fails := func(b *bed, r *Run) { b.client.HSet(b.Context(), r.keys.Budget, "epoch", "another") }
	for name, c := range map[string]struct {
		spec Spec
		leap func(b *bed, r *Run)
	}{
		"pause":    {planned, func(b *bed, r *Run) { b.must(r.Pause(b.Context())); b.must(r.Resume(b.Context())) }},
		"failover": {planned, fails},
		"requests": {requests, fails},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b *bed) {
				r, _ := b.create("r", c.spec, Options{})
				m := b.member(r, "w").start()
				c.leap(b, r)
				b.until("that it goes on", func() bool { m.renew(); return b.state(r).Phase == "running" })
				before := b.state(r)
				b.lose()
				if err := b.restore(r, m, true); err != nil {
					t.Fatal(err)
				}
				m.renew()
				s := b.state(r)
				if !s.EndsAt.Equal(before.EndsAt) || s.Phase != "running" || fmt.Sprint(s.ahead) != fmt.Sprint(before.ahead) || s.Peak() != before.Peak() {
					t.Errorf("it was %+v, it is %+v", before, s)
				}
				if last := len(s.laws) - 1; c.spec.Requests > 0 && s.AskedAt(s.now.Add(time.Hour)) != c.spec.Requests {
					t.Errorf("%d are planned, %d of the last law", s.AskedAt(s.now.Add(time.Hour)), s.cuts[last])
				}
				if runs, err := List(t.Context(), b.client); err != nil || len(runs) != 1 {
					t.Errorf("loadctl ls shows %+v, %v", runs, err)
				}
			})
		})
	}
}

// A rate that was set during a pause that lasts is known to all workers.
func TestRestoreAfterAChangeInAPause(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m := b.member(r, "w").start()
		b.must(r.Pause(t.Context()))
		b.must(r.SetRate(t.Context(), pacer.PerSecond(10), 0))
		m.renew()
		b.lose()
		if err := b.restore(r, m, true); err != nil {
			t.Fatal(err)
		}
		if s := b.state(r); s.Phase != "paused" || s.RateThen != 10 {
			t.Errorf("%s, to go on at %v", s.Phase, s.RateThen)
		}
		b.must(r.Resume(t.Context()))
		b.until("that rate", func() bool { m.renew(); return m.phase() == lease.Running && b.state(r).Rate == 10 })
	})
}

// A run that is broken, with workers in it, is gone when it was removed.
func TestRemoveBroken(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m := b.member(r, "w").start()
		b.client.Del(t.Context(), r.keys.Spec)
		if err := Remove(t.Context(), b.client, "r", false); err != nil {
			t.Fatal(err)
		}
		if err := b.restore(r, m, true); !errors.Is(err, pacer.ErrNoState) {
			t.Error(err)
		}
	})
}
