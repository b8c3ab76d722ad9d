//go:build linux

package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	tested "github.com/loadctl/loadctl/internal/proof/commands"
)

// TestCrowd checks that workers in one process take part in a run, and that renewals and snapshots are counted apart.
func TestCrowd(t *testing.T) {
	server, err := startRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.stop()
	for name, silent := range map[string]bool{"publishing": false, "silent": true} {
		runs := 0
		await.True(t, name+": a measurement with calls of each kind", func() bool { // a slow machine may make none meanwhile
			runs++
			c := crowd{redis: server.url(), server: server.pid(), name: fmt.Sprint(name, runs), workers: 3, silent: silent,
				lasting: 4 * time.Second, warm: 500 * time.Millisecond, late: time.Hour}
			got, err := c.run(t.Context(), server.client)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got.Workers != 3 || silent && got.Snapshots > 0 {
				t.Fatalf("%s: %+v", name, got)
			}
			return got.Renewals > 0 && got.CPU > 0 && got.Inside > 0 && (silent || got.Snapshots > 0)
		})
	}
}

// TestCrowdThatCannotBegin checks that crowd.run returns an error instead of waiting for workers that have failed.
func TestCrowdThatCannotBegin(t *testing.T) {
	server, err := startRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.stop()
	c := crowd{redis: "nowhere", server: server.pid(), name: "vain", workers: 3, lasting: time.Second}
	if _, err := c.run(t.Context(), server.client); err == nil || !strings.Contains(err.Error(), "Redis URL") {
		t.Errorf("the workers have no Redis: %v", err)
	}
}

// TestTeamTable checks that processes without a peer are not compared, and that the CPU of Redis counts as a cost of
// requests.
func TestTeamTable(t *testing.T) {
	team := func(client, redis time.Duration) []*outcome {
		return []*outcome{{used: used{client: client, redis: redis}, window: make([]int64, 1000), took: time.Second}}
	}
	alone := &section{}
	teamTable(alone, contest[*outcome]{{"100 processes", team(time.Second, 0)}})
	if got := alone.render(); strings.Contains(got, "×") || !strings.Contains(got, "| 1000.0 |") {
		t.Errorf("of 100 processes alone\n%s", got)
	}
	beside := &section{}
	teamTable(beside, contest[*outcome]{
		{"1 process", team(18*time.Millisecond, 2*time.Millisecond)}, {"4 processes", team(20*time.Millisecond, 10*time.Millisecond)},
	})
	if got := beside.render(); !strings.Contains(got, "| 20.0 | 1.00 × |") || !strings.Contains(got, "| 30.0 | 1.50 × |") {
		t.Errorf("of 4 processes beside one\n%s", got)
	}
	four, one := team(24*time.Millisecond, 6*time.Millisecond), team(16*time.Millisecond, 4*time.Millisecond)
	if got := paired(append(four, four...), one, (*outcome).micros); len(got) != 1 || got[0] != 1.5 {
		t.Errorf("4 processes cost %v times as much as one, want 1.5", got)
	}
	four, one = team(24*time.Millisecond, 6*time.Millisecond), team(12*time.Millisecond, time.Millisecond)
	if got := paired(four, one, (*outcome).clientMicros); len(got) != 1 || got[0] != 2 {
		t.Errorf("without Redis 4 processes cost %v times as much as one, want 2", got)
	}
}

func TestPaceOfAFleet(t *testing.T) {
	for workers, want := range map[int]float64{1: 2, 50: 100, 80: 100, 100: 100, 1000: 1000} {
		if got := renewing(workers); math.Abs(got-want) > 1 {
			t.Errorf("%d workers renew %.1f times a second, want %.1f", workers, got, want)
		}
	}
	for perSecond, sound := range map[float64]bool{75: false, 95: true, 100: true, 106: true, 135: false} {
		if err := onTime(perSecond, 100, renewing(100)); (err == nil) != sound {
			t.Errorf("%.0f calls/s of 100 workers: %v", perSecond, err)
		}
	}
}

// TestThrong checks that a small throng takes commands, is read and survives an outage, and that it reports each
// figure.
func TestThrong(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it runs a throng")
	}
	dir := t.TempDir()
	built, err := tested.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer built.Remove()
	server, err := startRedis(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer server.stop()
	c := newThrong()
	c.crowd = crowd{redis: server.url(), server: server.pid(), name: "throng", workers: 5, lasting: 2 * time.Second, warm: 500 * time.Millisecond}
	c.rate, c.changes, c.loadctl = 100, 1, filepath.Join(built.Dir, "loadctl")
	got, err := c.run(t.Context(), server.client)
	if err != nil {
		t.Fatal(err)
	}
	for what, seconds := range map[string]float64{
		"begins": got.Begins, "set-rate": got.SetRate, "pause": got.Pause, "status": got.Status, "watch": got.Watch, "report": got.Report,
		"frozen": got.Frozen, "stop": got.Stop,
	} {
		if seconds <= 0 {
			t.Errorf("%s took %v s", what, seconds)
		}
	}
	if got.Workers != 5 || got.Memory <= 0 || got.CPU <= 0 || got.Steady.Asked == 0 || got.Sum.Asked <= got.Steady.Asked {
		t.Errorf("%+v", got)
	}
}
