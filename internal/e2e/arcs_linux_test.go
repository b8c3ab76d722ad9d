package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"

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

// TestArcsAreExact: workers that lease arcs send each slot once, whatever their number and the profile.
func TestArcsAreExact(t *testing.T) {
	besides(t)
	b := newBed(t)
	for _, c := range []struct {
		workers int
		args    []string
		want    int64
	}{
		{1, []string{"--qps", "500", "--duration", "2s"}, 1000},
		{3, []string{"--qps", "3000", "--duration", scale("3s", "20s")}, scale[int64](9000, 60_000)},
		{12, []string{"--qps", "60", "--duration", scale("3s", "20s")}, scale[int64](180, 1200)},
		{2, fiveStages(), 2889},
		{2, []string{"--qps", "30/1m", "-n", "2"}, 2},
		{3, []string{"--qps", "1000", "-n", "1501"}, 1501},
	} {
		name := fmt.Sprintf("arcs-%d-%d", c.workers, c.want)
		t.Run(name, func(t *testing.T) {
			b := &bed{t: t, redis: b.redis, web: b.web}
			b.web.Reset()
			for _, p := range b.fleet(c.workers, name, append(patient(), c.args...)...) {
				p.wait(0)
			}
			b.sound(name, c.want)
		})
	}
}

// TestArcsOutlastAnOutage: during an outage of Redis workers send what they were promised, and nothing twice.
func TestArcsOutlastAnOutage(t *testing.T) {
	b := newBed(t)
	ps := b.fleet(3, "outage", append(patient(), "--qps", "600", "--duration", "14s")...)
	b.started(600)
	b.redis.Pause()
	b.started(4200) // 6 s later
	b.redis.Resume()
	for _, p := range ps {
		p.wait(0)
	}
	r := b.sound("outage", 8400)
	for _, p := range r.Series {
		if p.Sent < p.Asked*9/10 {
			t.Errorf("second %d: %d sent of %d", p.T, p.Sent, p.Asked)
		}
	}
}

// TestArcsMove: the fleet and the rate change. Nothing is lost, and nothing is sent that was not asked for.
func TestArcsMove(t *testing.T) {
	b := newBed(t)
	args := append(patient(), "--url", b.web.URL(), "--qps", "300")
	one, two := b.worker("move", args...), b.worker("move", args...)
	b.started(300)
	three := b.worker("move", args...)
	b.members("move", 3)
	b.change("set-rate", "move", "900")
	b.started(1500)
	one.signal(syscall.SIGINT)
	one.wait(105) // it was interrupted
	b.change("pause", "move")
	still := b.web.Count()
	time.Sleep(300 * time.Millisecond)
	if n := b.web.Count() - still; n > 30 { // some requests are on their way
		t.Errorf("%d requests arrived in a pause", n)
	}
	b.change("resume", "move")
	b.started(still + 900)
	b.change("stop", "move")
	two.wait(0)
	three.wait(0)
	r := b.sound("move", 0)
	// If this machine is busy and a renewal comes late, some slots belong to nobody.
	a, slack := r.Audit, scale[int64](60, 0)
	if len(r.Workers) != 3 || a.LateDropped+a.Lost != 0 || a.Skipped > slack || a.Asked != a.Sent+a.Skipped {
		t.Errorf("%+v", a)
	}
}
