package main

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

// TestDebug asserts that debug names each part of the state, of a live run and of a damaged one, and shows no secret.
func TestDebug(t *testing.T) {
	l := newLab(t)
	refused(t, []string{"debug", "nowhere"}, "run nowhere: ")
	refused(t, []string{"debug", "a b"}, `run "a b"`)
	l.start()
	show := func(wanted ...string) {
		t.Helper()
		stdout, stderr, code := execute("debug", "x")
		if code != cli.CodeGood || stderr != "" {
			t.Fatalf("exit code %d, %q", code, stderr)
		}
		for _, want := range wanted {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q is missing in\n%s", want, stdout)
			}
		}
		for _, never := range []string{"\x1b", "noop:", "\x00"} {
			if strings.Contains(stdout, never) {
				t.Errorf("%q is in\n%s", never, stdout)
			}
		}
	}
	show("budget\n", "  uid  ", "  core.hold ", "how long a lease is", "workers\n", "incarnation ", "    holds  [0, 16777216) from law ", "    target [0, 16777216)",
		"due\n", "byload\n", "unowned\n", "laws\n", "  id 1", " r0 ", "log\n", " slot 0: no member")

	keys, redis := run.KeysOf("x"), l.redis.Client()
	redis.HSet(t.Context(), keys.Budget, "core", "few", "note\x1b[2J", "\x1b[31mred")
	redis.HSet(t.Context(), keys.Workers, "broken", "few")
	redis.Del(t.Context(), keys.Due)
	redis.Set(t.Context(), keys.Due, "a string", 0)
	redis.HSet(t.Context(), keys.Laws, "1", "few")
	show("core: 3 bytes are not its numbers", "  broken cannot be read: ", "due\n  cannot be read: WRONGTYPE", "red", "laws\n  cannot be read: not written by this version", "log\n")
}
