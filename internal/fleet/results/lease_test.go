package results

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/removal"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
)

// mortal is a run of 1,000 requests a second for some seconds, with leases of one second.
func mortal(d time.Duration) spec.Spec {
	s := constant(1000)
	s.PermitFor, s.Duration = time.Second, d
	return s
}

// supplied renews until the member has ranges, which a first call does not bring.
func (m *member) supplied() *member {
	m.Helper()
	await.True(m, "ranges", func() bool { m.renew(); return m.leased() > 0 })
	return m
}

// leased returns how many slots the member owns until the end of its lease. It may have got its ranges late.
func (m *member) leased() (n int64) {
	v := m.holder.View()
	end := v.Laws.Ordinal(v.Laws.Pos(v.P))
	for _, s := range v.Held {
		n += circle.Range{Lo: s.Lo, N: s.Hi - s.Lo}.Count(v.Laws.Ordinal(s.From), end)
	}
	return n
}

// TestSlotsAfterLeaseExpiryAreSkipped: slots due after the lease of a dead worker are skipped, whichever worker calls later, and
// however late: the laws in which the lease ended may be over by then. So a report with the dead worker's file is
// complete.
func TestSlotsAfterLeaseExpiryAreSkipped(t *testing.T) {
	for name, then := range map[string]func(b *bed, r *run.Run){
		"nobody calls": func(*bed, *run.Run) {},
		"a command":    func(b *bed, r *run.Run) { b.must(r.Abort(b.Context(), "")) },
		"its name is taken": func(b *bed, r *run.Run) {
			(&member{bed: b, run: r, id: "w", server: r.Leases(b.client), holder: lease.NewHolder("w", "next", 1)}).renew()
		},
		"it is removed": func(b *bed, r *run.Run) {
			if _, err := removal.Worker(b.Context(), r, "w", true); err != nil {
				b.Fatal(err)
			}
		},
		"a failover": func(b *bed, r *run.Run) {
			b.failover(r)
			b.member(r, "other").renew()
		},
	} {
		for when, wait := range map[string]time.Duration{"at once": 0, "later": 1500 * time.Millisecond} {
			t.Run(name+" "+when, func(t *testing.T) {
				each(t, func(t *testing.T, b *bed) {
					if testing.Short() && wait == 0 && strings.HasSuffix(t.Name(), "embedded") {
						t.Skip("make test-all runs it: the real server is enough in make test")
					}
					r, _ := b.create("x", mortal(3*time.Second), run.Options{})
					m := b.member(r, "w").start().supplied()
					want := m.leased()
					ends := b.state(r).EndsAt
					await.True(b, "the time of the end", func() bool { return time.Since(ends) > wait })
					await.True(b, "the end", func() bool {
						s := b.state(r)
						return s.Phase == "ended" && s.Now().Sub(s.EndedAt) > wait
					})
					then(b, r)
					s := b.state(r)
					if got := s.Workers[slices.IndexFunc(s.Workers, func(w run.Worker) bool { return w.Incarnation == "incw" })].Owned; got != want || s.Skipped != 3000-want || s.Issued != 3000 || s.Asked != 3000 {
						t.Errorf("it owned %d, want %d; %d skipped, %d issued, %d asked", got, want, s.Skipped, s.Issued, s.Asked)
					}
					u := unpublished(record.Counts{Sent: want, Completed: want})
					u.UID, u.Total.Worker, u.Total.Incarnation = r.UID, "w", "incw"
					rep, err := MergedReport(t.Context(), r, []*Unpublished{u})
					if err != nil || rep.Audit.Check() != nil || rep.Audit.Sent != want || rep.Audit.Lost+rep.Audit.Held != 0 {
						t.Errorf("%v, %+v, %v", err, rep.Audit, rep.Notes)
					}
					if name == "nobody calls" && !rep.Complete {
						t.Errorf("it is not complete: %q", rep.Notes)
					}
				})
			})
		}
	}
}

// TestPassedOn: if a worker dies while others go on, each of its slots is its own, another worker's or skipped.
func TestPassedOn(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", mortal(0), run.Options{})
		m, other := b.member(r, "w"), b.member(r, "other")
		m.start()
		await.True(b, "two shares", func() bool { other.renew(); m.renew(); return other.owned() > 100 })
		until := m.holder.View().P
		perMicro := float64(m.holder.View().Held.Len()) / (1 << 24) / 1000
		before := b.state(r).Now().UnixMicro()
		from := m.owned()
		after := b.state(r).Now().UnixMicro()
		await.True(b, "that the other has all", func() bool { other.renew(); return other.holder.View().Held.Len() == 1<<24 })
		s := b.state(r)
		own := m.owned() - from
		least, most := perMicro*float64(until-after), perMicro*float64(max(0, until-before))
		if float64(own) < least-20 || float64(own) > most+20 {
			t.Errorf("it owned %d slots until its lease was over, want %.0f to %.0f", own, least, most)
		}
		if m.owned()+other.owned()+s.Skipped < s.Issued || s.Issued != s.Asked || s.Skipped == 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestReportOfARestoredRun: the report holds what a worker sent before the run was lost, and each slot is accounted
// for. What absent workers did is unknown.
func TestReportOfARestoredRun(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		asked := constant(1000)
		asked.PermitFor = time.Minute // however slow the test is
		r, _ := b.create("r", asked, run.Options{})
		m, other := b.member(r, "w"), b.member(r, "gone")
		m.start()
		await.True(b, "some slots of both", func() bool { other.renew(); m.renew(); return other.owned() > 100 })
		s := b.state(r)
		sent := m.owned()
		started, laws := b.known(r, m)
		b.lose()
		b.restore(r, started, laws)
		m.renew()
		total := finalSnapshot("w", "incw", 1, record.Counts{Sent: sent, Completed: sent})
		total.Final = false
		if err := NewJournal(r, "w", "incw").Publish(t.Context(), total, total, nil); err != nil {
			t.Fatal(err)
		}
		rep, err := Report(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.Audit.Check(); err != nil || rep.Audit.Sent != sent || rep.Audit.Asked < s.Asked || rep.Audit.Skipped > 0 || rep.Audit.Held < s.Asked-sent {
			t.Errorf("while the other one may come back: %v; %d were sent of %d: %+v", err, sent, s.Asked, rep.Audit)
		}
		b.must(r.Abort(t.Context(), ""))
		if rep, err = Report(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := rep.Audit.Check(); err != nil || rep.Audit.Sent != sent || rep.Audit.Skipped < s.Asked-sent {
			t.Errorf("%v; %d were sent of %d: %+v", err, sent, s.Asked, rep.Audit)
		}
		if rep.Complete || !strings.Contains(strings.Join(rep.Notes, "\n"), "restored") {
			t.Errorf("the report: complete %v, %q", rep.Complete, rep.Notes)
		}
	})
}

// TestReportsAfterARestore: slots of workers that were there before the loss are never shown as skipped, whether the workers
// have joined again and reported or not.
func TestReportsAfterARestore(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := constant(1000)
		s.PermitFor = time.Minute // however slow the test is
		r, _ := b.create("r", s, run.Options{})
		m := b.member(r, "w").start()
		await.True(b, "some slots", func() bool { m.renew(); return m.owned() > 200 })
		started, laws := b.known(r, m)
		b.lose()
		b.restore(r, started, laws)
		wants := func(when string) {
			t.Helper()
			rep, err := Report(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if err := rep.Audit.Check(); err != nil || rep.Audit.Skipped > 0 || rep.Audit.Asked < 200 || rep.Audit.Held+rep.Audit.Sent < 200 {
				t.Errorf("%s: %v, %+v", when, err, rep.Audit)
			}
		}
		wants("before it has joined again")
		m.renew()
		wants("before it has reported")
		at := b.state(r)
		total := finalSnapshot("w", "incw", 1, record.Counts{Sent: at.Asked, Completed: at.Asked})
		total.Final, total.End = false, at.Now().UnixMicro()
		if err := NewJournal(r, "w", "incw").Publish(t.Context(), total, total, nil); err != nil {
			t.Fatal(err)
		}
		wants("when it has reported")
		await.True(b, "another moment", func() bool { m.renew(); return b.state(r).Now().Sub(at.Now()) > 300*time.Millisecond })
		wants("before its next report")
	})
}

// TestReportAfterAFailover: a new server may refuse a worker's lease and count its slots as skipped. What the worker
// then sends still counts as its own.
func TestReportAfterAFailover(t *testing.T) {
	b := newBed(t) // an embedded server has no known identity
	asked := mortal(0)
	asked.PermitFor = 5 * time.Second // the failover comes in the first half of it, however slow the test is
	r, _ := b.create("r", asked, run.Options{})
	m := b.member(r, "w").start().supplied()
	sent, until := m.leased(), m.holder.View().P
	b.failover(r)
	b.member(r, "other").renew()
	await.True(b, "the end of the lease", func() bool { return b.state(r).Now().UnixMicro() > until })
	if owned := m.owned(); owned > sent-500 {
		t.Errorf("it owned %d, and sent %d", owned, sent)
	}
	total := finalSnapshot("w", "incw", 1, record.Counts{Sent: sent, Completed: sent})
	if err := NewJournal(r, "w", "incw").Publish(t.Context(), total, total, nil); err != nil {
		t.Fatal(err)
	}
	rep, err := Report(t.Context(), r)
	if err != nil || rep.Audit.Check() != nil || rep.Audit.Sent != sent || rep.Audit.Asked > b.state(r).Asked {
		t.Errorf("%v; %d were sent: %v, %+v", err, sent, rep.Audit.Check(), rep.Audit)
	}
}
