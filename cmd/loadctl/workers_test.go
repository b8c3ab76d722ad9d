package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer/lease"
)

func zed(name string) redis.Z { return redis.Z{Score: 1, Member: name} }

// TestRemoveWorkers: each worker is reported, and one that cannot be removed does not keep the others.
func TestRemoveWorkers(t *testing.T) {
	l := newLab(t)
	l.start()
	for _, id := range []string{"a", "b"} {
		(&lab{T: t, run: l.run, holder: lease.NewHolder(id, "i"+id, 1), redis: l.redis}).renew()
	}
	refused(t, []string{"workers", "rm", "x", "c"}, "remove worker c of run x: there is no such worker; there are a, b, w")
	// a called just now, however long the next commands take.
	due := run.KeysOf("x").Due
	later := func(d time.Duration) {
		for _, name := range l.redis.Client().ZRange(t.Context(), due, 0, -1).Val() {
			if id, _, _ := strings.Cut(name, "/"); id == "a" {
				l.redis.Client().ZIncrBy(t.Context(), due, float64(d.Microseconds()), name)
			}
		}
	}
	later(time.Hour)
	refused(t, []string{"workers", "rm", "x", "a"}, "remove worker a of run x: it may be alive: heard of 0.0 s ago; if it is dead, try again in 2 s, or --force")
	refused(t, []string{"workers", "rm", "x", "a", "-o", "json"}, "it may be alive")
	later(-time.Hour)
	stdout, stderr, code := execute("workers", "rm", "x", "a", "c", "b", "--force") // all are silent from now on
	if code != cli.CodeConfig || !strings.HasPrefix(stdout, "x: a removed; it was last heard of at ") || !strings.Contains(stdout, "\nx: b removed; ") ||
		!strings.HasPrefix(stderr, "error: remove worker c of run x: there is no such worker") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if stdout, stderr, code = execute("workers", "rm", "x", "a"); code != cli.CodeGood || stdout != "x: a had already gone, as removed\n" || stderr != "" {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	stdout, stderr, code = execute("workers", "rm", "x", "b", "w", "--force", "-o", "json")
	var those []run.Worker
	if err := json.Unmarshal([]byte(stdout), &those); err != nil || code != cli.CodeGood || stderr != "" || len(those) != 2 ||
		those[0].ID != "b" || those[1].ID != "w" || those[0].State != "removed" || those[1].State != "removed" {
		t.Errorf("exit code %d, %v, %q, %q", code, err, stdout, stderr)
	}
	if s, err := l.run.State(t.Context()); err != nil || s.Members != 0 {
		t.Errorf("%d members, %v", s.Members, err)
	}
}

// TestRunCalledRemove: a run may be named like the subcommand of workers.
func TestRunCalledRemove(t *testing.T) {
	l := newLab(t)
	if _, _, err := run.Create(t.Context(), l.redis.Client(), "rm", l.run.Spec, run.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"workers", "--", "rm"}, {"workers", "-o", "text", "--", "rm"}} {
		if stdout, stderr, code := execute(line...); code != cli.CodeGood || !strings.HasPrefix(stdout, "WORKER ") || strings.Count(stdout, "\n") != 1 {
			t.Errorf("%q: exit code %d, %q, %q", line, code, stdout, stderr)
		}
	}
	refused(t, []string{"workers", "rm", "rm", "w"}, "remove worker w of run rm: there is no such worker; none has joined yet")
}

// TestStatusIsASignOfLife: status counts as a sign of life.
func TestStatusIsASignOfLife(t *testing.T) {
	l := newLab(t)
	called := func(name string) string {
		b, err := lua.Core(l.redis.Client().HGet(t.Context(), run.KeysOf(name).Budget, "core").Val())
		if err != nil {
			t.Fatal(err)
		}
		return b["controllerAt"]
	}
	spec := l.run.Spec
	spec.Deadman = 30 * time.Second
	y, _, err := run.Create(t.Context(), l.redis.Client(), "y", spec, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.start()
	(&lab{T: t, run: y, holder: lease.NewHolder("w", "i", 1), redis: l.redis}).start()
	for name, counts := range map[string]bool{"x": false, "y": true} {
		before := called(name)
		if _, stderr, code := execute("status", name); code != cli.CodeGood || stderr != "" {
			t.Errorf("exit code %d, %q", code, stderr)
		}
		if after := called(name); (after != before) != counts {
			t.Errorf("%s: a controller called at %q, before at %q", name, after, before)
		}
	}
}
