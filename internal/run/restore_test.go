package run

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report"
)

// restore makes the run anew from what a member knows, as its process would.
func (b *bed) restore(r *Run, m *member, describes bool) error {
	b.Helper()
	return r.Restore(b.Context(), m.laws()[0].T0, m.laws(), describes)
}

func (b *bed) lose() {
	b.Helper()
	if err := b.client.FlushAll(b.Context()).Err(); err != nil {
		b.Fatal(err)
	}
}

// permitted is constant with promises of a second, so that a failover is soon over.
func permitted(qps int64) Spec {
	s := constant(qps)
	s.PermitFor = time.Second
	return s
}

// A run whose state was lost goes on in its laws, under the same uid, and who held something holds it.
func TestRestore(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := permitted(1000)
		spec.Duration = time.Minute
		r, _ := b.create("r", spec, Options{})
		m := b.member(r, "w").start()
		before := b.state(r)
		b.lose()
		if status := m.renew().Status; status != lease.NoState {
			t.Fatalf("after the loss: %s", status)
		}
		for range 2 { // of many callers one creates
			if err := b.restore(r, m, true); err != nil {
				t.Fatal(err)
			}
		}
		s := b.state(r)
		if s.Phase != "running" || s.Rate != 1000 || !s.EndsAt.Equal(before.EndsAt) || !s.StartedAt.Equal(before.StartedAt) || s.restored.IsZero() {
			t.Errorf("it was %+v, it is %+v", before, s)
		}
		if reply := m.renew(); reply.Status != lease.OK || m.holder.View().Held.Len() != circle.Units {
			t.Errorf("%+v, it holds %v", reply, m.holder.View().Held)
		}
		if s = b.state(r); s.Workers[0].State != "active" || s.laws[0].ID != before.laws[0].ID || s.AskedAt(before.now) != before.Asked {
			t.Errorf("it was %+v, it is %+v", before, s)
		}
	})
}

// What a worker sent before the run was lost is in the report, and each slot is accounted for. Nobody knows what others did that were not there afterwards.
func TestReportOfARestoredRun(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m, other := b.member(r, "w"), b.member(r, "gone")
		m.start()
		b.until("some slots of both", func() bool { other.renew(); m.renew(); return other.owned() > 100 })
		s := b.state(r)
		sent := m.owned()
		b.lose()
		if err := b.restore(r, m, true); err != nil {
			t.Fatal(err)
		}
		m.renew()
		total := told("w", "incw", 1, report.Counts{Sent: sent, Completed: sent})
		total.Final = false
		if err := r.Journal("w", "incw").Publish(t.Context(), total, total, nil); err != nil {
			t.Fatal(err)
		}
		rep, err := r.Report(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.Audit.Check(); err != nil || rep.Audit.Sent != sent || rep.Audit.Asked < s.Asked || rep.Audit.Skipped < s.Asked-sent {
			t.Errorf("%v; %d were sent of %d: %+v", err, sent, s.Asked, rep.Audit)
		}
		if rep.Complete || !strings.Contains(strings.Join(rep.Notes, "\n"), "restored") {
			t.Errorf("the report: complete %v, %q", rep.Complete, rep.Notes)
		}
	})
}

// A failover may forget that pieces were somebody's: what their owner tells was its own.
func TestReportAfterAFailover(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		failover := b.save(r)
		m := b.member(r, "w").start()
		sent := m.owned()
		failover()
		m.renew()
		total := told("w", "incw", 1, report.Counts{Sent: sent, Completed: sent})
		if err := r.Journal("w", "incw").Publish(t.Context(), total, total, nil); err != nil {
			t.Fatal(err)
		}
		rep, err := r.Report(t.Context())
		if err != nil || rep.Audit.Check() != nil || rep.Audit.Sent != sent {
			t.Errorf("%v; %d were sent: %v, %+v", err, sent, rep.Audit.Check(), rep.Audit)
		}
	})
}

// The rate that was set last holds, not that of the plan, also where it was made anew by who has not heard of it.
func TestRestoreAfterAChange(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m := b.member(r, "w").start()
		before := m.laws()
		b.must(r.SetRate(t.Context(), pacer.PerSecond(50), 0))
		m.renew()
		for _, laws := range [][]lease.Law{m.laws(), before} {
			b.lose()
			m.renew()
			if err := r.Restore(t.Context(), 0, laws, true); err != nil {
				t.Fatal(err)
			}
			m.renew()
			b.until("the rate that was set", func() bool { return b.state(r).Rate == 50 })
		}
	})
}

// In the middle of a ramp between rates that are no whole numbers of requests per second it is the same ramp.
func TestRestoreInARamp(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := permitted(0)
		spec.QPS, spec.Stages = pacer.Rate{Num: 60_000, Den: 60}, []string{"1m:90001/1m"}
		r, _ := b.create("r", spec, Options{})
		m := b.member(r, "w").start()
		before := b.state(r)
		b.lose()
		if err := b.restore(r, m, true); err != nil {
			t.Fatal(err)
		}
		m.renew()
		if s := b.state(r); s.laws[0] != before.laws[0] || s.Rate < before.Rate || s.Rate > 1100 || s.RateThen != before.RateThen {
			t.Errorf("it was %+v, it is %+v", before, s)
		}
	})
}

// A run that was paused stays so until it is resumed.
func TestRestorePaused(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m := b.member(r, "w").start()
		b.must(r.Pause(t.Context()))
		m.renew()
		b.lose()
		if err := b.restore(r, m, true); err != nil {
			t.Fatal(err)
		}
		if m.renew(); b.state(r).Phase != "paused" || m.phase() != lease.Paused {
			t.Errorf("it is %s", b.state(r).Phase)
		}
		b.must(r.Resume(t.Context()))
		b.until("the resumption", func() bool { m.renew(); return m.phase() == lease.Running && b.state(r).Rate == 1000 })
	})
}

// A run that ended while it was lost is one that has ended, as planned.
func TestRestoreOfARunThatIsOver(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := permitted(1000)
		spec.Duration = 500 * time.Millisecond
		r, _ := b.create("r", spec, Options{})
		m := b.member(r, "w").start()
		ends := b.state(r).EndsAt
		b.until("the end", func() bool { return time.Now().After(ends) })
		b.lose()
		if err := b.restore(r, m, true); err != nil {
			t.Fatal(err)
		}
		if m.renew(); m.phase() != lease.Ended || !b.state(r).EndedAt.Equal(ends) {
			t.Errorf("it is %s, ended at %v, planned for %v", b.state(r).Phase, b.state(r).EndedAt, ends)
		}
	})
}

// A run that was removed is not restored; neither is one by a worker that was not given its description.
func TestRemovedIsNotRestored(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("r", permitted(1000), Options{})
		m := b.member(r, "w").start()
		if err := Remove(t.Context(), b.client, "r", true); err != nil {
			t.Fatal(err)
		}
		if err := b.restore(r, m, true); !errors.Is(err, pacer.ErrNoState) {
			t.Errorf("restoring what was removed: %v", err)
		}
		b.lose()
		if err := b.restore(r, m, false); err != nil || len(b.dump()) > 0 {
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
		for who, one := range map[string]*Run{"its creator": r, "a joiner": joiner, "one that wished for less": hasty, "one that opened it": opened} {
			b.lose()
			if err := b.restore(one, m, true); err != nil {
				t.Fatal(err)
			}
			kept := b.client.HGet(t.Context(), r.keys.Budget, "keep").Val()
			for _, key := range []string{r.keys.Budget, r.keys.Spec} {
				if ttl := b.client.PTTL(t.Context(), key).Val(); ttl <= keep-time.Minute || ttl > keep || kept != "2592000000" {
					t.Errorf("restored by %s %s lives for %v, renewed by %s ms", who, key, ttl, kept)
				}
			}
		}
	})
}
