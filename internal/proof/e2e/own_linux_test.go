package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/brokertest"
	"github.com/loadctl/loadctl/internal/proof/commands"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/targets/fleet"
)

// newOwn returns a bed whose workers have a scheme of their own, and the broker that they publish at.
func newOwn(t *testing.T) (*bed, *brokertest.Broker) {
	t.Helper()
	nightly(t)
	built, err := commands.Build("examples/customworker")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(built.Remove)
	return &bed{t: t, redis: redistest.Start(t), dir: built.Dir, own: "customworker"}, brokertest.Start(t)
}

// TestOwnScheme asserts that a fleet of workers with a scheme of their own sends each request of a run once, that loadctl, which
// lacks the scheme, describes, changes and reports it, and that placeholders, data files, checks, samples and thresholds are
// those of other schemes. What arrives is counted by a subscriber.
func TestOwnScheme(t *testing.T) {
	besides(t)
	b, broker := newOwn(t)
	users := filepath.Join(t.TempDir(), "users.csv")
	if err := os.WriteFile(users, []byte("name\nann\nbob\neve\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const requests = 1500
	url := "mqtt://" + broker.Addr() + "/load/${users.name}"
	b.loadctl(slices.Concat([]string{"create", "whole", "--scheme", "mqtt=1", "--set", "retain=false", "--url", url, "-d", "n=${ordinal}", "--data", users,
		"--check", "size > 3B", "--check", "time < 10m", "--threshold", "errors:rate==0%", "--threshold", "latency:p(99)<10m",
		"--qps", "10", "-n", fmt.Sprint(requests), "--min-workers", "3"}, unhurried())...)
	var ps []*process
	for range 3 {
		ps = append(ps, b.worker("whole", "--allow-hosts", "127.0.0.1"))
	}
	await.True(t, "5 messages", func() bool { return len(broker.Messages()) >= 5 })
	b.loadctl("set-rate", "whole", "2000")
	for _, p := range ps {
		await.Closed(t, "the end of a worker", p.Exited)
		if code := p.Cmd.ProcessState.ExitCode(); code != 0 && code != 98 { // 98: a busy machine may have decided a threshold
			t.Errorf("exit code %d\n%s", code, p.Stderr.String())
		}
	}
	r := b.report("whole")
	if n, a := broker.Count(), r.Audit; n != requests+a.Overrun || acceptance() && a.Overrun > 0 || a.Sent != n || a.Completed != n || !r.Complete || len(r.Errors) > 0 || len(r.Thresholds) != 2 {
		t.Errorf("%d arrived, %+v, errors %v, complete %v", n, a, r.Errors, r.Complete)
	}
	if r.Audit.Overrun == 0 { // else ordinals come twice
		once(t, broker.Messages(), requests)
	}
	var samples struct{ Samples []struct{ Ordinal uint64 } }
	if err := json.Unmarshal([]byte(b.loadctl("samples", "whole", "-o", "json")), &samples); err != nil || len(samples.Samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	ordinal := fmt.Sprint(samples.Samples[0].Ordinal)
	if text := b.loadctl("samples", "whole", "--ordinal", ordinal); !strings.Contains(text, "mqtt://"+broker.Addr()+"/load/") || !strings.Contains(text, "n="+ordinal) {
		t.Errorf("the sample is\n%s", text)
	}
	if text := b.loadctl("samples", "whole", "-o", "curl"); !strings.Contains(text, "curl cannot repeat a request over mqtt") {
		t.Errorf("for curl they are\n%s", text)
	}
}

// once checks that each ordinal has arrived once, with its row.
func once(t *testing.T, messages []string, requests int) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range messages {
		topic, ordinal, _ := strings.Cut(m, " n=")
		if seen[ordinal] || !slices.Contains([]string{"load/ann", "load/bob", "load/eve"}, topic) {
			t.Errorf("%q came twice, or is wrong", m)
		}
		seen[ordinal] = true
	}
	for i := range requests {
		if !seen[fmt.Sprint(i)] {
			t.Fatalf("ordinal %d has not arrived", i)
		}
	}
}

// TestOwnSchemeKilled asserts that the audit is exact if a worker with a scheme of its own is killed.
func TestOwnSchemeKilled(t *testing.T) {
	besides(t)
	b, broker := newOwn(t)
	protocol{args: []string{"--url", "mqtt://" + broker.Addr() + "/load/${ordinal}", "-d", "hello"}, count: broker.Count}.killed(b)
}

// TestOwnSchemeIsNeeded asserts that a worker without the scheme of a run, or with another version, does not join, and says so
// in one line.
func TestOwnSchemeIsNeeded(t *testing.T) {
	b, broker := newOwn(t)
	for version, c := range map[string]struct{ program, says string }{
		"1": {"loadworker", "run needs-1: the run needs the scheme mqtt=1, which this program does not have; use the program that does: see docs/extend.md"},
		"2": {"customworker", "run needs-2: the run needs the scheme mqtt=2, and this program has mqtt=1; start a program with that version"},
	} {
		name := "needs-" + version
		b.loadctl("create", name, "--scheme", "mqtt="+version, "--url", "mqtt://"+broker.Addr()+"/load/a", "--qps", "10", "--duration", "10s")
		b.own = c.program
		p := b.worker(name, "--allow-any")
		p.wait(104)
		if got := strings.TrimSpace(p.Stderr.String()); got != "error: "+c.says {
			t.Errorf("%q, want %q", got, c.says)
		}
		if s := b.status(name); len(s.Workers) > 0 {
			t.Errorf("%+v", s.Workers)
		}
	}
	if broker.Count() > 0 {
		t.Error("something was sent")
	}
}

// TestProgramJoins asserts that programs that call fleet.Join make each call of a run once, also after a change of the rate, and
// that the audit is exact if one of them is killed.
func TestProgramJoins(t *testing.T) {
	besides(t)
	built, err := commands.Build("examples/program")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(built.Remove)
	b := &bed{t: t, redis: redistest.Start(t), dir: built.Dir}
	var all []*process
	p := protocol{args: []string{"--url", "program://rows"}, join: func(b *bed, run string) *process {
		cmd := exec.Command(b.program("program"), b.url(), run)
		cmd.Dir = t.TempDir()
		one := begin(t, cmd, nil)
		all = append(all, one)
		return one
	}}
	p.count = func() (n int64) {
		for _, one := range all {
			n += int64(strings.Count(one.Stdout.String(), "row "))
		}
		return n
	}
	p.whole(b)
	all = nil
	p.killed(b)
}

// TestProgramRefuses asserts that a program does not join what it cannot, and says why in one line.
func TestProgramRefuses(t *testing.T) {
	nightly(t)
	b := newBed(t)
	b.loadctl("create", "web", "--url", b.web.URL(), "--qps", "10", "--duration", "1s")
	never := func(context.Context, fleet.Call) fleet.Outcome { panic("called") }
	for run, says := range map[string]string{"web": "sends to", "gone": "there is no such run", "a b": "use 1 to 64"} {
		err := fleet.Join(t.Context(), b.url(), run, never)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want it to say %q", run, err, says)
		}
	}
	b.loadctl("create", "rows", "--url", "program://rows", "--qps", "10", "--min-workers", "2")
	ctx, cancel := context.WithCancelCause(t.Context())
	own := errors.New("enough")
	done := make(chan error, 1)
	go func() { done <- fleet.Join(ctx, b.url(), "rows", never) }()
	await.True(t, "a member", func() bool { return len(b.status("rows").Workers) == 1 })
	cancel(own)
	if err := await.Receive(t, "the end", done); !errors.Is(err, own) {
		t.Error(err)
	}
}
