package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/watch/watchtest"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/targets"
)

// several is a private Redis with three runs: "waits", which no worker has joined; "silent", whose only worker is
// silent after its first calls; "over", which was stopped.
type several struct {
	*testing.T
	redis  *redistest.Server
	silent *lab
}

func newSeveral(t *testing.T, loss string) *several {
	t.Helper()
	s := &several{T: t, redis: redistest.Start(t)}
	t.Setenv("LOADCTL_REDIS", s.redis.URL())
	for _, name := range []string{"silent", "waits", "over"} {
		asked := spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(100), MaxLag: 100 * time.Millisecond, MinWorkers: 1, OnRedisLoss: loss}
		if loss == spec.LossPermit {
			asked.PermitFor = spec.MaxPermitFor // no test waits for its end
		}
		r, _, err := run.Create(t.Context(), s.redis.Client(), name, asked, run.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if name == "silent" {
			s.silent = &lab{T: t, run: r, holder: lease.NewHolder("w", "i", 1), redis: s.redis}
			s.silent.start()
		}
	}
	if _, stderr, code := execute("stop", "over"); code != cli.CodeGood {
		t.Fatal(stderr)
	}
	return s
}

// phases are the runs' phases, in the order of their names.
func (s *several) phases() string {
	s.Helper()
	var all []string
	for _, name := range []string{"over", "silent", "waits"} {
		r, err := run.Open(s.Context(), s.redis.Client(), name)
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, r.Phase)
	}
	return strings.Join(all, " ")
}

// TestStopAll: no run waits for another, each has its line, and runs that had ended stay unchanged.
func TestStopAll(t *testing.T) {
	s := newSeveral(t, spec.LossPermit)
	stop := launch("stop", "--all", "--yes")
	await.True(t, "one that is stopped and one that is waited for", func() bool {
		return stop.stdout.String() != "" && stop.stderr.String() != "" || len(stop.code) > 0
	})
	if stdout := stop.stdout.String(); strings.Count(stdout, "\n") != 1 || len(stop.code) > 0 {
		t.Errorf("while a worker may still send: %q", stdout)
	}
	s.silent.departs()
	code := await.Receive(t, "the end of the stop", stop.code)
	stdout, stderr := stop.stdout.String(), stop.stderr.String()
	lines := strings.Split(stdout, "\n")
	if code != cli.CodeGood || len(lines) != 3 || !strings.HasPrefix(lines[0], "waits: stop in force from ") || !strings.HasPrefix(lines[1], "silent: stop in force from ") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
	if !strings.HasPrefix(stderr, "silent: waiting for w: silent, its lease ends in ") || !strings.HasSuffix(stderr, " s (loadctl workers rm silent w if it is dead)\n") ||
		strings.Count(stderr, "\n") != 1 {
		t.Errorf("stderr %q", stderr)
	}
	if phases := s.phases(); phases != "stopped stopped stopped" {
		t.Error(phases)
	}
	for format, want := range map[string]string{"text": "no run to stop\n", "json": "[]\n"} {
		if stdout, stderr, code := execute("stop", "--all", "--yes", "-o", format); code != cli.CodeGood || stdout != want || stderr != "" {
			t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
		}
	}
}

// TestStopAllIsNotSure: runs that cannot be confirmed are named, and the others are stopped anyway.
func TestStopAllIsNotSure(t *testing.T) {
	s := newSeveral(t, spec.LossHold)
	if err := s.redis.Client().Set(t.Context(), run.KeysOf("foreign").Spec, "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.redis.Client().ZAdd(t.Context(), "load:runs", zed("foreign"))
	stdout, stderr, code := execute("stop", "--all", "--yes", "-o", "json")
	if code != cli.CodeOther || strings.Count(stderr, "error: ") != 1 || !strings.Contains(stderr, "error: stop --all: 2 of 3 runs may still be sending: ") ||
		!strings.Contains(stderr, "stop silent: cannot be confirmed for w: ") || !strings.Contains(stderr, "run foreign: its state in Redis is damaged") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if phases := s.phases(); phases != "stopped stopped stopped" {
		t.Error(phases)
	}
	var all []Stopped
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || len(all) != 3 {
		t.Fatalf("%v: %s", err, stdout)
	}
	for _, one := range all {
		sure := one.Run == "waits"
		if one.Confirmed != sure || (one.Error == "") != sure || one.Command != "stop" || one.Changed != (one.Run != "foreign") {
			t.Errorf("%+v", one)
		}
	}
	schemaOfAll(t, stdout)
	stdout, stderr, code = execute("stop", "silent")
	if code != cli.CodeOther || stdout != "" || !strings.Contains(stderr, "error: stop silent: cannot be confirmed for w: it does not answer") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

// schemaOfAll checks the output of stop --all against its schema, which allows no other members.
func schemaOfAll(t *testing.T, text string) {
	t.Helper()
	path, err := filepath.Abs("../../docs/schema/change.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile("file://" + path + "#/$defs/all")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Error(err)
	}
	for _, one := range doc.([]any) {
		for name := range one.(map[string]any) {
			if schema.Items2020.Properties[name] == nil {
				t.Errorf("the schema does not tell of %s", name)
			}
		}
	}
	if schema.Validate([]any{map[string]any{"run": "x"}}) == nil {
		t.Error("the schema takes half of it")
	}
}

// TestStopAllAsks on a terminal, and only there.
func TestStopAllAsks(t *testing.T) {
	s := newSeveral(t, spec.LossStop)
	refused(t, []string{"stop", "--all"}, "stop --all: there is no terminal to ask on; give --yes if all runs are to be stopped")
	for _, c := range []struct {
		types  string
		code   int
		phases string
	}{
		{"\n", cli.CodeOther, "stopped running waiting"},
		{"no\n", cli.CodeOther, "stopped running waiting"},
		{"\x04", cli.CodeOther, "stopped running waiting"}, // end of input
		{"Y\n", cli.CodeGood, "stopped stopped stopped"},
	} {
		p := watchtest.NewTerminal(t, 80)
		root := newRootCommand()
		root.SetIn(p.Slave)
		var out bytes.Buffer
		ended := make(chan int, 1)
		go func() { ended <- cli.Main(root, []string{"stop", "--all"}, &out, p.Slave) }()
		await.True(t, "the question", func() bool {
			return strings.Contains(p.Screen.String(), "stop 2 runs: silent, waits? [y/N] ") || strings.Contains(p.Screen.String(), "stop 2 runs: waits, silent? [y/N] ")
		})
		p.Type(c.types)
		code := await.Receive(t, "the end of the stop", ended)
		if shown := p.Shown(); code != c.code || s.phases() != c.phases || code != cli.CodeGood && !strings.Contains(shown, "error: stop --all: not confirmed, so no run was stopped\n") {
			t.Errorf("%q: exit code %d, %s, %q, %q", c.types, code, s.phases(), out.String(), shown)
		}
	}
}
