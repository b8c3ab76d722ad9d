package e2e

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
)

// sound compares the report of a run with the arrivals: the counts agree and add up.
func (b *bed) sound(name string, asked int64) report.Report {
	b.t.Helper()
	r, arrived := b.report(name), b.web.Count()
	if r.Audit.Sent != arrived || asked > 0 && arrived != asked || !r.Complete {
		b.t.Errorf("%s: %d arrived, want %d; %+v, complete %v %v", name, arrived, asked, r.Audit, r.Complete, r.Notes)
	}
	return r
}

// TestRangesAreExact: workers that lease arcs send each slot once, whatever their number and the profile.
func TestRangesAreExact(t *testing.T) {
	besides(t)
	b := newBed(t)
	for _, c := range []struct {
		workers int
		args    []string
		want    int64
		nightly bool
	}{
		{1, []string{"--qps", "500", "--duration", scale("1s", "2s")}, scale[int64](500, 1000), false},
		{3, []string{"--qps", "3000", "--duration", scale("2s", "20s")}, scale[int64](6000, 60_000), true},
		{scale(8, 12), []string{"--qps", "60", "--duration", scale("1s", "20s")}, scale[int64](60, 1200), false},
		{2, fiveStages(), 2889, false},
		{2, []string{"--qps", "30/1m", "-n", "2"}, 2, false},
		{3, []string{"--qps", "1000", "-n", "1501"}, 1501, false},
	} {
		if c.nightly && testing.Short() {
			continue
		}
		name := fmt.Sprintf("arcs-%d-%d", c.workers, c.want)
		t.Run(name, func(t *testing.T) {
			besides(t)
			b := &bed{t: t, redis: b.redis, web: serve(t, arrivals.Options{})}
			for _, p := range b.fleet(c.workers, name, append(unhurried(), c.args...)...) {
				p.wait(0)
			}
			b.sound(name, c.want)
		})
	}
}

// TestRangesOutlastAnOutage: during an outage of Redis workers send what they were leased: nothing is left out, and
// nothing is sent twice.
func TestRangesOutlastAnOutage(t *testing.T) {
	besides(t)
	var o ordinals
	b := &bed{t: t, redis: redistest.Start(t)}
	args := append(unhurried(), "--url", "http://"+o.serve(t)+"/${ordinal}", "--qps", scale("200", "600"), "--min-workers", "3")
	if !acceptance() { // on a slow machine the outage may take longer than the usual 10 s
		args = append(args, "--permit-for", "10m")
	}
	ps := []*process{b.worker("outage", args...), b.worker("outage", args...), b.worker("outage", args...)}
	more := func(n int64) {
		until := o.count() + n
		await.True(t, fmt.Sprint(until, " arrivals"), func() bool { return o.count() >= until })
	}
	more(scale[int64](100, 600))
	b.redis.Pause()
	more(scale[int64](400, 3600)) // 2 s, or 6
	b.redis.Resume()
	more(scale[int64](100, 3600))
	b.loadctl("stop", "outage")
	for _, p := range ps {
		p.wait(0)
	}
	r := b.report("outage")
	o.mu.Lock()
	defer o.mu.Unlock()
	for n, times := range o.seen {
		if times > 1 {
			t.Errorf("number %d arrived %d times", n, times)
		}
	}
	// A stop drops what is late. A slow worker receives it late.
	a := r.Audit
	if o.all != written(r) || a.Skipped+a.Lost > 0 || a.Sent+a.LateDropped != a.Asked+a.Overrun || !r.Complete || acceptance() && a.LateDropped+a.Overrun > 0 {
		t.Errorf("%d arrived, %+v, complete %v %v", o.all, a, r.Complete, r.Notes)
	}
	for _, p := range r.Series {
		if acceptance() && p.Sent < p.Asked*9/10 {
			t.Errorf("second %d: %d sent of %d", p.T, p.Sent, p.Asked)
		}
	}
}

// TestRangesMove: the fleet and the rate change. Nothing is lost, and nothing is sent that was not asked for.
func TestRangesMove(t *testing.T) {
	besides(t)
	b := newBed(t)
	args := append(unhurried(), "--url", b.web.URL(), "--qps", scale("100", "300"))
	one, two := b.worker("move", args...), b.worker("move", args...)
	b.started(50)
	three := b.worker("move", args...)
	b.members("move", 3)
	b.change("set-rate", "move", scale("300", "900"))
	b.started(b.web.Count() + 150)
	one.signal(syscall.SIGINT)
	one.wait(105) // it was interrupted
	b.change("pause", "move")
	still := b.still("move")
	b.change("resume", "move")
	b.started(still + 150)
	b.change("stop", "move")
	two.wait(0)
	three.wait(0)
	r := b.report("move")
	// On a slow machine some slots belong to nobody when one hands over, some are late at the stop, and a worker receives
	// a change late.
	a := r.Audit
	if len(r.Workers) != 3 || b.web.Count() != written(r) || a.Lost != 0 || a.Asked+a.Overrun != a.Sent+a.Skipped+a.LateDropped || !r.Complete {
		t.Errorf("%d arrived, %+v, complete %v %v", b.web.Count(), a, r.Complete, r.Notes)
	}
	if acceptance() && a.Overrun+a.Skipped+a.LateDropped > 0 {
		t.Errorf("%+v", a)
	}
}
