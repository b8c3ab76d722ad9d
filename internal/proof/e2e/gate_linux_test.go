package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
)

// judged is a run's report and the exit code and error of loadctl report.
func (b *bed) judged(run string) (r report.Report, code int, says string) {
	b.t.Helper()
	out, says, code := b.try("report", run, "-o", "json")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		b.t.Fatalf("%v, exit code %d: %s%s", err, code, out, says)
	}
	return r, code, says
}

// thresholds returns these conditions as flags.
func thresholds(conditions ...string) (args []string) {
	for _, c := range conditions {
		args = append(args, "--threshold", c)
	}
	return args
}

// unless returns the exit code of a run whose thresholds alone would give this one: 98 if its generator may have decided one.
func unless(r report.Report, code int) int {
	if len(r.Invalid()) > 0 {
		return 98
	}
	return code
}

// fires plays a run of one worker called x, whose exit code and files must be those of the report.
func (b *bed) fires(url string, args ...string) {
	b.t.Helper()
	dir := b.t.TempDir()
	flags := append(steadfast(), "--url", url, "--qps", "200", "--duration", scale("2s", "3s"), "--id", "w1")
	b.gated(b.worker("x", slices.Concat(flags, gateOut(dir), args)...), dir)
}

// gated waits for the end of the only worker of the run x, which writes its files into a directory. Its exit code and
// files must be those of the report.
func (b *bed) gated(p *process, dir string) {
	b.t.Helper()
	await.Closed(b.t, "the end of the worker", p.Exited)
	_, code, says := b.judged("x")
	if p.Cmd.ProcessState.ExitCode() != code || code != 0 && !strings.Contains(p.Stderr.String(), "error: run x") {
		b.t.Errorf("exit code %d, that of the report is %d: %s%s", p.Cmd.ProcessState.ExitCode(), code, p.Stderr.String(), says)
	}
	b.gate("x", code).equal(b.t, readGate(b.t, dir, code))
}

// mortal starts a loadctl target, which the test may kill.
func (b *bed) mortal(args ...string) (url string, target *process) {
	b.t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(b.t))
	target = b.operator(append([]string{"target", "--listen", address, "--for", "5m"}, args...)...)
	await.True(b.t, "the target", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "http://" + address, target
}

// soFar is the report of a run, as far as its workers have reported. It is empty before.
func (b *bed) soFar(run string) (r report.Report) {
	b.t.Helper()
	out, _, _ := b.try("report", run, "-o", "json")
	_ = json.Unmarshal([]byte(out), &r) // an error means that there is no run yet
	return r
}

// TestGate: the exit codes for pipelines, the same in the worker, loadctl run and loadctl report.
func TestGate(t *testing.T) {
	besides(t)
	healthy := thresholds(scale("latency:p(99)<1h", "latency:p(99)<2s"), "errors:rate<1%", "errors:count==0 over 1s", scale("rate:count>=400", "rate:rate>150"),
		"checks:rate>0.99", "status{code=5xx}:count==0", "dropped:rate<10%")
	t.Run("healthy", func(t *testing.T) {
		besides(t)
		b := newBed(t)
		b.fires(b.web.URL(), healthy...)
		r, code, says := b.judged("x")
		if code != unless(r, 0) || acceptance() && code != 0 || len(r.Thresholds) != 7 {
			t.Errorf("exit code %d, %+v: %s", code, r.Thresholds, says)
		}
	})
	t.Run("errors", func(t *testing.T) {
		t.Parallel() // it may run beside others: its failure counts on a busy machine too
		b := newBed(t)
		url, _ := b.mortal("--error-share", "0.2")
		b.fires(url, healthy...)
		if r, code, says := b.judged("x"); code != 99 || !strings.Contains(says, "errors:rate<1%: ") || math.Abs(*r.Thresholds[1].Value-0.2) > 0.01 {
			t.Errorf("exit code %d, %+v: %s", code, r.Thresholds, says)
		}
		b.gate("x", 99).are(t, threshold.Failed, "errors:rate<1%", "errors:count==0 over 1s", "checks:rate>0.99", "status{code=5xx}:count==0")
	})
	t.Run("slow", func(t *testing.T) {
		besides(t)
		b, web := newBed(t), serve(t, arrivals.Options{Latency: 150 * time.Millisecond})
		b.fires(web.URL(), thresholds("latency:p(99)<100ms", "errors:rate<1%")...)
		r, code, says := b.judged("x")
		if code != unless(r, 99) || acceptance() && code != 99 {
			t.Fatalf("exit code %d, %+v: %s", code, r.Thresholds, says)
		}
		files := b.gate("x", code)
		if code == 98 {
			files.are(t, threshold.Undecided, "latency:p(99)<100ms")
			return
		}
		if !strings.Contains(says, "1 of 2 thresholds failed: latency:p(99)<100ms: ") {
			t.Error(says)
		}
		files.are(t, threshold.Failed, "latency:p(99)<100ms")
		files.are(t, threshold.Passed, "audit", "generator", "errors:rate<1%")
	})
	t.Run("killed target", gateOfAKilledTarget)
	t.Run("loadctl run", gateOfLoadctlRun)
}

// gateOfAKilledTarget: a condition over each second fails when the endpoint is gone.
func gateOfAKilledTarget(t *testing.T) {
	t.Parallel()
	b, dir := newBed(t), t.TempDir()
	url, target := b.mortal()
	flags := append(steadfast(), "--url", url, "--qps", "200", "--id", "w1")
	p := b.worker("x", slices.Concat(flags, gateOut(dir), thresholds("errors:rate<50% over 1s", "status:count>0"))...)
	await.True(t, "200 answers", func() bool { return b.soFar("x").Audit.Completed >= 200 })
	target.Kill()
	await.True(t, "two seconds with failures only", func() bool {
		bad := 0
		for _, point := range b.soFar("x").Series {
			if point.Failed > 0 && point.OK == 0 {
				bad++
			}
		}
		return bad >= 2
	})
	b.loadctl("stop", "x")
	b.gated(p, dir)
	if r, code, says := b.judged("x"); code != 99 || !strings.Contains(says, "errors:rate<50% over 1s: 100.00 % in seconds") {
		t.Errorf("exit code %d, %+v: %s", code, r.Thresholds, says)
	}
	b.gate("x", 99).are(t, threshold.Failed, "errors:rate<50% over 1s")
}

// gateOfLoadctlRun: loadctl run, its worker and loadctl report agree, and a worker that joins later succeeds.
func gateOfLoadctlRun(t *testing.T) {
	t.Parallel()
	b, web, dir := newBed(t), serve(t, arrivals.Options{ErrorShare: 0.2}), t.TempDir()
	worker := b.worker("x", "--wait", "--allow-any")
	flags := append(steadfast(), "--url", web.URL(), "--qps", "100", "--duration", "1s", "-o", "text")
	out, says, code := b.try(slices.Concat([]string{"run", "x"}, flags, gateOut(dir), thresholds("errors:rate<1%", "checks:count>0"))...)
	if code != 99 || !strings.Contains(out, "✗ errors:rate<1%: ") || !strings.Contains(says, "error: run x: 1 of 2 thresholds failed: errors:rate<1%: ") {
		t.Errorf("exit code %d: %s%s", code, out, says)
	}
	files := readGate(t, dir, 99)
	files.are(t, threshold.Failed, "errors:rate<1%")
	b.gate("x", 99).equal(t, files)
	worker.wait(99)
	b.worker("x", "--allow-any").wait(0) // a supervisor that restarts its worker
}

func serve(t *testing.T, o arrivals.Options) *arrivals.Server {
	t.Helper()
	web, err := arrivals.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	return web
}

// TestGateOfWhatProvesNothing: a run whose generator was the limit, and a run of three workers of which one was killed,
// prove no success. Proved failures remain failures.
func TestGateOfWhatProvesNothing(t *testing.T) {
	besides(t)
	nightly(t)
	t.Run("generator", func(t *testing.T) {
		t.Parallel()
		b, web := newBed(t), serve(t, arrivals.Options{Latency: 2 * time.Second})
		// Each request takes as long as 200 slots, and the worker may have one on its way.
		p := b.worker("x", append(thresholds("latency:p(99)<1h", "errors:rate<=100%"), "--url", web.URL(), "--qps", "100", "--duration", "3s", "-c", "1")...)
		p.wait(98)
		r, code, says := b.judged("x")
		if code != 98 || !strings.Contains(says, "error: run x proves nothing about the endpoint: the generator was the limit") || r.Thresholds[1].Result != threshold.Undecided {
			t.Errorf("exit code %d, %+v: %s", code, r.Thresholds, says)
		}
		files := b.gate("x", 98)
		files.are(t, threshold.Failed, "generator")
		files.are(t, threshold.Undecided, "latency:p(99)<1h", "errors:rate<=100%")
	})
	for name, share := range map[string]float64{"killed": 0, "killed with errors": 0.5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, code, dir := newBed(t), 98, t.TempDir()
			if b.web = serve(t, arrivals.Options{ErrorShare: share}); share > 0 {
				code = 99
			}
			fleet := b.fleet(3, "x", append(thresholds("errors:rate<10%", "latency:p(99)<1h"), "--qps", "300", "--permit-for", "2s")...)
			b.started(300)
			watch := b.operator(append([]string{"watch", "x"}, gateOut(dir)...)...)
			watch.says("  asked ")
			// Nothing is on its way when the run is stopped: what is cut off would count as an error.
			b.loadctl("pause", "x")
			b.quiet("x", b.web.Count)
			fleet[0].Kill()
			b.loadctl("stop", "x")
			for _, p := range []*process{fleet[1], fleet[2], watch} {
				p.wait(code)
			}
			r, got, says := b.judged("x")
			if got != code || r.Complete || share == 0 && !strings.Contains(says, "the report is INCOMPLETE") {
				t.Errorf("exit code %d, want %d, %+v: %s", got, code, r.Thresholds, says)
			}
			files := readGate(t, dir, code)
			b.gate("x", code).equal(t, files)
			files.are(t, threshold.Undecided, "audit", "latency:p(99)<1h")
			files.are(t, map[int]string{98: threshold.Undecided, 99: threshold.Failed}[code], "errors:rate<10%")
		})
	}
}
