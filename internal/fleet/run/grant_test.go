package run

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestGrants: workers are granted what the limiter lets pass with the burst in force. Its state is removed with the
// run.
func TestGrants(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		asked := limited("100", "token-bucket", func(s *spec.Spec) { s.Burst = 5 })
		r, _ := b.create("x", asked, Options{})
		grant := func(n, want int64) {
			t.Helper()
			g, err := r.Grants(b.client).Grant(t.Context(), n, asked.QPS)
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
		b.wants(second(r.SetRate(t.Context(), pacer.PerSecond(50), time.Second)), spec.ErrLimiter, "has one rate at a time; leave --over out")
		b.must(r.SetRate(t.Context(), pacer.PerSecond(50), 0))
		b.must(r.Pause(t.Context()))
		if c := b.must(r.SetBurst(t.Context(), 900)); !c.Changed || !c.At.IsZero() {
			t.Errorf("in a pause: %+v", c)
		}

		started, laws := b.known(r, m)
		b.lose()
		if g, err := r.Grants(b.client).Grant(t.Context(), 1, asked.QPS); !errors.Is(err, ErrNoRun) {
			t.Errorf("of a run that is lost: %+v, %v", g, err)
		}
		b.restore(r, started, laws)
		grant(1000, 5) // with the burst of its creation
		if n := b.client.Exists(t.Context(), r.Keys.Limiter).Val(); n != 1 {
			t.Error("the limiter has no state")
		}
		if err := Remove(t.Context(), b.client, "x", true); err != nil {
			t.Fatal(err)
		}
		if n := b.client.Exists(t.Context(), r.Keys.Limiter).Val(); n != 0 {
			t.Error("the limiter's state is left")
		}
	})
}

// TestTerms: the flags decide how a limiter treats slots.
func TestTerms(t *testing.T) {
	for _, c := range []struct {
		limiter string
		set     func(*spec.Spec)
		terms   lease.Terms
		limited bool
	}{
		{"", nil, lease.Terms{}, false},
		{"gcra", nil, lease.Terms{}, false},
		{"gcra", func(s *spec.Spec) { s.Burst = 5 }, lease.Terms{}, true},
		{"leaky-bucket", nil, lease.Terms{Even: true}, true},
		{"token-bucket", func(s *spec.Spec) { s.Together = true }, lease.Terms{Together: true}, true},
		{"sliding-log", func(s *spec.Spec) { s.OnRedisLoss = spec.LossStop }, lease.Terms{Strict: true}, true},
		{"sliding-log", func(s *spec.Spec) { s.OnRedisLoss = spec.LossHold }, lease.Terms{}, true},
	} {
		if terms, limited := limited("500", c.limiter, c.set).Terms(); terms != c.terms || limited != c.limited {
			t.Errorf("%+v: %+v, %v", c, terms, limited)
		}
	}
}

// TestNarrowLive: the warning uses the rate and the burst in force.
func TestNarrowLive(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", limited("1000", "token-bucket", func(s *spec.Spec) { s.Burst = 5 }), Options{})
		says := func(want string) {
			t.Helper()
			if got := r.Warning(t.Context()); !strings.HasSuffix(got, want) || (got == "") != (want == "") {
				t.Errorf("%q, want %q", got, want)
			}
		}
		says("a burst of 5 may be used up before; a burst of 10 is enough")
		b.must(r.SetBurst(t.Context(), 10))
		says("")
		b.must(r.SetRate(t.Context(), pacer.PerSecond(2000), 0))
		says("a burst of 10 may be used up before; a burst of 20 is enough")
	})
}

// TestSetBurst: SetBurst works for limiters with a burst, until the run ends. A limiter refuses rates that it cannot
// follow.
func TestSetBurst(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", limited("100", "token-bucket", nil), Options{})
		b.wants(second(r.SetBurst(t.Context(), 0)), nil, "set-burst x: give a number from 1 to 1000000000")
		if c := b.must(r.SetBurst(t.Context(), 7)); !c.Changed || !c.At.IsZero() { // the run waits, so the change has no time
			t.Errorf("%+v", c)
		}
		m := b.member(r, "w").start()
		if c := b.must(r.SetBurst(t.Context(), 9)); !c.Changed || c.At.IsZero() || c.Command != "set-burst" {
			t.Errorf("%+v", c)
		}
		if c := b.must(r.SetBurst(t.Context(), 9)); c.Changed {
			t.Errorf("again: %+v", c)
		}
		if s := b.state(r); s.Limiter != "token-bucket, burst 9" {
			t.Error(s.Limiter)
		}
		b.wants(second(r.SetRate(t.Context(), pacer.PerSecond(50), time.Second)), spec.ErrLimiter, "set-rate x: ", "--limiter token-bucket has one rate at a time; leave --over out")
		fine := pacer.Rate{Num: 999_983, Den: 1_000_000}
		b.must(r.SetRate(t.Context(), fine, 0))
		b.wants(second(r.SetBurst(t.Context(), 5000)), spec.ErrLimiter, "a burst of 5000 at ", "cannot be counted exactly")
		b.must(r.SetRate(t.Context(), pacer.PerSecond(100), 0))
		b.must(r.SetBurst(t.Context(), 5000))
		b.wants(second(r.SetRate(t.Context(), fine, 0)), spec.ErrLimiter, "a burst of 5000 at ")
		b.must(r.SetRate(t.Context(), pacer.Rate{Den: 1}, 0)) // nothing is sent, so nothing is limited
		b.stop(r, m)
		b.wants(second(r.SetBurst(t.Context(), 3)), ErrOver)

		windows, _ := b.create("w", limited("100", "sliding-log", nil), Options{})
		b.wants(second(windows.SetBurst(t.Context(), 3)), spec.ErrLimiter, "--limiter sliding-log counts in windows; change the rate with loadctl set-rate")
		b.wants(second(windows.SetRate(t.Context(), pacer.Rate{Num: 201, Den: 2}, 0)), spec.ErrLimiter, "100.5 requests per second are no whole number in a window of 1s; give 100 or 101")
		b.must(windows.SetRate(t.Context(), pacer.PerSecond(7), 0))
		slots, _ := b.create("s", constant(100), Options{})
		b.wants(second(slots.SetBurst(t.Context(), 3)), spec.ErrLimiter, "it has only the schedule, which has no burst; create the run with --burst")
	})
}

func second(_ Change, err error) error { return err }
