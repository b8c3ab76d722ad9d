package main

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/spec"
)

// TestStopAllOnAFullServer: each run is stopped, the advice on memory appears once, and a dead worker can be removed in
// the meantime.
func TestStopAllOnAFullServer(t *testing.T) {
	s := newSeveral(t, spec.LossHold)
	if err := s.redis.Client().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := execute("workers", "rm", "silent", "w", "--force"); code != cli.CodeGood || !strings.Contains(stdout, "silent: w removed") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	_, stderr, code := execute("stop", "--all", "--yes")
	if code != cli.CodeGood || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "raise its maxmemory (CONFIG SET maxmemory BYTES), or remove ended runs with loadctl rm") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	if phases := s.phases(); phases != "stopped stopped stopped" {
		t.Error(phases)
	}
	for _, name := range []string{"over", "silent", "waits"} {
		if _, stderr, code := execute("rm", name); code != cli.CodeGood {
			t.Errorf("rm %s: exit code %d, %q", name, code, stderr)
		}
	}
}
