package run

import (
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestSetConcurrency: a closed loop with a concurrency shows it, changes it, keeps it over a pause, and shows no rate. Its members
// share the seats.
func TestSetConcurrency(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := closed(time.Hour)
		s.Concurrency, s.MinWorkers = 8, 2
		r, _ := b.create("x", s, Options{})
		shows := func(phase string, n int64) {
			t.Helper()
			await.True(b, phase, func() bool { return b.state(r).Phase == phase && b.state(r).Concurrency == n })
			if s := b.state(r); s.Rate != 0 || s.RateThen != 0 || s.LastRate != 0 || s.Asked != 0 || s.Skipped != 0 || s.Peak() != 0 {
				t.Errorf("%+v", s)
			}
		}
		shows("waiting", 8)
		if all := b.state(r).Concurrencies; all != nil {
			t.Errorf("numbers in force before it begins: %v", all)
		}
		one, two := b.member(r, "a"), b.member(r, "b")
		one.renew()
		two.renew()
		one.start()
		seats := func(n int64) {
			t.Helper()
			await.True(b, "all seats", func() bool {
				sum := int64(0)
				for _, m := range []*member{one, two} {
					now := m.renew().Now
					v := m.holder.View()
					mine, _ := v.Seats(now)
					sum += mine
				}
				return sum == n
			})
		}
		shows("running", 8)
		seats(8)
		b.must(r.SetConcurrency(t.Context(), 21))
		shows("running", 21)
		seats(21)
		b.must(r.Pause(t.Context()))
		shows("paused", 21)
		seats(0)
		b.must(r.SetConcurrency(t.Context(), 5))
		shows("paused", 5)
		b.must(r.Resume(t.Context()))
		shows("running", 5)
		seats(5)
		if got := b.state(r).Concurrencies; !slices.Equal(got, []int64{8, 21, 5}) {
			t.Errorf("numbers that were in force: %v", got)
		}
		if l := one.holder.View().Laws.All()[0]; l.Phase != lease.Running || l.Concurrency() != 8 {
			t.Errorf("%+v", l)
		}
		_, err := r.SetRate(t.Context(), pacer.PerSecond(5), 0)
		b.wants(err, ErrNoRate, "set-rate x: the run is a closed loop with a concurrency: it has no rate to change; give a number of requests in flight, such as c=16")
		b.must(r.Stop(t.Context(), nil))
	})
}

// TestNoConcurrency: a run that was created without one cannot have one.
func TestNoConcurrency(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", closed(0), Options{})
		_, err := r.SetConcurrency(t.Context(), 5)
		b.wants(err, ErrNoConcurrency, "set-rate x: the run was not created with --concurrency, so it cannot have one now; each worker has as many requests in flight as connections")
		r, _ = b.create("y", constant(5), Options{})
		_, err = r.SetConcurrency(t.Context(), 5)
		b.wants(err, ErrNoConcurrency, "set-rate y: the run was not created with --concurrency, so it cannot have one now; give a rate")
	})
}
