package results

import (
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
)

// TestLimitedRun: slots that the limiter refuses count as asked for and as ungranted. Nothing is skipped. The
// limiter's state is removed with the run.
func TestLimitedRun(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", limited("1000", "token-bucket", func(s *spec.Spec) { s.Burst = 5 }), run.Options{})
		m := b.member(r, "w").start()
		await.True(m, "slots that nobody asks for in time", func() bool { return b.state(r).Asked > 100 })
		grant, err := r.Grants(b.client).Grant(t.Context(), 100, pacer.PerSecond(1000))
		if err != nil || grant.N != 5 || grant.Burst != 5 {
			t.Errorf("%+v, %v", grant, err)
		}
		s := b.state(r)
		if s.Limiter != "token-bucket, burst 5" {
			t.Errorf("limiter %q", s.Limiter)
		}
		if n := b.client.Exists(t.Context(), r.Keys.Limiter).Val(); n != 1 {
			t.Error("the limiter has no state")
		}
		b.stop(r, m)
		owned := m.owned()
		total := finalSnapshot("w", "incw", 1, record.Counts{Sent: grant.N, Completed: grant.N, Ungranted: owned - grant.N})
		if err := NewJournal(r, "w", "incw").Publish(t.Context(), total, total, nil); err != nil {
			t.Fatal(err)
		}
		rep, err := Report(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		a := rep.Audit
		if err := a.Check(); err != nil || a.Skipped != 0 || a.Ungranted != owned-5 || a.Asked != a.Issued+a.Ungranted || a.Issued != 5 || owned < 100 {
			t.Errorf("%+v of %d owned, %v", a, owned, err)
		}
		if rep.Limiter != s.Limiter {
			t.Errorf("the report says %q", rep.Limiter)
		}
		if err := run.Remove(t.Context(), b.client, "x", true); err != nil {
			t.Fatal(err)
		}
		if n := b.client.Exists(t.Context(), r.Keys.Limiter).Val(); n != 0 {
			t.Error("the limiter's state is left")
		}
	})
}

// TestMaxReport: the audit adds up though no slots were asked for, with Redis and with a file.
func TestMaxReport(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", closed(0), run.Options{})
		m := b.member(r, "w")
		m.renew()
		b.stop(r, m)
		total := finalSnapshot("w", "incw", 1, record.Counts{Sent: 9, Completed: 9})
		total.Final = true
		journal := NewJournal(r, "w", "incw")
		if err := journal.Publish(t.Context(), total, total, nil); err != nil {
			t.Fatal(err)
		}
		rep, err := Report(t.Context(), r)
		if err != nil || !rep.ClosedLoop || !rep.Complete || rep.Audit.Sent != 9 || rep.Asked != 0 || len(rep.Notes) != 1 {
			t.Errorf("%+v, %v", rep, err)
		}
		journal.Keep(0, total, nil, samples.Set{}, false)
		data := journal.Unpublished().encoded(t)
		u, err := ReadUnpublished(written(t, data))
		if err != nil {
			t.Fatal(err)
		}
		rep, err = FromFiles("x", "Redis does not answer", []*Unpublished{u})
		if err != nil || !rep.ClosedLoop || rep.Audit.Sent != 9 || rep.CheckAudit() != nil {
			t.Errorf("%+v, %v", rep, err)
		}
		entries, err := run.List(t.Context(), b.client)
		if err != nil || len(entries) != 1 || !entries[0].ClosedLoop {
			t.Errorf("%+v, %v", entries, err)
		}
	})
}

// TestOwnReportWaitsForTheEnd: a worker whose clock is ahead has ended a moment before the run is over for Redis. Its
// report is of the run that is over.
func TestOwnReportWaitsForTheEnd(t *testing.T) {
	b := newBed(t)
	r, _ := b.create("x", mortal(2*time.Second), run.Options{})
	m := b.member(r, "w").start()
	await.True(b, "the last moments", func() bool { m.renew(); s := b.state(r); return s.EndsAt.Sub(s.Now()) < clocks/2 })
	rep, _, err := OwnReport(t.Context(), r, time.Minute, unpublished(record.Counts{}))
	if err != nil || rep.Running {
		t.Errorf("running %v, %v, %q", rep.Running, err, rep.Notes)
	}
}

// TestReportOfAProcessWhoseNameWasTaken: a suspended process wakes up when another one has its name and its slots. What it
// then drops or sends is overrun. The report is complete.
func TestReportOfAProcessWhoseNameWasTaken(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(1000), run.Options{})
		m := b.member(r, "w").start().supplied()
		await.True(b, "some slots", func() bool { m.renew(); return m.owned() > 100 })
		next := &member{bed: b, run: r, id: "w", server: r.Leases(b.client), holder: lease.NewHolder("w", "next", 1)}
		next.renew()
		b.must(r.Abort(t.Context(), ""))
		await.True(b, "the stop to be in force", func() bool { s := b.state(r); return !s.EndedAt.IsZero() && s.Now().After(s.EndedAt) })
		next.halt()
		s := b.state(r)
		owned := s.Workers[slices.IndexFunc(s.Workers, func(w run.Worker) bool { return w.Incarnation == "incw" })].Owned
		others := s.Issued - owned - s.Skipped
		for inc, n := range map[string]record.Counts{"incw": {Sent: 90, Completed: 90, LateDropped: owned + 300 - 90}, "next": {Sent: others, Completed: others}} {
			total := finalSnapshot("w", inc, 1, n)
			if err := NewJournal(r, "w", inc).Publish(t.Context(), total, total, nil); err != nil {
				t.Fatal(err)
			}
		}
		rep, err := Report(t.Context(), r)
		if err != nil || rep.Audit.Check() != nil || rep.Audit.Overrun != 300 || rep.Audit.Asked != s.Asked {
			t.Errorf("%v, %v, %+v, %q", err, rep.Audit.Check(), rep.Audit, rep.Notes)
		}
	})
}
