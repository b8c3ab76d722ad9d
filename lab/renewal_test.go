//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/targets"
)

// TestCallAll checks that calls count only while the run goes on.
func TestCallAll(t *testing.T) {
	redis, err := startRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer redis.stop()
	server := func(name string, least int64) lease.Server {
		r, _, err := run.Create(t.Context(), redis.client, name, spec.Spec{
			Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(20_000), MaxLag: time.Second, CatchUp: time.Second, MinWorkers: least,
		}, run.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Leases(redis.client)
	}
	if got, err := callAll(server("begun", 1), 4, 200*time.Millisecond); err != nil || got.Calls == 0 {
		t.Errorf("%d calls, %v", got.Calls, err)
	}
	if got, err := callAll(server("waiting", 1_000), 4, 200*time.Millisecond); err == nil || !strings.Contains(err.Error(), "not begun") {
		t.Errorf("of a run that waits for more members: %d calls, %v", got.Calls, err)
	}
}
