//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// Only calls that are answered with a lease count.
func TestCallAll(t *testing.T) {
	server, err := startRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.stop()
	limiter := func(name string, least int64) pacer.Limiter {
		r, _, err := run.Create(t.Context(), server.client, name, run.Spec{
			Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(20_000), MaxLag: time.Second, CatchUp: time.Second, MinWorkers: least,
		}, run.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Limiter(server.client)
	}
	if got, err := callAll(limiter("begun", 1), 4, 200*time.Millisecond); err != nil || got.Calls == 0 {
		t.Errorf("%d calls, %v", got.Calls, err)
	}
	if got, err := callAll(limiter("waiting", 1_000), 4, 200*time.Millisecond); err == nil || !strings.Contains(err.Error(), "WAIT") {
		t.Errorf("of a run that waits for more members: %d calls, %v", got.Calls, err)
	}
}
