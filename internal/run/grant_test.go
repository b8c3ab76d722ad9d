package run

import (
	"errors"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestGrants: workers are granted what its limiter lets pass, by the burst in force, and its state goes with the run.
func TestGrants(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := limited("100", "token-bucket", func(s *Spec) { s.Burst = 5 })
		r, _ := b.create("x", spec, Options{})
		grant := func(n, want int64) {
			t.Helper()
			g, err := r.Grants(b.client).Grant(t.Context(), n, spec.QPS)
			if err != nil || g.N != want || g.Now == 0 || (g.Retry > 0) != (want < n) {
				t.Errorf("%d asked for: %+v, %v; want %d", n, g, err, want)
			}
		}
		grant(0, 0)
		grant(3, 3)
		m := b.member(r, "w").start()
		if s := b.state(r); s.Limiter != "token-bucket, burst 5" {
			t.Errorf("limiter %q", s.Limiter)
		}
		if c := b.must(r.SetBurst(t.Context(), 1000)); !c.Changed || c.At.IsZero() {
			t.Errorf("%+v", c)
		}
		if s := b.state(r); s.Limiter != "token-bucket, burst 1000" {
			t.Errorf("limiter %q", s.Limiter)
		}
		if text := r.Warning(t.Context()); text != "" {
			t.Error(text)
		}
		if surge, err := r.Surge(t.Context()); err != nil || surge(100) != 1000 {
			t.Errorf("surge %v", err)
		}
		b.wants(second(r.SetRate(t.Context(), pacer.PerSecond(50), time.Second)), ErrLimiter, "has one rate at a time; leave --over out")
		b.must(r.SetRate(t.Context(), pacer.PerSecond(50), 0))
		b.must(r.Pause(t.Context()))
		if c := b.must(r.SetBurst(t.Context(), 900)); !c.Changed || !c.At.IsZero() {
			t.Errorf("in a pause: %+v", c)
		}

		started, laws := b.known(r, m)
		b.lose()
		if g, err := r.Grants(b.client).Grant(t.Context(), 1, spec.QPS); !errors.Is(err, ErrNoRun) {
			t.Errorf("of a run that is lost: %+v, %v", g, err)
		}
		b.restore(r, started, laws)
		grant(1000, 5) // as it was created
		if n := b.client.Exists(t.Context(), r.keys.Limiter).Val(); n != 1 {
			t.Error("the limiter has no state")
		}
		if err := Remove(t.Context(), b.client, "x", true); err != nil {
			t.Fatal(err)
		}
		if n := b.client.Exists(t.Context(), r.keys.Limiter).Val(); n != 0 {
			t.Error("the limiter's state is left")
		}
	})
}

// TestTerms: how a limiter treats slots is what the flags say.
func TestTerms(t *testing.T) {
	for _, c := range []struct {
		limiter string
		set     func(*Spec)
		terms   lease.Terms
		limited bool
	}{
		{"", nil, lease.Terms{}, false},
		{"gcra", nil, lease.Terms{}, false},
		{"gcra", func(s *Spec) { s.Burst = 5 }, lease.Terms{}, true},
		{"leaky-bucket", nil, lease.Terms{Even: true}, true},
		{"token-bucket", func(s *Spec) { s.Together = true }, lease.Terms{Together: true}, true},
		{"sliding-log", func(s *Spec) { s.OnRedisLoss = LossStop }, lease.Terms{Strict: true}, true},
		{"sliding-log", func(s *Spec) { s.OnRedisLoss = LossHold }, lease.Terms{}, true},
	} {
		if terms, limited := limited("500", c.limiter, c.set).Terms(); terms != c.terms || limited != c.limited {
			t.Errorf("%+v: %+v, %v", c, terms, limited)
		}
	}
}
