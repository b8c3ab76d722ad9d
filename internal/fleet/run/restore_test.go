package run

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestRestore: a lost run goes on by the laws of its workers, under the same uid. Workers go on with the ranges that
// they hold.
func TestRestore(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(1000)
		spec.Duration = time.Minute
		r, _ := b.create("r", spec, Options{})
		m := b.member(r, "w").start()
		await.True(b, "some slots", func() bool { m.renew(); return m.owned() > 300 })
		started, laws := b.known(r, m)
		before, view := b.state(r), m.holder.View()
		b.lose()
		if status := m.renew().Status; status != lease.NoState {
			t.Fatalf("after the loss: %s", status)
		}
		for range 2 { // only one of many callers creates it
			b.restore(r, started, laws)
		}
		if s := b.state(r); s.Phase != "running" || s.Members != 0 || s.Restored.IsZero() {
			t.Errorf("before anybody has called: %s of %d, restored at %v", s.Phase, s.Members, s.Restored)
		}
		if reply := m.renew(); reply.Status != lease.OK || !slices.Equal(m.holder.View().Held, view.Held) || m.holder.View().P <= view.P {
			t.Errorf("the first reply: %+v; it holds %v, before %v", reply, m.holder.View().Held, view.Held)
		}
		s := b.state(r)
		if !s.EndsAt.Equal(before.EndsAt) || !s.StartedAt.Equal(before.StartedAt) || s.Rate != 1000 || s.Members != 1 || !slices.Equal(s.laws, before.laws) {
			t.Errorf("it is %+v, and was %+v", s, before)
		}
		await.True(b, "more slots", func() bool { m.renew(); return b.state(r).now.Sub(s.now) > 100*time.Millisecond })
		s = b.state(r)
		if asked := (s.now.UnixMicro() - started) / 1000; s.Asked < asked-1 || s.Asked > asked+1 || s.Issued != s.Asked || s.Workers[0].Owned+s.Skipped != s.Issued-s.AskedAt(s.Restored) {
			t.Errorf("asked %d, want %d; issued %d, %d before the restore, owned %d, skipped %d", s.Asked, asked, s.Issued, s.AskedAt(s.Restored), s.Workers[0].Owned, s.Skipped)
		}
		if s.Workers[0].Owned < 100 {
			t.Errorf("owned %d since", s.Workers[0].Owned)
		}
	})
}

// TestRestoreAfterTheLeases: ranges without a claim are not sent until all earlier leases have ended.
func TestRestoreAfterTheLeases(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m := b.member(r, "w").start()
		started, laws := b.known(r, m)
		await.True(b, "its lease is short", func() bool { return time.Now().UnixMicro() > m.holder.View().P-500_000 })
		b.lose()
		b.restore(r, started, laws)
		var reply lease.Reply
		await.True(b, "its share", func() bool { reply = m.renew(); return len(m.holder.View().Held) > 0 })
		restored := b.state(r).Restored
		if early := restored.Add(time.Second).Sub(time.UnixMicro(reply.Now)); early > 0 {
			t.Errorf("it was given something %v too early", early)
		}
		if v := m.holder.View(); v.Held.Len() != circle.Units || v.Held[0].From.Less(v.Laws.Pos(restored.Add(time.Second).UnixMicro())) {
			t.Errorf("it holds %v", v.Held)
		}
	})
}

// TestRestoreAfterAChange: the rate that was set last counts, not that of the plan. If the restoring worker has not
// received it, it returns with a worker that has.
func TestRestoreAfterAChange(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", constant(1000), Options{})
		m := b.member(r, "w").start()
		_, before := b.known(r, m)
		b.must(r.SetRate(t.Context(), pacer.PerSecond(50), 0))
		started, laws := b.known(r, m)
		await.True(b, "the change", func() bool { return b.state(r).Rate == 50 })
		for _, by := range [][]lease.Law{laws, before} {
			b.lose()
			m.renew()
			b.restore(r, started, by)
			m.renew()
			if s := b.state(r); s.Rate != 50 || len(s.laws) != len(laws) {
				t.Errorf("by %d laws: it goes on with %v, %+v", len(by), s.Rate, s.laws)
			}
		}
	})
}

// TestStopAfterARestore: a stop is in force at once, also when the law of the run's end is made already. That law is no
// command, so the stop need not wait for it.
func TestStopAfterARestore(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		asked := constant(1000)
		asked.Duration, asked.PermitFor = 5*time.Minute, 10*time.Minute
		r, _ := b.create("r", asked, Options{})
		m := b.member(r, "w").start()
		started, laws := b.known(r, m)
		last := laws[len(laws)-1]
		if last.Phase != lease.Ended {
			t.Fatalf("the law of the end is not made: %+v", last)
		}
		b.lose()
		b.restore(r, started, laws)
		m.renew()
		if c := b.must(r.Abort(t.Context(), "")); !c.Changed || c.At.Sub(b.lastEvent(r)) > time.Second || !c.At.Before(TimeOf(last.T0)) {
			t.Errorf("%+v, at %v; the end is at %v", c, b.lastEvent(r), TimeOf(last.T0))
		}
	})
}

// TestRestoreInARamp: the rest of a ramp between fractional rates is as it was.
func TestRestoreInARamp(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(0)
		spec.QPS, spec.Stages = pacer.Rate{Num: 60_000, Den: 60}, []string{"5s:90001/1m", "10s:6/1m", "1m:100"}
		r, _ := b.create("r", spec, Options{})
		m := b.member(r, "w").start()
		await.True(b, "some slots", func() bool { m.renew(); return m.owned() > 300 })
		started, laws := b.known(r, m)
		before := b.state(r)
		b.lose()
		m.renew()
		b.restore(r, started, laws)
		m.renew()
		s := b.state(r)
		climbed := 1000 + (before.RateThen-1000)/5*s.now.Sub(s.StartedAt).Seconds()
		if s.Rate < climbed-5 || s.Rate > climbed+5 || s.RateThen != before.RateThen || s.Peak() > before.Peak() || !slices.Equal(s.ahead, before.ahead) {
			t.Errorf("it goes on with %v to %v, then %+v; it was on its way to %v, then %+v", s.Rate, s.RateThen, s.ahead, before.RateThen, before.ahead)
		}
		for at := s.now; at.Before(s.now.Add(15 * time.Second)); at = at.Add(time.Second / 3) {
			if is, was := s.AskedAt(at), before.AskedAt(at); is != was && at.Before(before.now.Add(10*time.Second)) {
				t.Errorf("%d are asked for before %v, and it was %d", is, at, was)
			}
		}
	})
}

// TestRestorePaused: a paused run stays paused until it is resumed.
func TestRestorePaused(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", constant(1000), Options{})
		m := b.member(r, "w").start()
		b.must(r.Pause(t.Context()))
		started, laws := b.known(r, m)
		b.lose()
		m.renew()
		b.restore(r, started, laws)
		if m.renew(); b.state(r).Phase != "paused" {
			t.Errorf("it is %s", b.state(r).Phase)
		}
		owned := m.owned()
		at := b.must(r.Resume(t.Context())).At
		await.True(b, "some slots", func() bool { m.renew(); return m.owned() > owned+100 })
		if s := b.state(r); s.Rate != 1000 || s.Asked > s.AskedAt(at)+s.now.Sub(at).Milliseconds()+1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestRestoreNothing: a run that is over by its plan is restored as ended.
func TestRestoreNothing(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := permitted(1000)
		spec.Duration = time.Second
		r, _ := b.create("r", spec, Options{})
		m := b.member(r, "w").start()
		started, laws := b.known(r, m)
		ends := b.state(r).EndsAt
		await.True(b, "its end", func() bool { return time.Now().After(ends) })
		b.lose()
		b.restore(r, started, laws)
		if s := b.state(r); s.Phase != "ended" || !s.EndedAt.Equal(ends) || s.Asked != 1000 {
			t.Errorf("%s at %v, it was to end at %v; %d were asked for", s.Phase, s.EndedAt, ends, s.Asked)
		}
		m.over()
	})
}

// TestRemovedIsNotRestored: a removed run is not restored, and a worker without its description restores no run.
func TestRemovedIsNotRestored(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", constant(1000), Options{})
		m := b.member(r, "w").start()
		started, laws := b.known(r, m)
		if err := Remove(t.Context(), b.client, "r", true); err != nil {
			t.Fatal(err)
		}
		if err := r.Restore(t.Context(), started, laws, true); !errors.Is(err, pacer.ErrNoState) {
			t.Errorf("restoring what was removed: %v", err)
		}
		b.lose()
		if err := r.Restore(t.Context(), started, laws, false); err != nil || len(b.dump()) > 0 {
			t.Errorf("%v, %d keys", err, len(b.dump()))
		}
	})
}

// TestRestoreKeepsTheLifetime: a restored run keeps the lifetime that its creator chose, whichever worker restores
// it.
func TestRestoreKeepsTheLifetime(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		const keep = 30 * 24 * time.Hour
		r, _ := b.create("r", constant(1000), Options{Keep: keep})
		m := b.member(r, "w").start()
		joiner, created := b.create("r", constant(1000), Options{})
		hasty, _ := b.create("r", constant(1000), Options{Keep: time.Hour})
		opened, err := Open(t.Context(), b.client, "r")
		if err != nil || created {
			t.Fatalf("created %v, %v", created, err)
		}
		started, laws := b.known(r, m)
		for who, one := range map[string]*Run{"its creator": r, "a joiner": joiner, "one that wished for less": hasty, "one that opened it": opened} {
			b.lose()
			b.restore(one, started, laws)
			kept := b.client.HGet(t.Context(), r.Keys.Budget, "keep").Val()
			for _, key := range []string{r.Keys.Budget, r.Keys.Spec} {
				if ttl := b.client.PTTL(t.Context(), key).Val(); ttl <= keep-time.Minute || ttl > keep || kept != "2592000000" {
					t.Errorf("restored by %s %s lives for %v, renewed by %s ms", who, key, ttl, kept)
				}
			}
		}
	})
}
