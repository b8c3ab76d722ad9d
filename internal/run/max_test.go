package run

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report"
)

// closed is the spec of a closed loop.
func closed(d time.Duration) Spec {
	s := constant(0)
	s.Max, s.Duration = true, d
	return s
}

// TestMaxSpec: a closed loop is one piece of rate 0, and what needs a rate is refused.
func TestMaxSpec(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0:0:1:0", 3 * time.Second: "0:0:1:3000000"} {
		s := closed(d)
		p, err := s.plan()
		if got := pacer.JoinPieces(p.pieces); err != nil || s.Validate() != nil || got != want || p.span != d || p.left != -1 {
			t.Errorf("%v: %s, %+v, %v %v", d, got, p, err, s.Validate())
		}
		if s.Length() != d || !math.IsInf(s.Peak(), 1) || s.Asks() != "max" {
			t.Errorf("%v: length %v, peak %v, asks %s", d, s.Length(), s.Peak(), s.Asks())
		}
	}
	for says, change := range map[string]func(*Spec){
		"--qps max and a rate: ":     func(s *Spec) { s.QPS = pacer.PerSecond(5) },
		"--qps max and --stage: ":    func(s *Spec) { s.Stages = []string{"10s:5"} },
		"--qps max and --profile: ":  func(s *Spec) { s.Profile = "steps:from=1,to=5,by=1,every=1s" },
		"--qps max and --requests: ": func(s *Spec) { s.Requests = 5 },
		"--duration: ":               func(s *Spec) { s.Duration = -1 },
	} {
		s := closed(0)
		change(&s)
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	if lines := closed(0).Diff(constant(100)); len(lines) != 1 || lines[0] != "qps: max there, 100 here" {
		t.Errorf("%q", lines)
	}
	text, err := closed(0).text()
	if err != nil || !strings.Contains(text, `"max":true`) {
		t.Errorf("%s, %v", text, err)
	}
	if s, err := parseSpec("x", text); err != nil || len(s.Diff(closed(0))) > 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestHoldOfAClosedLoop: how long a worker of one goes on by itself.
func TestHoldOfAClosedLoop(t *testing.T) {
	for _, c := range []struct {
		loss            string
		permit, deadman time.Duration
		want            time.Duration
	}{
		{"", 0, 0, DefaultPermitFor},
		{LossPermit, 3 * time.Second, 0, 3 * time.Second},
		{LossPermit, 20 * time.Second, 5 * time.Second, 5 * time.Second},
		{LossStop, 0, 5 * time.Second, StopPromise},
		{LossHold, 0, 0, withoutEnd},
		{LossHold, 0, 5 * time.Second, 5 * time.Second},
	} {
		s := losing(c.loss, c.permit, c.deadman)
		if s.Max = true; s.hold() != c.want {
			t.Errorf("%q %v %v: %v", c.loss, c.permit, c.deadman, s.hold())
		}
	}
}

// TestMaxPhases: a closed loop waits, begins, pauses, goes on and ends as any run, and its workers get matching
// replies.
func TestMaxPhases(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := closed(time.Second)
		s.MinWorkers = 2
		r, _ := b.create("x", s, Options{})
		one := b.member(r, "a")
		newest := func() *lease.Law { // that it knows
			one.renew()
			return one.holder.View().Laws.Newest()
		}
		if l := newest(); l != nil || b.state(r).Phase != "waiting" {
			t.Errorf("it waits, and there is law %+v", l)
		}
		if _, err := r.Pause(t.Context()); err == nil {
			t.Error("paused before it has begun")
		}
		b.member(r, "b").renew()
		one.start()
		state, first := b.state(r), one.holder.View().Laws.All()
		if len(first) == 0 || first[0].Phase != lease.Running || first[0].R0 != 0 || first[0].R1 != 0 || state.StartedAt.IsZero() {
			t.Errorf("%+v, %+v", first, state)
		}
		if d := state.EndsAt.Sub(state.StartedAt); d != time.Second || state.Asked != 0 || state.Rate != 0 {
			t.Errorf("it takes %v: %+v", d, state)
		}
		paused := b.must(r.Pause(t.Context()))
		inForce := func(c Change) { b.until(c.Command, func() bool { return b.state(r).now.After(c.At) }) }
		if l := newest(); l.Phase != lease.Paused {
			t.Errorf("%+v", l)
		}
		inForce(paused)
		if s := b.state(r); s.Phase != "paused" || !s.EndsAt.IsZero() {
			t.Errorf("%+v", s)
		}
		_, err := r.SetRate(t.Context(), pacer.PerSecond(5), 0)
		b.wants(err, ErrNoRate, "set-rate x: the run goes as fast as it can (--qps max): it has no rate to change; pause or stop it")
		resumed := b.must(r.Resume(t.Context()))
		inForce(resumed)
		if l, s := newest(), b.state(r); l.Phase != lease.Ended || !instant(l.T0).Equal(s.EndsAt) || s.Phase != "running" {
			t.Errorf("%+v, %+v", l, s)
		}
		if moved := b.state(r).EndsAt.Sub(state.EndsAt); moved != resumed.At.Sub(paused.At) {
			t.Errorf("the end has moved by %v", moved)
		}
		b.until("the planned end", func() bool { return b.state(r).Phase == "ended" })
		if s := b.state(r); s.Phase != "ended" || !s.EndedAt.Equal(s.EndsAt) || s.Skipped != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestStopWaitsForClosedLoops: a silent member may be sending until its promise is over.
func TestStopWaitsForClosedLoops(t *testing.T) {
	const permit = 3 * time.Second
	each(t, func(t *testing.T, b *bed) {
		s := closed(0)
		s.PermitFor = permit
		r, _ := b.create("x", s, Options{})
		m := b.member(r, "a")
		m.renew()
		m.renew()
		leaves := b.member(r, "b")
		leaves.renew()
		leaves.halt()
		var heard []Pending
		b.must(r.Stop(t.Context(), func(those []Pending) { heard = append(heard, those...) }))
		w := b.state(r).Workers[0]
		if waited := b.state(r).now.Sub(w.LastSeen); waited < permit+DefaultMaxLag || waited > permit+DefaultMaxLag+2*time.Second {
			t.Errorf("waited until %v after the last contact", waited)
		}
		if len(heard) != 1 || heard[0].ID != "a" || !heard[0].Silent || heard[0].Promise == 0 || heard[0].Promise > permit {
			t.Errorf("waited for %v", heard)
		}
	})
}

// TestMaxReport: what the workers sent adds up though nothing was asked for, with Redis and with a file.
func TestMaxReport(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", closed(0), Options{})
		m := b.member(r, "w")
		m.renew()
		b.stop(r, m)
		total := told("w", "incw", 1, report.Counts{Sent: 9, Completed: 9})
		total.Final = true
		journal := r.Journal("w", "incw")
		if err := journal.Publish(t.Context(), total, total, nil); err != nil {
			t.Fatal(err)
		}
		rep, err := r.Report(t.Context())
		if err != nil || !rep.ClosedLoop || !rep.Complete || rep.Audit.Sent != 9 || rep.Asked != 0 || len(rep.Notes) != 1 {
			t.Errorf("%+v, %v", rep, err)
		}
		journal.Keep(0, total, nil, false)
		data := journal.Unpublished().encoded(t)
		u, err := ReadUnpublished(written(t, data))
		if err != nil {
			t.Fatal(err)
		}
		rep, err = ReportOf("x", "Redis does not answer", []*Unpublished{u})
		if err != nil || !rep.ClosedLoop || rep.Audit.Sent != 9 || rep.CheckAudit() != nil {
			t.Errorf("%+v, %v", rep, err)
		}
		entries, err := List(t.Context(), b.client)
		if err != nil || len(entries) != 1 || !entries[0].ClosedLoop {
			t.Errorf("%+v, %v", entries, err)
		}
	})
}
