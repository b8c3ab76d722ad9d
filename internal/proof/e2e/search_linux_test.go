package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/server/arrivals"
)

// found is the part of loadctl search -o json that these tests check.
type found struct {
	End          string
	Rate, Failed float64
	Probes       []struct{ Phase, Outcome, Why string }
}

// outcome is the output of a search.
func (p *process) outcome() (f found) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.Stdout.String()), &f); err != nil {
		p.t.Fatalf("%v: %s%s", err, p.Stdout.String(), p.Stderr.String())
	}
	for _, probe := range f.Probes {
		p.t.Logf("%+v", probe)
	}
	return f
}

// phase returns the phase of a run, as Redis has it.
func (b *bed) phase(name string) string {
	b.t.Helper()
	return b.status(name).Phase
}

// TestSearch: two workers search for 800/s, each probe is in the run's report, and the run is over. On a quiet machine
// they find it.
func TestSearch(t *testing.T) {
	nightly(t)
	t.Parallel()
	b, web := newBed(t), serve(t, arrivals.Options{Capacity: 8, ServiceTime: 10 * time.Millisecond})
	objective, atLeast, atMost := scale("latency:p(99)<400ms", "latency:p(99)<50ms"), 760., 840.
	fleet := []*process{b.guest("x"), b.guest("x")}
	search := b.operator("search", "x", "--url", web.URL(), "--min-workers", "2", "--slo", objective, "--slo", "errors:rate<0.1%",
		"--from", "700", "--to", "1k", "--step-for", "2s", "-o", "json")
	await.Closed(t, "the end of the search", search.Exited)
	code, f := search.Cmd.ProcessState.ExitCode(), search.outcome()
	last := f.Probes[len(f.Probes)-1]
	// What is found depends on the machine. A search that has found it has failed above, and has confirmed it.
	if f.End == "found" && (code != 0 || f.Failed <= f.Rate || last.Phase != "confirm") || f.End == "" || acceptance() && (f.End != "found" || f.Rate < atLeast || f.Rate > atMost) {
		t.Errorf("exit code %d, %+v: %s", code, f, search.Stderr.String())
	}
	for _, p := range fleet {
		p.wait(0)
	}
	r := b.report("x")
	probes := 0
	for _, c := range r.Described.Commands {
		if c.Command == "set-rate" && strings.HasPrefix(c.What, "0 per second, probe ") {
			probes++
		}
	}
	if probes != len(f.Probes) || !r.Complete || b.phase("x") != "stopped" {
		t.Errorf("%d of %d probes are in the report, complete %v, %s", probes, len(f.Probes), r.Complete, b.phase("x"))
	}
}

// TestSearchDies: a run created without a dead-man's switch is stopped after the search that drives it was killed.
func TestSearchDies(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.loadctl("create", "x", "--url", b.web.URL(), "--qps", "50")
	worker := b.guest("x")
	search := b.operator("search", "x", "--slo", "errors:rate<1%", "--from", "100", "--to", "100", "--step-for", "1h")
	await.True(t, "300 requests", func() bool { return b.web.Count() >= 300 })
	search.signal(syscall.SIGKILL)
	began := time.Now()
	b.comes("x", "stopped")
	took, silent := time.Since(began), b.read("x").EndedAt.Sub(b.onlooker("x"))
	if silent < 20*time.Second || acceptance() && took > 22*time.Second {
		t.Errorf("stopped after %v, and %v after the last sign of life", took, silent)
	}
	worker.wait(0)
	if events := b.loadctl("events", "x"); !strings.Contains(events, "no controller was heard of for 20 s") {
		t.Error(events)
	}
}

// TestSearchInterrupted: Ctrl-C stops the run, and prints what is known. The search begins with a paused run.
func TestSearchInterrupted(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	worker := b.worker("x", "--url", b.web.URL(), "--qps", "50")
	await.True(t, "a request", func() bool { return b.web.Count() > 0 })
	b.loadctl("pause", "x")
	search := b.operator("search", "x", "--slo", "checks:rate>1%", "--slo", "latency:p(99)<1900ms", "--from", "100", "--step-for", "2s", "-o", "json")
	search.says("100/s  double  " + scale("", "passed: 100.00 %"))
	search.signal(os.Interrupt)
	search.wait(105)
	if f := search.outcome(); f.End != "interrupted" || len(f.Probes) == 0 || acceptance() && (f.Rate < 100 || f.Failed != 0) {
		t.Errorf("%+v", f)
	}
	worker.wait(0)
	if !strings.Contains(search.Stderr.String(), "stopping run x; a second Ctrl-C ends at once") || b.phase("x") != "stopped" {
		t.Errorf("%s: %s", b.phase("x"), search.Stderr.String())
	}
}

// TestSearchOfAGenerator: with only two requests in flight the generator is the limit. So the search learns nothing
// about the service, and nothing has failed.
func TestSearchOfAGenerator(t *testing.T) {
	nightly(t)
	t.Parallel()
	b, web := newBed(t), serve(t, arrivals.Options{Latency: 20 * time.Millisecond})
	worker := b.guest("x", "--max-in-flight", "2", "--id", "w1")
	search := b.operator("search", "x", "--url", web.URL(), "--slo", "latency:p(99)<1500ms", "--from", "400", "--to", "400", "--step-for", "2s", "-o", "json")
	search.wait(98)
	f := search.outcome()
	no := func(p struct{ Phase, Outcome, Why string }) bool { return p.Outcome != "no answer" }
	if f.End != "no answer" || f.Rate != 0 || f.Failed != 0 || len(f.Probes) != 4 || slices.ContainsFunc(f.Probes, no) ||
		!strings.Contains(search.Stderr.String(), "error: run x: no answer at 400/s: the generator was the limit: worker w1 (") {
		t.Errorf("%+v: %s", f, search.Stderr.String())
	}
	worker.wait(0)
}

// TestSearchOfFlows: the rates of a search count requests, also if flows have two of them. What the file says of rate and
// duration does not count.
func TestSearchOfFlows(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	file := filepath.Join(t.TempDir(), "w.yaml")
	text := "base: " + b.web.URL() + "\nrate: 7 flows/s\nduration: 1s\nflows: {f: [first: {get: /1}, second: {get: /2, after: 300ms}]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	worker := b.guest("x")
	search := b.operator("search", "x", "--workload", file, "--slo", "errors{step=second}:rate<1%", "--from", "100", "--to", "200", "--step-for", "2s", "-o", "json")
	await.Closed(t, "the end of the search", search.Exited)
	code, f := search.Cmd.ProcessState.ExitCode(), search.outcome()
	if f.End == "above" && (code != 0 || f.Rate != 200) || f.End == "" || acceptance() && f.End != "above" {
		t.Errorf("exit code %d, %+v: %s", code, f, search.Stderr.String())
	}
	worker.wait(0)
	r, rates := b.report("x"), ""
	for _, c := range r.Described.Commands {
		if c.Command == "set-rate" {
			rates += c.What + "\n"
		}
	}
	if !strings.HasPrefix(rates, "0 per second, a search begins\n50 per second, probe 1 of a search\n0 per second, probe 1 of a search, 100 per second: ") {
		t.Error(rates)
	}
	if len(r.Steps) != 2 || r.Steps[0].Sent != r.Steps[1].Sent || r.Steps[0].Sent+r.Steps[1].Sent != b.web.Count() || !r.Complete {
		t.Errorf("%+v", r.Steps)
	}
}
