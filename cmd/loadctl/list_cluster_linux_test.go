package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// onEach starts a cluster, named by LOADCTL_REDIS, with a run on each of its masters.
func onEach(t *testing.T) (c *redistest.Cluster, names map[*redistest.Server]string) {
	t.Helper()
	c, names = redistest.StartCluster(t, 3), map[*redistest.Server]string{}
	t.Setenv("LOADCTL_REDIS", c.URL())
	for len(names) < len(c.Masters) {
		name := run.NewID()
		names[c.Owner(t, run.KeysOf(name).Budget)] = name
	}
	for _, name := range names {
		if _, stderr, code := execute("create", name, "--url", "noop://", "--qps", "5"); code != cli.CodeGood || stderr != "" {
			t.Fatalf("exit code %d, %s", code, stderr)
		}
	}
	return c, names
}

// TestListAndStopWithoutAPart: one master is dead, but not the one that has the list of runs.
func TestListAndStopWithoutAPart(t *testing.T) {
	c, names := onEach(t)
	dead := c.Masters[(slices.Index(c.Masters, c.Owner(t, "load:runs"))+1)%3]
	dead.Kill()
	text, stderr, code := execute("ls")
	if code != cli.CodeOther || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "error: ls: 1 of 3 runs cannot be reached: open run "+names[dead]+": ") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); words[0] == names[dead] && strings.Join(words[1:5], " ") != "unreachable ? ? ?" {
			t.Error(line)
		}
	}
	for _, name := range names {
		if !strings.Contains(text, name) {
			t.Errorf("no %s in\n%s", name, text)
		}
	}
	document, _, code := execute("ls", "-o", "json")
	var list []run.Entry
	if err := json.Unmarshal([]byte(document), &list); err != nil || code != cli.CodeOther {
		t.Errorf("exit code %d, %v", code, err)
	}
	for _, e := range list {
		if (e.Phase == "unreachable") != (e.Run == names[dead]) {
			t.Errorf("%+v", e)
		}
	}
	text, stderr, code = execute("stop", "--all", "--yes")
	if code != cli.CodeOther || !strings.HasPrefix(stderr, "error: stop --all: 1 of 3 runs may still be sending: open run "+names[dead]+": ") ||
		strings.Count(text, ": stop in force from ") != 2 || !strings.Contains(text, names[dead]+": stop: not confirmed, it may still be sending\n") {
		t.Errorf("exit code %d, %s, %s", code, text, stderr)
	}
}

// TestCommandsWithoutTheList: commands that name a run work, and report problems with the list.
func TestCommandsWithoutTheList(t *testing.T) {
	c, names := onEach(t)
	list := c.Owner(t, "load:runs")
	list.Kill()
	delete(names, list)
	for _, args := range [][]string{{"ls"}, {"stop", "--all", "--yes"}} {
		if _, stderr, code := execute(args...); code != cli.CodeOther || strings.Count(stderr, "\n") != 1 ||
			!strings.HasPrefix(stderr, "error: list runs: ") || !strings.Contains(stderr, "commands that name a run work without it") {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
	for _, name := range names {
		if _, stderr, code := execute("rm", name); code != cli.CodeOther || strings.Count(stderr, "\n") != 1 ||
			!strings.HasPrefix(stderr, "error: remove run "+name+": the run is removed, but the list of runs still names it") {
			t.Errorf("rm: exit code %d, %s", code, stderr)
		}
		if _, stderr, code := execute("create", name, "--url", "noop://", "--qps", "5"); code != cli.CodeGood || strings.Count(stderr, "\n") != 1 ||
			!strings.HasPrefix(stderr, "warning: the list of runs could not be written, so loadctl ls and stop --all do not know run "+name+" until a worker joins: ") {
			t.Errorf("create: exit code %d, %s", code, stderr)
		}
		if _, stderr, code := execute("stop", name); code != cli.CodeGood || stderr != "" {
			t.Errorf("stop: exit code %d, %s", code, stderr)
		}
	}
}
