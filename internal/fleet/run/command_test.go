package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestCommandActsOnce: a lost reply is answered by sending the same command again.
func TestCommandActsOnce(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		b.member(r, "w").start()
		send := func() Change {
			c, err := r.send(t.Context(), "id1", "set-rate", "what", "7:7:1:0", 0)
			return b.must(c, err)
		}
		first, second := send(), send()
		if first != second || !first.Changed || first.At.IsZero() {
			t.Errorf("first %+v, then %+v", first, second)
		}
		if events := b.events(r); strings.Count(events, "set-rate") != 1 {
			t.Error(events)
		}
		if n := len(b.state(r).laws); n != 2 {
			t.Errorf("%d laws", n)
		}
	})
}

func TestCommandsAreIdempotent(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		change := func(name string, want bool, c Change, err error) {
			t.Helper()
			if b.must(c, err); c.Changed != want || c.Run != "x" || c.At.IsZero() {
				t.Errorf("%s: %+v, want changed %v", name, c, want)
			}
		}
		twice := func(name string, do func(context.Context) (Change, error), changes bool) {
			t.Helper()
			c, err := do(t.Context())
			change(name, changes, c, err)
			c, err = do(t.Context())
			change(name+" again", false, c, err)
		}
		stop := func(ctx context.Context) (Change, error) { return r.Stop(ctx, nil) }
		for _, do := range []func(context.Context) (Change, error){r.Pause, r.Resume} {
			if _, err := do(t.Context()); !errors.Is(err, ErrWaiting) {
				t.Errorf("while waiting: %v", err)
			}
		}
		m := b.member(r, "w").start()
		twice("resume while running", r.Resume, false)
		twice("pause", r.Pause, true)
		twice("resume", r.Resume, true)
		await.True(b, "the resumption", func() bool { m.renew(); return b.state(r).Phase == "running" })
		m.halt()
		twice("stop", stop, true)
		if events, want := b.events(r), "[create join start pause resume stopped stop]"; events != want {
			t.Errorf("events %s, want %s", events, want)
		}
	})
}

func TestCommandsAfterTheEnd(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(1000)
		spec.Requests = 5
		r, _ := b.create("x", spec, Options{})
		b.member(r, "w").over()
		before := b.events(r)
		_, err := r.SetRate(t.Context(), pacer.PerSecond(5), 0)
		b.wants(err, ErrOver, "set-rate x")
		_, err = r.SetRate(t.Context(), pacer.PerSecond(5), time.Second)
		b.wants(err, ErrOver, "set-rate x")
		_, err = r.Pause(t.Context())
		b.wants(err, ErrOver, "pause x")
		_, err = r.Resume(t.Context())
		b.wants(err, ErrOver, "resume x")
		if c := b.must(r.Stop(t.Context(), nil)); c.Changed {
			t.Errorf("stop changed a run that had ended: %+v", c)
		}
		if after := b.events(r); after != before {
			t.Errorf("events %s, before %s", after, before)
		}
	})
}

func TestSetRateWhilePaused(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		m := b.member(r, "w").start()
		paused := b.must(r.Pause(t.Context())).At
		b.must(r.SetRate(t.Context(), pacer.PerSecond(700), 0))
		m.renew()
		if s := b.state(r); s.Phase != "paused" || s.Rate != 0 || s.RateThen != 700 || s.AskedAt(paused.Add(time.Hour)) != s.AskedAt(paused) {
			t.Errorf("paused: %+v", s)
		}
		c := b.must(r.Resume(t.Context()))
		await.True(b, "the new rate", func() bool {
			m.renew()
			return b.state(r).Rate == 700
		})
		s := b.state(r)
		if law := s.laws[len(s.laws)-1]; law.T0 != c.At.UnixMicro() || law.R0 != 700 || s.AskedAt(c.At.Add(time.Second))-s.AskedAt(c.At) != 700 {
			t.Errorf("laws %v, resumed at %d", s.laws, c.At.UnixMicro())
		}
	})
}

func TestSetRateWhileWaiting(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(100)
		spec.MinWorkers, spec.Duration = 2, time.Hour
		r, _ := b.create("x", spec, Options{})
		b.member(r, "a").renew()
		b.must(r.SetRate(t.Context(), pacer.PerSecond(300), 0))
		b.must(r.SetRate(t.Context(), pacer.PerSecond(600), time.Second))
		b.member(r, "b").start()
		s := b.state(r)
		if law := s.laws[0]; law.R0 != 300*law.Den || law.R1 != 600*law.Den || s.EndsAt.Sub(s.StartedAt) != time.Hour {
			t.Errorf("law %v, from %v to %v", law, s.StartedAt, s.EndsAt)
		}
	})
}

// TestRampBeginsAtTheRateInForce, wherever the run is.
func TestRampBeginsAtTheRateInForce(t *testing.T) {
	for name, c := range map[string]struct {
		spec   spec.Spec
		before func(b *bed, r *Run)
		to     pacer.Rate
		low    float64
		high   float64
	}{
		"constant": {constant(100), nil, pacer.PerSecond(500), 100, 100},
		"down":     {constant(1000), nil, pacer.PerSecond(0), 1000, 1000},
		"after a change": {constant(100), func(b *bed, r *Run) {
			b.must(r.SetRate(b.Context(), pacer.PerSecond(350), 0))
			await.True(b, "the change", func() bool { return b.state(r).Rate == 350 })
		}, pacer.PerSecond(500), 350, 350},
		"in a ramp":             {spec.Spec{Stages: []string{"10s:1000"}}, nil, pacer.PerSecond(500), 0, 200},
		"no common denominator": {spec.Spec{QPS: pacer.Rate{Num: 999_983, Den: 999_979}}, nil, pacer.Rate{Num: 500, Den: 999_961}, 1, 1.001},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b *bed) {
				s := constant(0)
				s.QPS, s.Stages = c.spec.QPS, c.spec.Stages
				r, _ := b.create("x", s, Options{})
				b.member(r, "w").start()
				if c.before != nil {
					c.before(b, r)
				}
				b.must(r.SetRate(t.Context(), c.to, 7*time.Second))
				first, last, span := b.queue(r)
				if first < c.low || first > c.high || last != c.to.Float() || span != 7*time.Second {
					t.Errorf("the queue goes from %v to %v in %v", first, last, span)
				}
			})
		})
	}
}

// TestRampAfterAPause: a ramp that a pause interrupts is not stretched by the time of the pause.
func TestRampAfterAPause(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(0)
		spec.Stages = []string{"2s:1000", "1h:1000"}
		r, _ := b.create("x", spec, Options{})
		b.member(r, "w").start()
		c := b.must(r.Pause(t.Context()))
		await.True(b, "the ramp to be over", func() bool { return b.state(r).now.After(c.At.Add(2 * time.Second)) })
		var want float64
		for _, law := range b.state(r).laws {
			if law.T0 < c.At.UnixMicro() {
				want = law.Rate(c.At.UnixMicro())
			}
		}
		b.must(r.SetRate(t.Context(), pacer.PerSecond(2000), time.Minute))
		if first, _, _ := b.queue(r); math.Abs(first-want) > 0.01 {
			t.Errorf("the ramp begins at %v, the run was paused at %v", first, want)
		}
	})
}

// queue returns the profile that was set last: its first rate, its last rate, and how long the change takes.
func (b *bed) queue(r *Run) (first, last float64, span time.Duration) {
	b.Helper()
	text := b.client.HGet(b.Context(), r.Keys.Budget, fmt.Sprint("plan/", b.core(r)["command"])).Val()
	plan, err := lease.ParsePlan(text)
	if err != nil {
		b.Fatal(err)
	}
	for i, p := range plan.Pieces {
		if i == 0 {
			first = float64(p.R0) / float64(p.Den)
		}
		last = float64(p.R1) / float64(p.Den)
		span += time.Duration(p.Dur) * time.Microsecond
	}
	return first, last, span
}

func TestRampBounds(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		for _, over := range []time.Duration{-1, time.Microsecond, MaxRamp + 1} {
			_, err := r.SetRate(t.Context(), pacer.PerSecond(1), over)
			b.wants(err, nil, "--over")
		}
	})
}

// between is a hook that acts, some times, between reading the state and changing it.
type between struct {
	redis.Hook
	times atomic.Int64
	do    func()
}

func (h *between) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *between) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *between) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		read := slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return c.Name() == "hgetall" })
		if read && h.times.Add(-1) >= 0 {
			h.do()
		}
		return err
	}
}

// TestRampIsComputedAnew: if the rate changes between reading it and setting the ramp, the ramp begins at the new
// rate. The command ends even if the rate changes each time.
func TestRampIsComputedAnew(t *testing.T) {
	for times, from := range map[int64]float64{1: 401, 3: 403, 1000: 400 + rampTries - 1} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			each(t, func(t *testing.T, b *bed) {
				r, _ := b.create("x", constant(100), Options{})
				b.member(r, "w").start()
				slow := redistest.Another(b, b.client)
				defer slow.Close()
				other, err := Open(t.Context(), slow, "x")
				if err != nil {
					t.Fatal(err)
				}
				rate := int64(400)
				hook := &between{do: func() {
					rate++
					c := b.must(r.SetRate(t.Context(), pacer.PerSecond(rate), 0))
					await.True(b, "the change", func() bool { return b.state(r).now.After(c.At) })
				}}
				hook.times.Store(times)
				slow.AddHook(hook)
				if c := b.must(other.SetRate(t.Context(), pacer.PerSecond(900), 2*time.Second)); !c.Changed {
					t.Errorf("%+v", c)
				}
				if first, last, _ := b.queue(r); first != from || last != 900 {
					t.Errorf("the ramp goes from %v to %v, want from %v", first, last, from)
				}
			})
		})
	}
}

// TestRampIsSetAtOnce: laws that the plan makes ahead of time are not commands. So the ramp is not computed again
// because of them.
func TestRampIsSetAtOnce(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(100)
		spec.Stages = []string{"5s:200", "1h:200"}
		r, _ := b.create("x", spec, Options{})
		b.member(r, "w").start()
		own := redistest.Another(b, b.client)
		defer own.Close()
		other, err := Open(t.Context(), own, "x")
		if err != nil {
			t.Fatal(err)
		}
		var reads int
		hook := &between{do: func() { reads++ }}
		hook.times.Store(1000)
		own.AddHook(hook)
		if c := b.must(other.SetRate(t.Context(), pacer.PerSecond(900), 2*time.Second)); !c.Changed || reads != 1 {
			t.Errorf("%+v, worked out %d times", c, reads)
		}
	})
}

// TestManyRampsAtOnce: all succeed, and each is in the event stream.
func TestManyRampsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		b.member(r, "w").start()
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if _, err := r.SetRate(t.Context(), pacer.PerSecond(int64(100+i)), time.Second); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := strings.Count(b.events(r), "set-rate"); n != 10 {
			t.Errorf("%d events", n)
		}
	})
}

func TestPlannedEnd(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(100)
		spec.Duration = time.Hour
		r, _ := b.create("x", spec, Options{})
		m := b.member(r, "w").start()
		planned := b.state(r).EndsAt
		if want := b.state(r).StartedAt.Add(time.Hour); !planned.Equal(want) {
			t.Errorf("planned end %v, want %v", planned, want)
		}
		b.must(r.SetRate(t.Context(), pacer.PerSecond(50), 0))
		b.must(r.SetRate(t.Context(), pacer.PerSecond(500), time.Minute))
		if end := b.state(r).EndsAt; !end.Equal(planned) {
			t.Errorf("set-rate moved the end from %v to %v", planned, end)
		}
		paused := b.must(r.Pause(t.Context()))
		if s := b.state(r); !s.EndsAt.IsZero() || s.LeftNS != planned.Sub(paused.At) {
			t.Errorf("while the pause goes on it ends at %v with %v left, want %v left", s.EndsAt, s.LeftNS, planned.Sub(paused.At))
		}
		await.True(b, "some time", func() bool { return m.renew().Now > paused.At.Add(100*time.Millisecond).UnixMicro() })
		resumed := b.must(r.Resume(t.Context()))
		await.True(b, "the resumption", func() bool { m.renew(); return b.state(r).Phase == "running" })
		if end, want := b.state(r).EndsAt, planned.Add(resumed.At.Sub(paused.At)); !end.Equal(want) {
			t.Errorf("end %v after a pause, want %v", end, want)
		}
	})
}

// TestRequestsAreCounted: --requests bounds the run, whatever the rates on the way.
func TestRequestsAreCounted(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(200)
		spec.Requests = 300
		r, _ := b.create("x", spec, Options{})
		m := b.member(r, "w").start()
		limit := func() {
			t.Helper()
			var all int64
			for _, cut := range b.state(r).cuts {
				all += cut
			}
			if all != spec.Requests {
				t.Errorf("%d requests are planned, want %d", all, spec.Requests)
			}
		}
		limit()
		b.must(r.SetRate(t.Context(), pacer.PerSecond(50), 0))
		m.renew()
		limit()
		b.must(r.Pause(t.Context()))
		b.must(r.SetRate(t.Context(), pacer.PerSecond(700), 0))
		b.must(r.Resume(t.Context()))
		m.renew()
		limit()
		m.over()
		if s := b.state(r); s.Issued != spec.Requests || s.Asked != spec.Requests || m.owned()+s.Skipped != spec.Requests {
			t.Errorf("issued %d, asked %d, owned %d, skipped %d", s.Issued, s.Asked, m.owned(), s.Skipped)
		}
	})
}

func TestStopWaits(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", losing(spec.LossStop, 0, 0), Options{})
		a := b.member(r, "a")
		a.renew()
		b.member(r, "b").start()
		a.halt()
		var reported [][]Pending
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		_, err := r.Stop(ctx, func(those []Pending) {
			reported = append(reported, those)
			cancel(enough)
		})
		b.wants(err, enough, "stop x")
		if len(reported) != 1 || fmt.Sprint(who(reported[0])) != "[{b true 0s}]" || reported[0][0].Lease <= 0 || reported[0][0].Lease > spec.StopLease {
			t.Errorf("waited for %v", reported)
		}
		// b is silent, so Stop waits until its lease ends.
		last := b.state(r).Workers[1].LastSeen
		c := b.must(r.Stop(t.Context(), nil))
		waited := b.state(r).now.Sub(last)
		if waited < spec.StopLease+spec.DefaultMaxLag || c.Changed {
			t.Errorf("waited until %v after the last contact, %+v", waited, c)
		}
		b.soon("a stop with a silent member", waited, spec.StopLease+spec.DefaultMaxLag+2*time.Second)
	})
}

// TestStopWaitsForPermits: a silent member may be cut off, and then sends until its lease ends. Stop does not wait
// for a member that was removed as dead.
func TestStopWaitsForPermits(t *testing.T) {
	const permit = 4 * time.Second
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", losing(spec.LossPermit, permit, 0), Options{})
		b.member(r, "a").renew()
		dead := b.member(r, "b").start()
		b.remove(r, "a")
		dead.renew()
		var reported []Pending
		b.must(r.Stop(t.Context(), func(those []Pending) { reported = append(reported, those...) }))
		w := b.state(r).Workers[1]
		waited := b.state(r).now.Sub(w.LastSeen)
		if waited < permit+spec.DefaultMaxLag {
			t.Errorf("waited until %v after the last contact", waited)
		}
		b.soon("a stop with a silent member", waited, permit+spec.DefaultMaxLag+2*time.Second)
		if len(reported) != 1 || reported[0].ID != "b" || !reported[0].Silent || reported[0].Lease <= 0 || reported[0].Lease > permit {
			t.Errorf("waited for %v", reported)
		}
	})
}

// TestStopEndsWhenTheDeadAreRemoved: removing dead workers ends the wait of Stop.
func TestStopEndsWhenTheDeadAreRemoved(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", losing(spec.LossPermit, spec.MaxPermitFor, 0), Options{})
		b.member(r, "w").start()
		b.must(r.Stop(t.Context(), func(those []Pending) {
			if len(those) != 1 || those[0].Lease < spec.MaxPermitFor/2 {
				t.Errorf("waits for %v", those)
			}
			b.remove(r, "w")
		}))
	})
}

// TestStopCannotConfirm: Stop does not wait for a lease without end.
func TestStopCannotConfirm(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", losing(spec.LossHold, 0, 0), Options{})
		b.member(r, "w").start()
		c, err := r.Stop(t.Context(), nil)
		b.wants(err, ErrUnconfirmed, "stop x: cannot be confirmed for w: ", "then run loadctl workers rm x w")
		if !c.Changed || b.state(r).Phase != "stopped" {
			t.Errorf("%+v, phase %s", c, b.state(r).Phase)
		}
		if !b.missed(r, "w") {
			t.Error("loadctl workers rm would refuse to remove it")
		}
		b.remove(r, "w")
		b.must(r.Stop(t.Context(), nil))
	})
}

// TestTouch: the touch of a watcher is noted, and nothing else changes.
func TestTouch(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", losing(spec.LossPermit, 0, 3*time.Second), Options{})
		m := b.member(r, "w").start()
		lastCall := func() int64 { return b.core(r)["controllerAt"] }
		before, events, command := lastCall(), b.events(r), b.core(r)["command"]
		time.Sleep(time.Millisecond)
		if err := r.Touch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if lastCall() == before || b.events(r) != events || b.core(r)["command"] != command {
			t.Errorf("last call %d, before %d; events %s", lastCall(), before, b.events(r))
		}
		m.halt()
		b.must(r.Stop(t.Context(), nil))
		if err := r.Touch(t.Context()); err != nil {
			t.Errorf("a run that is over: %v", err)
		}
		b.client.FlushDB(t.Context())
		b.wants(r.Touch(t.Context()), ErrNoRun)
	})
}

// TestDeadman: the next call of a member stops a run without a controller. Commands and Touch count as a controller.
func TestDeadman(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", losing(spec.LossPermit, 0, 3*time.Second), Options{})
		m := b.member(r, "w").start()
		began := time.Now()
		await.True(b, "more than the time of the switch", func() bool {
			if err := r.Touch(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.renew()
			if phase := b.state(r).Phase; phase != "running" {
				t.Fatalf("%s after %v", phase, time.Since(began))
			}
			time.Sleep(50 * time.Millisecond)
			return time.Since(began) > 4*time.Second
		})
		last := b.must(r.Pause(t.Context()))
		await.True(b, "the stop", func() bool { m.renew(); return b.state(r).Phase == "stopped" })
		s := b.state(r)
		if s.EndedAt.Sub(last.At) < 2900*time.Millisecond {
			t.Errorf("stopped at %v, the last command was at %v", s.EndedAt, last.At)
		}
		b.switched(r, s)
		if events := b.events(r); !strings.HasSuffix(events, " pause deadman]") {
			t.Error(events)
		}
	})
}

// switched checks that a switch of 3 s has stopped the run in time, by the clock of Redis. Redis does not count a time
// of more than a second in which nobody calls. So the stop comes within a second of the 3 s, however slow the test is.
func (b *bed) switched(r *Run, s *State) {
	b.Helper()
	if silent := s.EndedAt.Sub(TimeOf(b.core(r)["controllerAt"])); silent < 2900*time.Millisecond || silent > 4200*time.Millisecond {
		b.Errorf("stopped after a silence of %v, want 3 to 4 s", silent)
	}
}

// TestDeadmanLater: Deadman sets the dead-man's switch of a run that was created without one, even while the run waits. Like
// Touch it counts as a controller.
func TestDeadmanLater(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		var before time.Time // the last sign of life came then, or later
		guard := func() {
			t.Helper()
			before = b.state(r).now
			if err := r.Deadman(t.Context(), 3*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		guard() // the run waits
		m := b.member(r, "w").start()
		await.True(b, "a second more than the time of the switch", func() bool {
			guard()
			time.Sleep(50 * time.Millisecond)
			m.renew()
			s := b.state(r)
			if s.Phase != "running" {
				t.Fatalf("%s at %v", s.Phase, s.now)
			}
			return s.now.Sub(s.StartedAt) > 4*time.Second
		})
		await.True(b, "the stop", func() bool { m.renew(); return b.state(r).Phase == "stopped" })
		s := b.state(r)
		if s.EndedAt.Sub(before) < 2900*time.Millisecond {
			t.Errorf("stopped at %v, the last sign of life was not before %v", s.EndedAt, before)
		}
		b.switched(r, s)
		if events := b.events(r); !strings.HasSuffix(events, " deadman]") || strings.Contains(events, "guard") {
			t.Error(events)
		}
		guard() // the switch is set already
		b.wants(r.Deadman(t.Context(), time.Second), nil, "give a time from 3s to")
	})
}

// TestScaleAndCap: a scale goes up and down, but not above a cap, and only if no other command came since. A cap raises
// nothing. A set-rate ends both.
func TestScaleAndCap(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(1000), Options{})
		b.member(r, "w").start()
		began := b.state(r).Scale()
		if began.Factor != 1_000_000 || began.Most != 1_000_000 || !began.Since.IsZero() || !began.Set.IsZero() || began.Peak != 1000 {
			t.Errorf("at the begin: %+v", began)
		}
		scale := func(factor int64) Change {
			t.Helper()
			return b.must(r.Scale(t.Context(), factor, b.state(r).Scale().After, "a reason"))
		}
		is := func(factor, most int64, rate float64) {
			t.Helper()
			await.True(b, "the rate", func() bool { return b.state(r).Rate == rate })
			if s := b.state(r); s.Scale().Factor != factor || s.Scale().Most != most || s.RateThen != rate || s.Peak() != rate || s.Scale().Peak != 1000 {
				t.Errorf("%+v, then %v/s, peak %v, want factor %d, most %d, %v/s", s.Scale(), s.RateThen, s.Peak(), factor, most, rate)
			}
		}
		down := scale(500_000)
		if is(500_000, 1_000_000, 500); !b.state(r).Scale().Since.Equal(down.At) {
			t.Errorf("in force since %v, want %v", b.state(r).Scale().Since, down.At)
		}
		if _, err := r.Scale(t.Context(), 250_000, began.After, "late"); !errors.Is(err, ErrChanged) {
			t.Errorf("another command came in between: %v", err)
		}
		b.must(r.Cap(t.Context(), 800_000, "a cut"))
		is(500_000, 800_000, 500)
		scale(1_000_000)
		is(800_000, 800_000, 800)
		b.must(r.Cap(t.Context(), 400_000, "a cut"))
		is(400_000, 400_000, 400)
		if c := b.must(r.Cap(t.Context(), 900_000, "a cut")); c.Changed {
			t.Error("a cap has raised something")
		}
		set := b.must(r.SetRate(t.Context(), pacer.PerSecond(1000), 0))
		is(1_000_000, 1_000_000, 1000)
		scale(300_000)
		if is(300_000, 1_000_000, 300); !b.state(r).Scale().Set.Equal(set.At) {
			t.Errorf("set at %v, want %v", b.state(r).Scale().Set, set.At)
		}
		if events := b.events(r); !strings.Contains(events, "scale cap scale cap set-rate scale") {
			t.Error(events)
		}
		last, err := r.Events(t.Context(), 1)
		if err != nil || last[0].What != "30 % of the plan, a reason" {
			t.Errorf("%+v, %v", last, err)
		}
	})
}

// TestSetRateFor: the events name the reason.
func TestSetRateFor(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		b.must(r.SetRateFor(t.Context(), pacer.Rate{Den: 1}, "a search begins"))
		last, err := r.Events(t.Context(), 1)
		if err != nil || last[0].Kind != "set-rate" || last[0].What != "0 per second, a search begins" {
			t.Errorf("%+v, %v", last, err)
		}
		b.member(r, "w").start() // with a rate of 0 the run begins all the same
		if s := b.state(r); s.Phase != "running" || s.Rate != 0 || s.Asked != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestEvents(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		b.member(r, "w").start()
		for i := range 5 {
			b.must(r.SetRate(t.Context(), pacer.PerSecond(int64(i+1)), 0))
		}
		last, err := r.Events(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(last) != 3 || last[0].What != "3 per second" || last[2].What != "5 per second" || last[0].Kind != "set-rate" ||
			last[0].Who != Who() || last[1].At.Before(last[0].At) {
			t.Errorf("%+v", last)
		}
		if all := b.events(r); all != "[create join start set-rate set-rate set-rate set-rate set-rate]" {
			t.Error(all)
		}
		if err := b.client.XAdd(t.Context(), &redis.XAddArgs{Stream: r.Keys.Events, Values: []string{"x", "y"}}).Err(); err != nil {
			t.Fatal(err)
		}
		_, err = r.Events(t.Context(), 1)
		b.wants(err, nil, "read events of x")
	})
}

// TestWhereARampGoes: stages that go on in one direction count as one ramp, which ends with the last of them.
func TestWhereARampGoes(t *testing.T) {
	each(t, func(_ *testing.T, b *bed) {
		spec := constant(250)
		spec.Stages = []string{"1s:250", "1m:1000", "1m:3000", "1m:40"}
		r, _ := b.create("x", spec, Options{})
		m := b.member(r, "w")
		m.renew()
		await.True(b, "the start", func() bool { s := b.state(r); return s.Rate == 250 && s.RateThen == 250 })
		await.True(b, "the first stage up", func() bool { m.renew(); return b.state(r).Rate > 250 })
		if s := b.state(r); s.RateThen != 3000 {
			b.Errorf("on the way from %v to %v, and not to 3000", s.Rate, s.RateThen)
		}
		b.must(r.SetRate(b.Context(), pacer.PerSecond(250), 0))
		await.True(b, "the change", func() bool { m.renew(); s := b.state(r); return s.Rate == 250 && s.RateThen == 250 })
		b.must(r.SetRate(b.Context(), pacer.PerSecond(3000), time.Minute))
		await.True(b, "the ramp up", func() bool { m.renew(); return b.state(r).Rate > 250 })
		if s := b.state(r); s.RateThen != 3000 {
			b.Errorf("on the way from %v to %v, and not to 3000", s.Rate, s.RateThen)
		}
		b.must(r.Pause(b.Context()))
		b.must(r.SetRate(b.Context(), pacer.PerSecond(40), 0))
		if s := b.state(r); s.Rate != 0 || s.RateThen != 40 {
			b.Errorf("paused at %v, to go on with %v and not 40", s.Rate, s.RateThen)
		}
	})
}

// TestRampInAProfile: if the plan moves on between reading the rate and setting another, the ramp is not computed
// again.
func TestRampInAProfile(t *testing.T) {
	b := newBed(t)
	spec := constant(100)
	spec.Stages = []string{"5s:1000", "5s:100", "1h:1000"}
	r, _ := b.create("x", spec, Options{})
	b.member(r, "w").start()
	tries := 0
	counted := b.hooked(r, seen(func(cmd redis.Cmder) {
		if cmd.Name() == "evalsha" {
			tries++
		}
	}))
	b.must(counted.SetRate(t.Context(), pacer.PerSecond(50), time.Second))
	if tries != 1 {
		t.Errorf("it took %d tries", tries)
	}
}
