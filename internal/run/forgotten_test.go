package run

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
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
		for key, v := range saved {
			b.client.RestoreReplace(b.Context(), key, 0, v)
		}
		b.client.HSet(b.Context(), r.keys.Budget, "identity", "another")
	}
}

// flaky is a limiter that can be cut off.
type flaky struct {
	pacer.Limiter
	cut *atomic.Bool
}

func (f flaky) Lease(ctx context.Context, a pacer.Ask) (pacer.Reply, error) {
	if f.cut.Load() {
		return pacer.Reply{}, errors.New("cut off")
	}
	return f.Limiter.Lease(ctx, a)
}

type nowhere struct{}

func (nowhere) Lease(pacer.Range)   {}
func (nowhere) Notice(pacer.Notice) {}

// loner is a worker that repeats and restores as a real one, and can be cut off. It fires nothing.
type loner struct {
	cut            atomic.Bool
	rate           atomic.Int64 // that it was last granted slots at
	calls, repeats atomic.Int64
	ended          chan error
}

func (b *bed) loner(r *Run) *loner {
	b.Helper()
	w := &loner{ended: make(chan error, 1)}
	l := pacer.Leaser{
		Limiter: flaky{r.Limiter(b.client), &w.cut}, Sink: nowhere{}, Clock: pacer.NewClock(), Worker: "w", Incarnation: "i",
		Observe: func(x pacer.Reply) {
			w.calls.Add(1)
			if x.Range.N > 0 {
				w.rate.Store(x.Range.Law.R0 / x.Range.Law.Den)
			}
		},
		Restore: func(ctx context.Context, k pacer.Known) error { return r.Restore(ctx, 1, k, true) },
		Reassert: func(ctx context.Context, k pacer.Known, granted int64) error {
			w.repeats.Add(1)
			return r.Reassert(ctx, k, granted)
		},
	}
	ctx, end := context.WithCancel(b.Context())
	b.Cleanup(end)
	go func() { w.ended <- l.Run(ctx) }()
	b.until("its first slots", func() bool { return w.rate.Load() > 0 })
	return w
}

// What a failover forgot a worker repeats, but not where the new server was told something itself.
func TestReassertGivesWay(t *testing.T) {
	for name, told := range map[string]int64{"forgotten": 0, "told": 10} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			s := permitted(1000)
			s.PermitFor = 10 * time.Second
			r, _ := b.create("r", s, Options{})
			w := b.loner(r)
			failover := b.save(r)
			b.must(r.SetRate(t.Context(), pacer.PerSecond(500), 0))
			b.until("slots at that rate", func() bool { return w.rate.Load() == 500 })
			w.cut.Store(true)
			failover()
			want := int64(500)
			if told > 0 {
				want = told
				b.must(r.SetRate(t.Context(), pacer.PerSecond(told), 0))
			}
			w.rate.Store(0)
			w.cut.Store(false)
			b.until("it to repeat what it knows", func() bool { return w.repeats.Load() == 1 && w.rate.Load() == want })
			for last := w.calls.Load() + 5; w.calls.Load() < last; time.Sleep(10 * time.Millisecond) {
				if rate := w.rate.Load(); rate != want {
					t.Fatalf("it goes on at %d", rate)
				}
			}
		})
	}
}

// Who was away for longer than its permit does not bring a run back: it may have been stopped and removed since.
func TestNobodyIsBackFromTheDead(t *testing.T) {
	b := newBed(t)
	s := permitted(1000)
	s.MaxLag = 100 * time.Millisecond
	r, _ := b.create("r", s, Options{})
	w := b.loner(r)
	w.cut.Store(true)
	b.must(r.Stop(t.Context(), nil))
	b.lose()
	w.cut.Store(false)
	if err := <-w.ended; !errors.Is(err, pacer.ErrNoState) || len(b.dump()) > 0 {
		t.Errorf("%v, %d keys", err, len(b.dump()))
	}
}

// A run that was made anew under the same name is not that of those who were in the old one.
func TestRestoreOfAnother(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", losing(LossStop, 0, 0), Options{})
		m := b.member(r, "w").start()
		started, k := b.known(r, m)
		b.must(r.Stop(t.Context(), nil))
		b.create("r", losing(LossStop, 0, 0), Options{New: true})
		for _, describes := range []bool{true, false} {
			if err := r.Restore(t.Context(), started, k, describes); !errors.Is(err, pacer.ErrNoState) {
				t.Errorf("described %v: %v", describes, err)
			}
		}
	})
}

// A pause, a resume and a failover do not leave the plan: what is restored goes on as planned.
func TestRestoreByThePlan(t *testing.T) {
	planned := func() Spec {
		s := permitted(1000)
		s.Stages = []string{"10s:1000", "0s:10", "600s:10"}
		return s
	}
	requests := permitted(1000)
	requests.Requests = 100_000
	for name, c := range map[string]struct {
		spec Spec
		leap func(b *bed, r *Run)
	}{
		"pause":    {planned(), func(b *bed, r *Run) { b.must(r.Pause(b.Context())); b.must(r.Resume(b.Context())) }},
		"failover": {planned(), func(b *bed, r *Run) { b.client.HSet(b.Context(), r.keys.Budget, "identity", "another") }},
		"requests": {requests, func(b *bed, r *Run) { b.client.HSet(b.Context(), r.keys.Budget, "identity", "another") }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			r, _ := b.create("r", c.spec, Options{})
			m := b.member(r, "w").start()
			b.until("some", func() bool { m.lease(); return m.leased > 300 })
			c.leap(b, r)
			b.until("some more", func() bool { return m.lease().Range.N > 0 })
			started, k := b.known(r, m)
			b.lose()
			if err := r.Restore(t.Context(), started, k, true); err != nil {
				t.Fatal(err)
			}
			h := b.budget(r)
			if pieces, err := pacer.ParsePiece(h["pieces"]); len(c.spec.Stages) > 0 && err == nil {
				t.Errorf("one piece is left of the plan: %+v", pieces)
			}
			if s := b.state(r); c.spec.Requests > 0 && s.laws[0].K < 90_000 {
				t.Errorf("%d are left", s.laws[0].K)
			}
			if runs, err := List(t.Context(), b.client); err != nil || len(runs) != 1 {
				t.Errorf("loadctl ls shows %+v, %v", runs, err)
			}
		})
	}
}

// A rate that was set during a pause that lasts is known to nobody else.
func TestRestoreAfterAChangeInAPause(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m := b.member(r, "w").start()
		b.must(r.Pause(t.Context()))
		b.must(r.SetRate(t.Context(), pacer.PerSecond(10), 0))
		m.lease()
		started, k := b.known(r, m)
		b.lose()
		if err := r.Restore(t.Context(), started, k, true); !errors.Is(err, errUnknown) || len(b.dump()) > 0 {
			t.Errorf("%v, %d keys", err, len(b.dump()))
		}
	})
}

// A run that is broken, with workers in it, is gone when it was removed.
func TestRemoveBroken(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m := b.member(r, "w").start()
		started, k := b.known(r, m)
		b.client.Del(t.Context(), r.keys.Spec)
		if err := Remove(t.Context(), b.client, "r", false); err != nil {
			t.Fatal(err)
		}
		if err := r.Restore(t.Context(), started, k, true); !errors.Is(err, pacer.ErrNoState) {
			t.Error(err)
		}
	})
}
