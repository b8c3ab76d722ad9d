package run

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// save copies the run as it is in Redis. The returned function makes Redis forget all later changes, as a failover to
// an old replica would.
func (b *bed) save(r *Run) (failover func()) {
	b.Helper()
	saved := map[string]string{}
	for _, key := range r.Keys.All() {
		if v, err := b.client.Dump(b.Context(), key).Result(); err == nil {
			saved[key] = v
		}
	}
	return func() {
		for key, v := range saved {
			b.client.RestoreReplace(b.Context(), key, 0, v)
		}
		b.failover(r)
	}
}

// flaky is a server that can be cut off.
type flaky struct {
	lease.Server
	cut *atomic.Bool
}

func (f flaky) Renew(ctx context.Context, c lease.Call) (lease.Reply, error) {
	if f.cut.Load() {
		return lease.Reply{}, errors.New("cut off")
	}
	return f.Server.Renew(ctx, c)
}

// nowhere stands for shards that send nothing.
type nowhere struct{}

func (nowhere) Take(*lease.View) {}

func (nowhere) Taken() (int, int64) { return math.MaxInt, 0 }

// loner is a worker that claims and restores like a real one, and can be cut off. It sends nothing.
type loner struct {
	cut    atomic.Bool
	rate   atomic.Int64 // the rate of its current View
	claims atomic.Int64
	calls  atomic.Int64
}

func (b *bed) loner(r *Run) *loner {
	b.Helper()
	w := &loner{}
	l := lease.Renewer{
		Server: flaky{r.Leases(b.client), &w.cut}, Sink: nowhere{}, Clock: pacer.NewClock(), Worker: "w", Incarnation: "i",
		Observe: func(x lease.Reply, v *lease.View) {
			w.calls.Add(1)
			if x.Status == lease.MustClaim {
				w.claims.Add(1)
			}
			if i := v.Laws.At(x.Now); x.Status == lease.OK && i >= 0 && len(v.Held) > 0 {
				w.rate.Store(int64(v.Laws.All()[i].Rate(x.Now)))
			}
		},
		Restore: func(ctx context.Context, laws []lease.Law) error { return r.Restore(ctx, 1, laws, true) },
	}
	ctx, end := context.WithCancel(b.Context())
	b.Cleanup(end)
	go func() { _ = l.Run(ctx) }()
	await.True(b, "its first slots", func() bool { return w.rate.Load() > 0 })
	return w
}

// TestForgottenGivesWay: a worker sends the new server the laws that a failover forgot. Commands that the new server
// got itself take precedence.
func TestForgottenGivesWay(t *testing.T) {
	for name, ordered := range map[string]int64{"forgotten": 0, "ordered": 10} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			r, _ := b.create("r", constant(1000), Options{})
			w := b.loner(r)
			failover := b.save(r)
			b.must(r.SetRate(t.Context(), pacer.PerSecond(500), 0))
			await.True(b, "that rate", func() bool { return w.rate.Load() == 500 })
			w.cut.Store(true)
			failover()
			want := int64(500)
			if ordered > 0 {
				want = ordered
				b.must(r.SetRate(t.Context(), pacer.PerSecond(ordered), 0))
			}
			w.rate.Store(0)
			w.cut.Store(false)
			await.True(b, "it to claim what it has", func() bool { return w.claims.Load() == 1 && w.rate.Load() == want })
			last := w.calls.Load() + 5
			await.True(b, "five more calls", func() bool {
				if rate := w.rate.Load(); rate != want {
					t.Fatalf("it goes on at %d", rate)
				}
				return w.calls.Load() >= last
			})
			if s := b.state(r); s.Rate != float64(want) || s.Members != 1 || w.claims.Load() != 1 {
				t.Errorf("%+v, %d claims", s, w.claims.Load())
			}
		})
	}
}

// TestRestoreOfAnother: workers of an old run do not take part in a new run of the same name.
func TestRestoreOfAnother(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", losing(spec.LossStop, 0, 0), Options{})
		m := b.member(r, "w").start()
		started, laws := b.known(r, m)
		m.halt()
		b.must(r.Stop(t.Context(), nil))
		b.create("r", losing(spec.LossStop, 0, 0), Options{New: true})
		for _, describes := range []bool{true, false} {
			if err := r.Restore(t.Context(), started, laws, describes); !errors.Is(err, pacer.ErrNoState) {
				t.Errorf("described %v: %v", describes, err)
			}
		}
		if status := m.renew().Status; status != lease.NoState {
			t.Errorf("its call is answered %s", status)
		}
	})
}

// TestRestoreByThePlan: a pause, a resume and a failover do not end the plan. The restored run goes on as planned.
func TestRestoreByThePlan(t *testing.T) {
	planned := func() spec.Spec {
		s := constant(1000)
		s.Stages = []string{"10s:1000", "0s:10", "600s:10"}
		return s
	}
	requests := constant(1000)
	requests.Requests = 100_000
	for name, c := range map[string]struct {
		spec spec.Spec
		leap func(b *bed, r *Run)
	}{
		"pause":    {planned(), func(b *bed, r *Run) { b.must(r.Pause(b.Context())); b.must(r.Resume(b.Context())) }},
		"failover": {planned(), func(b *bed, r *Run) { b.failover(r) }},
		"requests": {requests, func(b *bed, r *Run) { b.failover(r) }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			r, _ := b.create("r", c.spec, Options{})
			m := b.member(r, "w").start()
			await.True(b, "some", func() bool { m.renew(); return m.owned() > 300 })
			c.leap(b, r)
			await.True(b, "some more", func() bool { m.renew(); return m.owned() > 600 })
			started, laws := b.known(r, m)
			before := b.state(r)
			b.lose()
			m.renew()
			b.restore(r, started, laws)
			s := b.state(r)
			if c.spec.Requests == 0 && (!s.EndsAt.Equal(before.EndsAt) || s.AskedAt(s.now.Add(8*time.Second)) != before.AskedAt(s.now.Add(8*time.Second)) || s.Peak() != 1000) {
				t.Errorf("the plan is %+v, and was %+v", s, before)
			}
			if c.spec.Requests > 0 && s.AskedAt(s.StartedAt.Add(time.Hour)) != 100_000 {
				t.Errorf("%d are planned", s.AskedAt(s.StartedAt.Add(time.Hour)))
			}
			if runs, err := List(t.Context(), b.client); err != nil || len(runs) != 1 {
				t.Errorf("loadctl ls shows %+v, %v", runs, err)
			}
		})
	}
}

// TestRestoreAfterAChangeInAPause: a rate that was set during a lasting pause is not forgotten either.
func TestRestoreAfterAChangeInAPause(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", constant(1000), Options{})
		m := b.member(r, "w").start()
		b.must(r.Pause(t.Context()))
		b.must(r.SetRate(t.Context(), pacer.PerSecond(10), 0))
		started, laws := b.known(r, m)
		b.lose()
		m.renew()
		b.restore(r, started, laws)
		if s := b.state(r); s.Phase != "paused" || s.Rate != 0 || s.RateThen != 10 {
			t.Errorf("it is %s at %v, to go on with %v", s.Phase, s.Rate, s.RateThen)
		}
		b.must(r.Resume(t.Context()))
		await.True(b, "that rate", func() bool { m.renew(); return b.state(r).Rate == 10 })
	})
}

// TestRemoveBroken: removing a broken run with workers in it leaves nothing.
func TestRemoveBroken(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", constant(1000), Options{})
		m := b.member(r, "w").start()
		started, laws := b.known(r, m)
		b.client.Del(t.Context(), r.Keys.Spec)
		if err := Remove(t.Context(), b.client, "r", false); err != nil {
			t.Fatal(err)
		}
		if err := r.Restore(t.Context(), started, laws, true); !errors.Is(err, pacer.ErrNoState) {
			t.Error(err)
		}
	})
}
