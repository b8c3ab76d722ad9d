package e2e

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// answerTime is the service time of the server in these tests: it and the connections bound the rate, not the machine.
const answerTime = 5 * time.Millisecond

// newSlowBed is newBed with a server that takes its time.
func newSlowBed(t *testing.T) *bed {
	t.Helper()
	web, err := arrivals.Start(arrivals.Options{Latency: answerTime})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	return &bed{t: t, redis: redistest.Start(t), web: web}
}

// circling returns the flags of a closed loop.
func (b *bed) circling(more ...string) []string {
	return append([]string{"--url", b.web.URL(), "--qps", "max", "--max-connections", "8", "--no-check"}, more...)
}

// circled checks the report of a closed loop in which all was answered. stood is what its notes say about standing
// still; "" if it did not.
func (b *bed) circled(r report.Report, stood string) {
	b.t.Helper()
	n, a := b.web.Count(), r.Audit
	if a.Sent != n || a.Completed != n || n == 0 || !r.ClosedLoop || !r.Complete || r.Running {
		b.t.Errorf("%d arrived, %+v, closed loop %v, complete %v %v", n, a, r.ClosedLoop, r.Complete, r.Notes)
	}
	if r.Asked != 0 || r.TargetRate != 0 || a.Issued != 0 || a.InFlight != 0 {
		b.t.Errorf("asked %d at %v, %+v", r.Asked, r.TargetRate, a)
	}
	if r.Lag != (record.Distribution{}) || r.Latency != r.ServiceTime || r.Latency.Min < int64(answerTime) {
		b.t.Errorf("lag %+v, latency %+v, service time %+v", r.Lag, r.Latency, r.ServiceTime)
	}
	var sent int64
	for _, p := range r.Series {
		sent += p.Sent
	}
	if sent != n {
		b.t.Errorf("the series adds up to %d of %d", sent, n)
	}
	notes := []string{"closed loop: "}
	if stood != "" {
		notes = append(notes, stood)
	}
	if len(r.Notes) != len(notes) {
		b.t.Fatalf("notes %q, want %q", r.Notes, notes)
	}
	for i, want := range notes {
		if !strings.HasPrefix(r.Notes[i], want) {
			b.t.Errorf("note %q, want %q", r.Notes[i], want)
		}
	}
}

// TestMax: two workers send as fast as their connections allow, from t0 to the end, which in acceptance is the planned
// one; the report has exactly the arrivals.
func TestMax(t *testing.T) {
	besides(t)
	b := newSlowBed(t)
	args := b.circling("--duration", scale("0", "2s"), "--min-workers", "2")
	ps := []*process{b.worker("x", args...), b.worker("x", args...)}
	full := func(w report.WorkerReport) bool { return w.Sent > 0 && w.MostInFlight == 8 }
	if !acceptance() {
		b.started(1)
		await.True(t, "requests on all connections of both", func() bool {
			ws := b.report("x").Workers
			return len(ws) == 2 && full(ws[0]) && full(ws[1])
		})
		b.loadctl("stop", "x")
	}
	for _, p := range ps {
		p.wait(0)
		if r := p.printed(); acceptance() || r.Complete { // the other one may be too slow for it
			b.circled(r, "")
		}
	}
	r := b.report("x")
	b.circled(r, "")
	// Unless the end was planned, a slow worker receives it late.
	if most := int64(2 * 8 * (2*time.Second/answerTime + 1)); acceptance() && r.Audit.Sent > most || b.web.Connections() > 16 {
		t.Errorf("%d sent on %d connections, which carry %d", r.Audit.Sent, b.web.Connections(), most)
	}
	for _, w := range r.Workers {
		if !full(w) || w.State != scale("stopped", "left") {
			t.Errorf("%+v", w)
		}
	}
	const clocks = time.Millisecond // of Redis, of the workers and of the server, on a quiet machine
	for _, at := range b.web.Arrivals() {
		if since := time.Unix(0, at).Sub(r.StartedAt); acceptance() && since < -clocks {
			t.Fatalf("a request arrived %v before t0", -since)
		}
	}
	for _, want := range []string{"asked       max          as fast as it goes (closed loop) over 16 connections\n", "\naudit       sent ", "\nnote        closed loop: "} {
		if text := b.loadctl("report", "x"); !strings.Contains(text, want) || strings.Contains(text, "\nlag ") {
			t.Errorf("the report does not say %q:\n%s", want, text)
		}
	}
}

// TestMaxIsOperated: an operator creates the run, guests join, and it is paused, resumed and stopped, not set to a
// rate.
func TestMaxIsOperated(t *testing.T) {
	nightly(t)
	besides(t)
	b := newSlowBed(t)
	op := b.operator("run", "x", "--url", b.web.URL(), "--qps", "max", "--min-workers", "2", "-o", "json")
	ps := []*process{b.guest("x", "--max-connections", "4"), b.guest("x", "--max-connections", "4")}
	op.says("x: max  sent ")
	b.started(200)
	paused := b.change("pause", "x")
	if _, says, code := b.try("set-rate", "x", "500"); code != 104 ||
		says != "error: set-rate x: the run goes as fast as it can (--qps max): it has no rate to change; pause or stop it\n" {
		t.Errorf("%d: %s", code, says)
	}
	b.quiet("x", b.web.Count)
	stood := b.web.Count()
	b.quiet("x", b.web.Count)
	if n := b.web.Count(); n != stood {
		t.Errorf("%d requests arrived in the pause", n-stood)
	}
	resumed := b.change("resume", "x")
	b.started(stood + 200)
	if text := b.loadctl("status", "x"); !strings.Contains(text, "max: as fast as it goes (closed loop)\n") || strings.Contains(text, "asked") {
		t.Error(text)
	}
	var shown []struct {
		Run        string
		ClosedLoop bool `json:"closed_loop"`
	}
	if err := json.Unmarshal([]byte(b.loadctl("ls", "-o", "json")), &shown); err != nil || len(shown) != 1 || !shown[0].ClosedLoop {
		t.Errorf("%+v, %v", shown, err)
	}
	stopped := b.change("stop", "x")
	for _, p := range append(ps, op) {
		p.wait(0)
		b.circled(p.printed(), "paused for ")
	}
	if !acceptance() {
		return
	}
	grace := 50*time.Millisecond + time.Duration(b.report("x").Latency.Max) // requests sent before may arrive later
	for _, at := range b.web.Arrivals() {
		when := time.Unix(0, at)
		if when.After(paused.At.Add(grace)) && when.Before(resumed.At.Add(-time.Millisecond)) {
			t.Fatalf("a request arrived %v after the pause and %v before the resumption", when.Sub(paused.At), resumed.At.Sub(when))
		}
		if when.After(stopped.At.Add(grace)) {
			t.Fatalf("a request arrived %v after the stop", when.Sub(stopped.At))
		}
	}
}

// TestMaxAlone: one worker is enough; Ctrl-C ends it with a report.
func TestMaxAlone(t *testing.T) {
	nightly(t)
	besides(t)
	b := newSlowBed(t)
	e := &embedded{bed: b}
	p := e.host(b.circling(private(t))...)
	b.started(100)
	p.signal(syscall.SIGINT)
	p.wait(105)
	r := p.printed()
	if !r.Running || r.Complete {
		t.Errorf("running %v, complete %v: others may go on with it", r.Running, r.Complete)
	}
	r.Running, r.Complete = false, true
	b.circled(r, "")
}

// TestMaxKilled: the report says that the counts of a killed worker since its last snapshot are missing; the other
// worker goes on.
func TestMaxKilled(t *testing.T) {
	nightly(t)
	besides(t)
	b := newSlowBed(t)
	args := b.circling("--min-workers", "2", "--permit-for", "2s")
	dies, stays := b.worker("x", append(args, "--id", "dead")...), b.worker("x", args...)
	b.started(1) // there is a run to report on
	await.True(t, "a snapshot of both", func() bool {
		r := b.report("x")
		return len(r.Workers) == 2 && r.Workers[0].Sent > 0 && r.Workers[1].Sent > 0
	})
	dies.signal(syscall.SIGKILL)
	<-dies.Exited
	killed := b.web.Count()
	b.started(2*killed + 100)
	await.True(t, "the end of its lease", func() bool { return b.dead("x").State == "lost" })
	b.loadctl("stop", "x")
	stays.wait(0)
	r := b.report("x")
	n, a := b.web.Count(), r.Audit
	if a.Sent > n || a.Sent < n-killed || r.Complete || b.dead("x").State != "lost" {
		t.Errorf("%d arrived, %+v, complete %v, %+v", n, a, r.Complete, b.dead("x"))
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "worker dead: its final snapshot is missing") {
		t.Error(notes)
	}
}

// TestMaxWithoutRedis: while Redis is away a closed loop goes on for --permit-for, waits, and continues when Redis is
// back.
func TestMaxWithoutRedis(t *testing.T) {
	nightly(t)
	besides(t)
	b := newSlowBed(t)
	const permit = 10 * time.Second // nothing delays a worker by as much
	p := b.worker("x", b.circling("--permit-for", permit.String())...)
	b.started(200)
	b.redis.Pause()
	frozen := time.Now()
	await.True(t, "two periods without Redis", func() bool { return time.Since(frozen) > time.Second })
	b.started(b.web.Count() + 50)
	await.True(t, "the end of the permit", func() bool { return time.Since(frozen) > permit+500*time.Millisecond })
	stood := b.web.Count()
	await.True(t, "a while without a request", func() bool { return time.Since(frozen) > permit+1500*time.Millisecond })
	if n := b.web.Count(); n > stood+scale[int64](8, 0) { // each connection may have one that is on its way for long
		t.Errorf("%d arrived after the permit", n-stood)
	}
	b.redis.Resume()
	b.started(stood + 200)
	b.loadctl("stop", "x")
	p.wait(0)
	b.circled(b.report("x"), "a worker sent nothing for about ")
}

// TestMaxRefused: settings that need a rate, and workers that accept only runs with a rate.
func TestMaxRefused(t *testing.T) {
	nightly(t)
	besides(t)
	b := newSlowBed(t)
	b.loadctl("create", "x", "--url", b.web.URL(), "--qps", "max")
	p := b.worker("x", "--allow-any", "--max-qps", "2k")
	p.wait(104)
	if s := p.Stderr.String(); s != "error: run x: it is a closed loop, without a rate, but this worker accepts at most 2000/s (--max-qps); "+
		"to join anyway, leave --max-qps out; nothing was sent\n" {
		t.Error(s)
	}
	if _, says, code := b.try("create", "x", "--url", b.web.URL(), "--qps", "500"); code != 104 || !strings.Contains(says, "qps: max there, 500 here") {
		t.Errorf("%d: %s", code, says)
	}
	if n := b.web.Count(); n != 0 {
		t.Errorf("%d arrived", n)
	}
}
