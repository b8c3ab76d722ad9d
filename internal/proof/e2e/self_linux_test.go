package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// TestWhoseLimit: one rate is too much for a worker with part of a core, and for a slow endpoint over few connections.
// On a quiet machine the reports say which of them was the limit. report/record tests how they decide.
func TestWhoseLimit(t *testing.T) {
	nightly(t)
	besides(t)
	load := []string{"--qps", scale("2k", "60k"), "--duration", scale("1s", "4s"), "--id", "w1"}
	t.Run("generator", func(t *testing.T) {
		if !acceptance() {
			t.Skip("make acceptance runs it: it needs processes that compete for a core")
		}
		b := newBed(t)
		for range 4 {
			onFirstCore(t, exec.Command("sh", "-c", "ulimit -t 60; while :; do :; done"))
		}
		cmd := exec.Command(filepath.Join(binaries, "loadworker"), append([]string{"run", "--run", "generator", "--url", b.web.URL()}, load...)...)
		cmd.Env = append(os.Environ(), "LOADCTL_REDIS="+b.redis.URL())
		worker := onFirstCore(t, cmd)
		worker.wait(0)
		w := b.limits("generator")
		if w.Self.Cores != 1 || w.Self.MeasuredS < 3 || !limited(w, "generator") || limited(w, "endpoint") {
			t.Errorf("%+v", w)
		}
	})
	t.Run("endpoint", func(t *testing.T) {
		b := newBed(t)
		slow, err := arrivals.Start(arrivals.Options{Latency: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		b.worker("endpoint", append(load, "--url", slow.URL(), "--max-connections", "4")...).wait(0)
		w := b.limits("endpoint")
		if acceptance() && (!limited(w, "endpoint") || limited(w, "generator")) {
			t.Errorf("%+v", w)
		}
		if w.Busy < w.Sent || w.LateDropped == 0 {
			t.Errorf("of %d requests over 4 connections %d slots found none free", w.Sent, w.Busy)
		}
	})
}

// limits returns what the report says about the only worker of a run.
func (b *bed) limits(run string) report.WorkerReport {
	b.t.Helper()
	workers := b.report(run).Workers
	if len(workers) != 1 {
		b.t.Fatalf("%d workers", len(workers))
	}
	for _, v := range workers[0].Verdicts {
		b.t.Logf("%s/%s: %s", v.Limit, v.Cause, v.Text)
	}
	for _, name := range []string{"cpu", "wait", "shard_cpu", "shard_wait", "gc_pause", "steal", "demand"} {
		l, ok := workers[0].Self.Load[name]
		if !ok || l.Mean < 0 || l.Worst < l.Mean {
			b.t.Errorf("%s: %+v", name, l)
		}
	}
	return workers[0]
}

// TestWhoseLimitAClosedLoopWas: the report names a slow endpoint over few connections as the limit. If a target does
// not connect, the report names no endpoint.
func TestWhoseLimitAClosedLoopWas(t *testing.T) {
	nightly(t)
	besides(t)
	b := newSlowBed(t)
	b.worker("few", b.circling("--duration", "3s")...).wait(0)
	if w := b.limits("few"); w.MostInFlight != 8 || !limited(w, "endpoint") && acceptance() { // otherwise the machine is busy
		t.Errorf("%+v", w)
	}
	b.worker("none", "--url", "noop://?latency=5ms", "--qps", "max", "--max-connections", "8", "--duration", "2s").wait(0)
	b.worker("slots", "--url", "noop://?latency=50ms", "--qps", "2k", "--max-connections", "2", "--duration", "2s").wait(0)
	for _, run := range []string{"none", "slots"} {
		if w := b.report(run).Workers[0]; w.MostInFlight != 0 || w.Busy != 0 || limited(w, "endpoint") {
			t.Errorf("%s: %+v", run, w)
		}
	}
}

func limited(w report.WorkerReport, by string) bool {
	return slices.ContainsFunc(w.Verdicts, func(v record.Verdict) bool { return v.Limit == by })
}

// onFirstCore starts a process on one core, the first that this one may use. It ends with the test.
func onFirstCore(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	return begin(t, cmd, keepFirstCore) // the child inherits the cores of the thread that starts it
}

// keepFirstCore leaves the calling thread one core.
func keepFirstCore() error {
	var all, first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return fmt.Errorf("read cores: %w", err)
	}
	core := 0
	for !all.IsSet(core) {
		core++
	}
	first.Set(core)
	return unix.SchedSetaffinity(0, &first)
}
