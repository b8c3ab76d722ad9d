package run

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// known is what a member has learned that started when r did.
func (b *bed) known(r *Run, m *member) (started int64, k pacer.Known) {
	b.Helper()
	started, err := r.StartedAt(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	s := b.state(r)
	k = pacer.Known{Law: s.laws[len(s.laws)-1], Leased: m.leased, Paused: s.Phase == "paused", At: s.now.UnixMicro()}
	h := b.budget(r)
	var since int64
	if err := integers(h, map[string]*int64{"stood": &k.Stood, "pausedat": &since}); err != nil {
		b.Fatal(err)
	}
	if k.Paused && k.Stood >= 0 {
		k.Stood += max(0, k.At-since)
	}
	if k.Recalls, err = pacer.ParseRecalls(h["recalls"]); err != nil {
		b.Fatal(err)
	}
	return started, k
}

func (b *bed) lose() {
	b.Helper()
	if err := b.client.FlushAll(b.Context()).Err(); err != nil {
		b.Fatal(err)
	}
}

// permitted is constant with permits of a second, so that a restored run begins soon.
func permitted(qps int64) Spec {
	s := constant(qps)
	s.PermitFor = time.Second
	return s
}

// A run whose state was lost goes on where its plan is by now, under the same uid, with higher generations. Nothing is granted that is due
// before the permits have run out. What was leased before stays leased.
func TestRestore(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := permitted(1000)
		spec.Duration = time.Minute
		r, _ := b.create("r", spec, Options{})
		m := b.member(r, "w").start()
		b.until("some slots", func() bool { m.lease(); return m.leased > 300 })
		started, k := b.known(r, m)
		ends := b.state(r).EndsAt
		b.lose()
		if status := m.lease().Status; status != pacer.StatusNoState {
			t.Fatalf("after the loss: %s", status)
		}
		before := time.Now()
		for range 2 { // of many callers one creates
			if err := r.Restore(t.Context(), started, k, true); err != nil {
				t.Fatal(err)
			}
		}
		if on, restoring := b.state(r).Restoring(); !restoring || on.Before(before.Add(time.Second)) {
			t.Errorf("before anybody has called: %v, goes on at %v", restoring, on)
		}
		m.ask.Leased, m.ask.PhiHeld = m.leased, 1_000_000_000
		reply := m.lease()
		s := b.state(r)
		on, restoring := s.Restoring()
		if on.Before(before.Add(time.Second)) || !restoring || s.Rate != 0 || s.RateThen != 1000 {
			t.Errorf("goes on at %v, %v after the loss; %v is asked for, then %v", on, on.Sub(before), s.Rate, s.RateThen)
		}
		m.ask.Leased, m.ask.PhiHeld = m.leased, reply.Permit.Phi()
		if reply.Status != pacer.StatusOK || reply.Range.N > 0 || reply.Hand < before.Add(time.Second).UnixMicro() {
			t.Errorf("the first reply: %+v", reply)
		}
		b.until("the first slot", func() bool {
			reply = m.lease()
			m.ask.Leased, m.ask.PhiHeld = m.leased, reply.Permit.Phi()
			return reply.Range.N > 0
		})
		first := reply.Range.Law.Due(reply.Range.First) / 1000
		b.until("the first slot's time", func() bool { return b.state(r).now.UnixMicro() >= first })
		if s := b.state(r); s.Rate != 1000 {
			t.Errorf("after the first slot: %+v", s)
		} else if on, restoring := s.Restoring(); restoring || !on.IsZero() {
			t.Errorf("after the first slot it is to go on at %v", on)
		}
		if reply.Range.Law.ID <= k.Law.ID || first < before.Add(time.Second).UnixMicro() || reply.Range.Law.R0 != 1000 {
			t.Errorf("goes on with %+v, it was %+v", reply.Range.Law, k.Law)
		}
		s = b.state(r)
		if d := s.EndsAt.Sub(ends); d.Abs() > 100*time.Millisecond || s.StartedAt.UnixMicro() != started || s.restored.IsZero() {
			t.Errorf("ends %v later, started at %v, restored at %v", d, s.StartedAt, s.restored)
		}
		goes := time.UnixMicro(first).Add(100 * time.Millisecond)
		if d := s.AskedAt(goes) - (goes.UnixMicro()-started-s.EndsAt.Sub(ends).Microseconds())/1000; d < -1 || d > 1 {
			t.Errorf("%d too many were asked for", d)
		}
		// Everything up to the first slot is accounted for: leased before, or skipped. The plan moved by as long as it took to restore it.
		past := (first - s.EndsAt.Sub(ends).Microseconds() - started) / 1000
		if d := s.issued - m.leased - s.Skipped; d != 0 || s.Skipped+k.Leased-past > 1 || past-s.Skipped-k.Leased > 1 {
			t.Errorf("issued %d, leased %d (%d before), skipped %d; the plan asked for %d before", s.issued, m.leased, k.Leased, s.Skipped, past)
		}
		rep, err := r.Report(t.Context())
		if err != nil || rep.Complete || !strings.Contains(strings.Join(rep.Notes, "\n"), "restored") {
			t.Errorf("the report: complete %v, %q, %v", rep.Complete, rep.Notes, err)
		}
	})
}

// The rate that was set last holds, not that of the plan; who has not heard of it does not restore anything.
func TestRestoreAfterAChange(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m := b.member(r, "w").start()
		_, before := b.known(r, m)
		b.must(r.SetRate(t.Context(), pacer.PerSecond(50), 0))
		started, k := b.known(r, m)
		before.Recalls, before.Stood = k.Recalls, k.Stood // heard of the change, and not of the rate
		b.lose()
		if err := r.Restore(t.Context(), started, before, true); !errors.Is(err, errUnknown) || len(b.dump()) > 0 {
			t.Errorf("restored by who does not know the rate: %v, %d keys", err, len(b.dump()))
		}
		if err := r.Restore(t.Context(), started, k, true); err != nil {
			t.Fatal(err)
		}
		var reply pacer.Reply
		b.until("the first slot", func() bool { reply = m.lease(); return reply.Range.N > 0 })
		if reply.Range.Law.R0 != 50*reply.Range.Law.Den {
			t.Errorf("goes on with %+v", reply.Range.Law)
		}
	})
}

// In the middle of a ramp between rates that are no whole numbers of requests per second, the rest of it is one in millionths of those.
func TestRestoreInARamp(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := permitted(0)
		spec.QPS, spec.Stages = pacer.Rate{Num: 60_000, Den: 60}, []string{"1m:90001/1m"}
		r, _ := b.create("r", spec, Options{})
		m := b.member(r, "w").start()
		b.until("some slots", func() bool { m.lease(); return m.leased > 300 })
		started, k := b.known(r, m)
		b.lose()
		if err := r.Restore(t.Context(), started, k, true); err != nil {
			t.Fatal(err)
		}
		var reply pacer.Reply
		b.until("the first slot", func() bool { reply = m.lease(); return reply.Range.N > 0 })
		if l := reply.Range.Law; l.R0 == l.R1 || l.Den <= 1_000_000 || l.Rate(l.T0) < 1000 || l.Rate(l.T0) > 1100 {
			t.Errorf("goes on with %+v", l)
		}
	})
}

// A run that was paused stays so until it is resumed.
func TestRestorePaused(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m := b.member(r, "w").start()
		b.must(r.Pause(t.Context()))
		started, k := b.known(r, m)
		b.lose()
		if err := r.Restore(t.Context(), started, k, true); err != nil {
			t.Fatal(err)
		}
		if status := m.lease().Status; status != pacer.StatusWait {
			t.Errorf("it is %s", status)
		}
		b.must(r.Resume(t.Context()))
		b.until("the first slot", func() bool { return m.lease().Range.N > 0 })
	})
}

// Where nothing is left to do nothing is made.
func TestRestoreNothing(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := permitted(1000)
		spec.Duration = 1500 * time.Millisecond // over before the permits are
		r, _ := b.create("r", spec, Options{})
		m := b.member(r, "w").start()
		started, k := b.known(r, m)
		b.until("the last second", func() bool { return time.Since(time.UnixMicro(started)) > 600*time.Millisecond })
		b.lose()
		if err := r.Restore(t.Context(), started, k, true); err != nil || len(b.dump()) > 0 {
			t.Errorf("%v, %d keys", err, len(b.dump()))
		}
	})
}

// A run that was removed is not restored; neither is one by a worker that was not given its description.
func TestRemovedIsNotRestored(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m := b.member(r, "w").start()
		started, k := b.known(r, m)
		if err := Remove(t.Context(), b.client, "r", true); err != nil {
			t.Fatal(err)
		}
		if err := r.Restore(t.Context(), started, k, true); !errors.Is(err, pacer.ErrNoState) {
			t.Errorf("restoring what was removed: %v", err)
		}
		b.lose()
		if err := r.Restore(t.Context(), started, k, false); err != nil || len(b.dump()) > 0 {
			t.Errorf("%v, %d keys", err, len(b.dump()))
		}
	})
}

// TestRestoreKeepsTheLifetime: what is made anew lives as long as its creator wished, whoever makes it.
func TestRestoreKeepsTheLifetime(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		const keep = 30 * 24 * time.Hour
		r, _ := b.create("r", permitted(1000), Options{Keep: keep})
		m := b.member(r, "w").start()
		joiner, created := b.create("r", permitted(1000), Options{})
		hasty, _ := b.create("r", permitted(1000), Options{Keep: time.Hour})
		opened, err := Open(t.Context(), b.client, "r")
		if err != nil || created {
			t.Fatalf("created %v, %v", created, err)
		}
		started, k := b.known(r, m)
		for who, one := range map[string]*Run{"its creator": r, "a joiner": joiner, "one that wished for less": hasty, "one that opened it": opened} {
			b.lose()
			if err := one.Restore(t.Context(), started, k, true); err != nil {
				t.Fatal(err)
			}
			fields := b.budget(r)
			for _, key := range []string{r.keys.Budget, r.keys.Spec} {
				if ttl := b.client.PTTL(t.Context(), key).Val(); ttl <= keep-time.Minute || ttl > keep || fields["keep"] != "2592000000" {
					t.Errorf("restored by %s %s lives for %v, renewed by %s ms", who, key, ttl, fields["keep"])
				}
			}
		}
	})
}
