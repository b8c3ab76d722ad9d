package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/console/search"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/targets"
)

// TestSearchRefused: errors are found before anything is written.
func TestSearchRefused(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	for name, change := range map[string]func(*spec.Spec){
		"there": func(*spec.Spec) {}, "over": func(*spec.Spec) {}, "seats": func(s *spec.Spec) { s.QPS, s.Max, s.Concurrency = pacer.Rate{Den: 1}, true, 8 }, "most": func(s *spec.Spec) { s.QPS, s.Max = pacer.Rate{Den: 1}, true },
		"aborts":  func(s *spec.Spec) { s.Thresholds = []string{"errors:rate<1% over 1s abort after 2"} },
		"reduces": func(s *spec.Spec) { s.Thresholds = []string{"errors:rate<1% over 1s reduce by 20% after 2"} },
	} {
		spec := spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(10), MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp, MinWorkers: 1}
		change(&spec)
		r, _, err := run.Create(t.Context(), server.Client(), name, spec, run.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if name == "over" {
			if _, err := r.Stop(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	slo := []string{"--slo", "latency:p(99)<50ms"}
	described := append([]string{"--url", "noop://"}, slo...)
	var all []clitest.Refusal
	for _, m := range []mistake{
		{[]string{"search"}, "search: give the name of one run"},
		{[]string{"search", "there", "x"}, `"x" is one too many`},
		{[]string{"search", "there"}, "--slo: give an objective, such as --slo 'latency:p(99)<50ms'"},
		{[]string{"search", "there", "--slo", ""}, `--slo: threshold "", column 1: name a metric`},
		{[]string{"search", "there", "--slo", "p99<50ms"}, "--slo: threshold \"p99<50ms\", column 1: name a metric"},
		{[]string{"search", "there", "--slo", "latency:p(99)<50ms over 10s"}, "--slo: \"latency:p(99)<50ms over 10s\": each probe is one window, of --step-for; leave out 'over'"},
		{[]string{"search", "there", "--slo", "latency:p(99)<50ms over 1s abort after 3"}, "leave out 'over'"},
		{[]string{"search", "there", "--slo", "rate:rate>100"}, "the search sets the rate; give an objective of the service"},
		{[]string{"search", "there", "--slo", "latency:p(99)<20s"}, "within --step-for 20s no request can miss it; give a longer --step-for"},
		{[]string{"search", "there", "--slo", "\x1b[2J"}, "--slo: threshold"},
		{append([]string{"search", "there", "--from", "200", "--to", "100"}, slo...), "--from 200 --to 100: give two rates above 0, the lower one first"},
		{append([]string{"search", "there", "--wait-budget", "1m"}, slo...), "--wait-budget: only who creates a run waits for room; describe the run with --url"},
		{append([]string{"search", "there", "--from", "0"}, slo...), "--from 0 --to 50k: give two rates above 0"},
		{append([]string{"search", "there", "--from", "-1"}, slo...), `--from: rate "-1": a rate is not negative`},
		{append([]string{"search", "there", "--to", "max"}, slo...), `--to: rate "max": not a number of requests per second`},
		{append([]string{"search", "there", "--to", "NaN"}, slo...), "--to: rate \"NaN\""},
		{append([]string{"search", "there", "--from", "30/m"}, slo...), "--from 30/m: in --step-for 20s that is 10 requests, too few for a result; raise either, to at least 20 requests"},
		{append([]string{"search", "there", "--step-for", "1s"}, slo...), "--step-for 1s: give whole seconds from 2s to 1h, such as 20s"},
		{append([]string{"search", "there", "--step-for", "2500ms"}, slo...), "--step-for 2.5s: give whole seconds"},
		{append([]string{"search", "there", "--step-for", "0"}, slo...), "--step-for 0s: give whole seconds"},
		{append([]string{"search", "there", "--step-for", "2h"}, slo...), "give whole seconds from 2s to 1h"},
		{append([]string{"search", "there", "--step-for", "soon"}, slo...), "is not a duration"},
		{append([]string{"search", "there", "--settle", "2h"}, slo...), "--settle: give at most 1h"},
		{append([]string{"search", "there", "--settle", "-1s"}, slo...), "is not a duration"},
		{append([]string{"search", "there", "-o", "html"}, slo...), `--output "html": there are text, json`},
		{append([]string{"search", "none"}, slo...), "run none: there is no such run; loadctl ls lists the runs"},
		{append([]string{"search", "a b"}, slo...), "use 1 to 64 letters, digits, dots, dashes and underscores"},
		{append([]string{"search", "over"}, slo...), "search over: the run is over, since "},
		{append([]string{"search", "over"}, described...), "run over exists with another spec"},
		{append([]string{"search", "most"}, slo...), "search most: the run goes as fast as it can (--qps max)"},
		{append([]string{"search", "seats"}, slo...), "search seats: the run has a number of requests in flight, and no rate; create one with a rate"},
		{append([]string{"search", "aborts"}, slo...), "search aborts: the run has --threshold \"errors:rate<1% over 1s abort after 2\", which would stop it at the first probe that fails; create one without"},
		{append([]string{"search", "reduces"}, slo...), "which would slow it at the first probe that fails; create one without"},
		{append([]string{"search", "x", "--qps", "5"}, described...), "--qps: the search sets the rate, and ends the run; give --from, --to and --step-for instead"},
		{append([]string{"search", "x", "--rate", "5"}, described...), "--rate: the search sets the rate"},
		{append([]string{"search", "x", "--stage", "10s:5"}, described...), "--stage: the search sets the rate"},
		{append([]string{"search", "x", "--profile", "sine:"}, described...), "--profile: the search sets the rate"},
		{append([]string{"search", "x", "--duration", "10s"}, described...), "--duration: the search sets the rate, and ends the run"},
		{append([]string{"search", "x", "-n", "100"}, described...), "--requests: the search sets the rate"},
		{append([]string{"search", "x", "--threshold", "errors:rate<1% over 1s abort after 2"}, described...), "--threshold \"errors:rate<1% over 1s abort after 2\" would stop the run at the first probe that fails; leave out 'abort after'"},
		{append([]string{"search", "x", "--threshold", "errors:rate<1% over 1s reduce to 50% after 2"}, described...), "would slow the run at the first probe that fails; leave out 'reduce'"},
		{append([]string{"search", "over", "--new", "--threshold", "errors:rate<1% over 1s abort after 2"}, described...), "leave out 'abort after'"},
		{append([]string{"search", "x", "--slo", "itl:p(95)<80ms"}, described...), `--slo "itl:p(95)<80ms": no answer has events; describe the run with --stream, such as --stream sse, or leave the condition out`},
		{[]string{"search", "x", "--url", "http://h/", "--stream", "sse", "--slo", "goodput:rate>=95%"}, `--slo "goodput:rate>=95%": no answer has goals; describe the run with --goal`},
		{[]string{"search", "there", "--slo", "goodput:rate>=95%"}, `--slo "goodput:rate>=95%": no answer has goals; describe the run with --goal`},
		{[]string{"search", "there", "--slo", "latency{step=pay}:p(99)<1s"}, `--slo "latency{step=pay}:p(99)<1s": there is no step "pay"; the run has one kind of request; leave {step=…} out`},
		{append([]string{"search", "x", "-H", "a:b"}, slo...), "--url: give what to request"},
		{append([]string{"search", "x", "--url", "ftp://h/"}, slo...), "there is no target for scheme ftp"},
		{append([]string{"search", "x", "--deadman", "1s"}, described...), "--deadman: give a time from 3s"},
		{append([]string{"search", "there", "--redis", "nonsense"}, slo...), "not of the form redis://"},
	} {
		all = append(all, clitest.Refusal{Args: m.args, Says: []string{m.says}})
	}
	clitest.RefusedAll(t, newRootCommand, server.Client(), all)
	t.Setenv("LOADCTL_REDIS", "")
	refused(t, append([]string{"search", "there"}, slo...), "which Redis? Give --redis redis://host:port, or set LOADCTL_REDIS")
}

// TestSearchWithoutWorkers: no workers join, and the run is stopped.
func TestSearchWithoutWorkers(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	stdout, stderr, code := execute("search", "x", "--url", "http://127.0.0.1:9/", "--slo", "errors:rate<1%", "--start-timeout", "300ms")
	if code != cli.CodeConfig || stdout != "" || !strings.Contains(stderr, "run x waits for workers; start them with: loadworker run --run x --allow-hosts 127.0.0.1:9\n") ||
		!strings.Contains(stderr, "error: run x: it did not begin: its workers were not there within 300ms\n") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	r, err := run.Open(t.Context(), server.Client(), "x")
	if err != nil || r.Phase != "stopped" || r.Spec.Deadman != 20*time.Second {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSearchAnswers: each end in words and as an exit code, with a table of the probes.
func TestSearchAnswers(t *testing.T) {
	condition, err := threshold.Parse("latency:p(99)<50ms")
	if err != nil {
		t.Fatal(err)
	}
	task := search.Task{Plan: search.Plan{From: 100, To: 1000}, Objectives: []threshold.Threshold{condition}, Length: 3 * time.Second}
	value := 104e6
	slow := threshold.Result{Threshold: condition.Text, Result: threshold.Failed, Value: &value, Unit: "ns", Text: "104ms"}
	none := threshold.Result{Threshold: condition.Text, Result: threshold.Undecided, Unit: "ns", Text: "nothing was measured"}
	probes := []search.Probe{
		{Rate: 783, Phase: search.Bisecting, Measured: search.Measured{Outcome: search.Passed, Length: 3 * time.Second}},
		{Rate: 800.5, Phase: search.Doubling, Measured: search.Measured{Outcome: search.Failed, Why: "too slow", Values: []threshold.Result{slow}}},
		{Rate: 900, Phase: search.Confirming, Measured: search.Measured{Outcome: search.NoAnswer, Why: "nobody knows", Values: []threshold.Result{none}}},
	}
	for _, c := range []struct {
		end          search.End
		rate, failed float64
		code         string
		says         []string
	}{
		{search.Found, 783, 800.5, "", []string{"x: meets its objectives up to 783/s\n", "knee    783/s passed, 800.5/s failed\n", "probes  3 in 1m10s, each of 3s\n"}},
		{search.AboveTo, 1000, math.Inf(1), "", []string{"meets its objectives at 1000/s, the highest rate tried; raise --to to search higher\n", "1000/s passed, nothing failed"}},
		{search.BelowFrom, 0, 6.25, "run x: even 6.25/s failed: nobody knows", []string{"misses its objectives even at 6.25/s; lower --from to search lower", "nothing passed, 6.25/s failed"}},
		{search.Unknown, 783, math.Inf(1), "run x: no answer at 900/s: nobody knows", []string{"no answer: the result at 900/s is unknown", "783/s passed, nothing failed"}},
		{"", 0, math.Inf(1), "", []string{"interrupted; this is what is known so far", "nothing passed, nothing failed"}},
	} {
		a := search.NewAnswer("x", task, search.Result{End: c.end, Rate: c.rate, Failed: c.failed, Probes: probes}, 70*time.Second)
		var out bytes.Buffer
		if err := a.WriteText(&out); err != nil {
			t.Fatal(err)
		}
		for _, says := range append(c.says, "RATE     FOR      OUTCOME    latency:p(99)         WHY\n", "783/s    bisect   passed                           \n",
			"800.5/s  double   failed     104ms                 too slow\n", "900/s    confirm  no answer  nothing was measured  nobody knows\n") {
			if !strings.Contains(out.String(), says) {
				t.Errorf("%q does not say %q", out.String(), says)
			}
		}
		got := ""
		if err := verdict(a); err != nil {
			got = err.Error()
		}
		if got != c.code || a.Probes[1].Values[0].Value != value || a.Probes[2].Values[0].Value != 0 {
			t.Errorf("%s: %q, %+v", c.end, got, a)
		}
	}
	if got := search.Line(probes[1]); got != "800.5/s  double  failed: too slow" {
		t.Error(got)
	}
}
