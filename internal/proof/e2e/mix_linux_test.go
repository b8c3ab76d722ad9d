package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/targets"
)

// TestMix: two requests, 80 and 20 of 100, of two servers. A fleet of two sends exact shares, also after a change of the
// rate, and while one server does not answer. Reports count each step, and thresholds judge it.
func TestMix(t *testing.T) {
	besides(t)
	requests := scale[int64](2000, 10_000)
	b := &bed{t: t, redis: redistest.Start(t)}
	often, seldom := startArrivals(t), startArrivals(t)
	file := filepath.Join(t.TempDir(), "targets.txt")
	text := fmt.Sprintf("GET %s/items weight=80 name=browse\nPOST %s/cart weight=20 name=cart\nContent-Type: text/plain\n", often.URL(), seldom.URL())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// The end is minutes away until the test has changed the rate.
	args := append(steadfast(), "--targets", file, "--qps", "20", "-n", fmt.Sprint(requests), "--min-workers", "2", "--timeout", "10m",
		"--threshold", "errors{step=cart}:rate<1%", "--threshold", fmt.Sprint("rate{step=browse}:count==", requests*8/10), "--threshold", "latency{step=cart}:max>1s")
	ps := []*process{b.worker("x", args...), b.worker("x", args...)}
	await.True(t, "20 requests", func() bool { return often.Count()+seldom.Count() >= 20 })
	seldom.Stall(time.Second)
	b.loadctl("set-rate", "x", "1000")
	// Neither server waits for the other.
	o, s := often.Count(), seldom.Count()
	await.True(t, "their shares, while one server stands still", func() bool {
		seldom.Stall(time.Second) // from now on
		return often.Count() >= o+800 && seldom.Count() >= s+200
	})
	for _, p := range ps {
		await.Closed(t, "the end of a worker", p.Exited)
	}
	r, code, says := b.judged("x")
	for _, p := range ps {
		if got := p.Cmd.ProcessState.ExitCode(); got != unless(r, 0) || got != code {
			t.Errorf("exit code %d, that of the report is %d: %s", got, code, says)
		}
	}
	if err := r.CheckAudit(); err != nil {
		t.Error(err)
	}
	if often.Count() != requests*8/10 || seldom.Count() != requests*2/10 {
		t.Errorf("%d and %d arrived of %d, want 80 and 20 of 100", often.Count(), seldom.Count(), requests)
	}
	if len(r.Steps) != 2 || r.Steps[0].Name != "browse" || r.Steps[0].Sent != requests*8/10 || r.Steps[1].Completed != requests*2/10 || !r.Complete {
		t.Errorf("%+v", r.Steps)
	}
	if fast, slow := r.Steps[0].Latency, r.Steps[1].Latency; slow.Max < int64(time.Second) || acceptance() && fast.P50 > int64(time.Second) {
		t.Errorf("latencies %+v, %+v", fast, slow)
	}
	for _, format := range []string{"text", "markdown", "html", "openmetrics", "json"} {
		if shown, _, _ := b.try("report", "x", "-o", format); !strings.Contains(shown, "browse") {
			t.Errorf("the %s report lacks the steps", format)
		}
	}
	archive := filepath.Join(t.TempDir(), "x.loadctl")
	b.try("report", "x", "--out", archive)
	before, _, _ := b.try("report", "x")
	if after, _, _ := b.try("report", archive); !strings.Contains(after, table(before)) {
		t.Errorf("the archive has other steps:\n%s\n%s", before, after)
	}
}

// TestFlowsByRequests: stages and -n count requests, also if flows have several steps: two flows have three requests.
func TestFlowsByRequests(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	file, rated := filepath.Join(t.TempDir(), "w.yaml"), filepath.Join(t.TempDir(), "rated.yaml")
	text := "base: " + b.web.URL() + "\nflows:\n  buy: [first: {get: /1}, second: {get: /2, after: 50ms}]\n  look: [third: {get: /3}]\n"
	for name, text := range map[string]string{file: text, rated: text + "rate: 300 requests/s\nstages: [1s:900, 1s:0]\narrivals: poisson\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct {
		args []string
		want int64
	}{
		{[]string{"--workload", file, "--qps", "600", "-n", "900"}, 900},
		{[]string{"--workload", file, "--qps", "600", "-n", "901"}, 900},
		{[]string{"--workload", file, "--qps", "300", "--stage", "1s:900", "--stage", "1s:0"}, 1050}, // 300 + 300 + 450
		{[]string{"--workload", file, "--profile", "steps:from=300,to=900,by=300,every=500ms"}, 900},
		{[]string{"--workload", rated}, 1050},
		{[]string{"--workload", rated, "--qps", "600", "--duration", "1s"}, 600},
	} {
		b.web.Reset()
		name := fmt.Sprint("flows-", i)
		args := append(append(steadfast(), "--min-workers", "2"), c.args...)
		for _, p := range []*process{b.worker(name, args...), b.worker(name, args...)} {
			p.wait(0)
		}
		if n := b.web.Count(); n != c.want {
			t.Errorf("%q: %d requests arrived, want %d", c.args, n, c.want)
		}
	}
}

// TestMixAtRandom: each request arrives where the ordinals say, of targets and of flows with several steps: also after a
// change of the rate, whatever the number of workers.
func TestMixAtRandom(t *testing.T) {
	nightly(t)
	besides(t)
	const requests = 3001
	b := &bed{t: t, redis: redistest.Start(t)}
	first, second := startArrivals(t), startArrivals(t)
	dir := t.TempDir()
	write := func(name, format string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, fmt.Appendf(nil, format, first.URL(), second.URL()), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	mix := func(steps int) *targets.Mix {
		return targets.Spec{Pick: targets.PickRandom, Flows: []targets.Flow{{Weight: 7, Steps: make([]targets.Step, 1)}, {Weight: 3, Steps: make([]targets.Step, steps)}}}.Mix()
	}
	for _, c := range []struct {
		name string
		args []string
		mix  *targets.Mix
	}{
		{"targets", []string{"--targets", write("t.txt", "GET %s/ weight=7\nGET %s/ weight=3\n"), "--targets-pick", "random"}, mix(1)},
		{"flows", []string{"--workload", write("w.yaml", "mix: {look: 7, buy: 3}\npick: random\nflows:\n  look: [a: {get: '%s/'}]\n"+
			"  buy: [b: {get: '%[2]s/'}, c: {get: '%[2]s/', after: 10ms}]\n")}, mix(2)},
	} {
		first.Reset()
		second.Reset()
		args := append(append(steadfast(), "--qps", "10", "-n", fmt.Sprint(requests), "--min-workers", "2"), c.args...)
		ps := []*process{b.worker(c.name, args...), b.worker(c.name, args...)}
		await.True(t, "10 requests", func() bool { return first.Count()+second.Count() >= 10 }) // the end is minutes away
		b.loadctl("set-rate", c.name, "2000")
		for _, p := range ps {
			p.wait(0)
		}
		var want [2]int64
		for n := range uint64(c.mix.Slots(requests)) {
			if step := c.mix.Step(n); step == 0 {
				want[0]++
			} else {
				want[1] += int64(c.mix.Rest(step)) + 1
			}
		}
		if got := [2]int64{first.Count(), second.Count()}; got != want {
			t.Errorf("%s: %v arrived, want %v", c.name, got, want)
		}
		if r := b.report(c.name); !r.Complete || !strings.Contains(strings.Join(r.Described.Flags, " "), "pick random") {
			t.Errorf("%s: %+v", c.name, r.Described)
		}
	}
}

// table returns the lines about steps of a text report.
func table(text string) string {
	_, after, _ := strings.Cut(text, "\nsteps")
	lines, _, _ := strings.Cut(after, "\n\n")
	return lines
}

// startArrivals starts a server that ends with the test.
func startArrivals(t *testing.T) *arrivals.Server {
	t.Helper()
	s, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
