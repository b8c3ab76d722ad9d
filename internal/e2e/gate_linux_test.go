package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/redistest"
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

// valid plays runs until the generator was not the limit of one. On a busy machine the generator may be the limit, and
// then the exit code has to be 98. It reports whether there was a valid run.
func (b *bed) valid(play func(name string)) (r report.Report, code int, says string, valid bool) {
	b.t.Helper()
	for try := range 5 {
		name := fmt.Sprintf("try%d", try)
		play(name)
		if r, code, says = b.judged(name); len(r.Invalid()) == 0 {
			return r, code, says, true
		}
		if b.t.Logf("%s: %v", name, r.Invalid()); code != 98 || !strings.Contains(says, "the generator was the limit") {
			b.t.Errorf("%s: exit code %d: %s", name, code, says)
		}
	}
	if acceptance() {
		b.t.Error("the generator was always the limit")
	}
	return r, code, says, false
}

// fires plays a run of one worker, whose exit code and files must be those of the report.
func (b *bed) fires(url string, args ...string) func(name string) {
	return func(name string) {
		b.t.Helper()
		dir := b.t.TempDir()
		p := b.worker(name, append(append([]string{"--url", url, "--qps", "200", "--duration", "3s", "--id", "w1"}, gateOut(dir)...), args...)...)
		<-p.Exited
		_, code, says := b.judged(name)
		if p.Cmd.ProcessState.ExitCode() != code || code != 0 && !strings.Contains(p.Stderr.String(), "error: run "+name) {
			b.t.Errorf("exit code %d, that of the report is %d: %s%s", p.Cmd.ProcessState.ExitCode(), code, p.Stderr.String(), says)
		}
		b.gate(name, code).equal(b.t, readGate(b.t, dir, code))
	}
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

// sentSoFar returns how many requests a run has sent, as far as its workers have reported.
func (b *bed) sentSoFar(run string) int64 {
	out, _, _ := b.try("report", run, "-o", "json")
	var r report.Report
	_ = json.Unmarshal([]byte(out), &r) // an error means that there is no run yet
	return r.Sent
}

// TestGate: the exit codes for pipelines, the same in the worker, loadctl run and loadctl report.
func TestGate(t *testing.T) {
	healthy := thresholds("latency:p(99)<2s", "errors:rate<1%", "errors:count==0 over 1s", "rate:rate>150", "checks:rate>0.99", "status{code=5xx}:count==0", "dropped:rate<10%")
	t.Run("healthy", func(t *testing.T) {
		b := newBed(t)
		r, code, says, valid := b.valid(b.fires(b.web.URL(), healthy...))
		if valid && code != 0 || len(r.Thresholds) != 7 {
			t.Errorf("exit code %d, %+v: %s", code, r.Thresholds, says)
		}
	})
	t.Run("errors", func(t *testing.T) {
		t.Parallel() // it may run beside others: its failure counts on a busy machine too
		b := newBed(t)
		url, _ := b.mortal("--error-share", "0.2")
		b.fires(url, healthy...)("x")
		if r, code, says := b.judged("x"); code != 99 || !strings.Contains(says, "errors:rate<1%: ") || math.Abs(*r.Thresholds[1].Value-0.2) > 0.01 {
			t.Errorf("exit code %d, %+v: %s", code, r.Thresholds, says)
		}
		b.gate("x", 99).are(t, threshold.Failed, "errors:rate<1%", "errors:count==0 over 1s", "checks:rate>0.99", "status{code=5xx}:count==0")
	})
	t.Run("slow", func(t *testing.T) {
		b, web := newBed(t), serve(t, arrivals.Options{Latency: 150 * time.Millisecond})
		r, code, says, valid := b.valid(b.fires(web.URL(), thresholds("latency:p(99)<100ms", "errors:rate<1%")...))
		if !valid {
			return
		}
		if code != 99 || !strings.Contains(says, "1 of 2 thresholds failed: latency:p(99)<100ms: ") {
			t.Errorf("exit code %d, %+v: %s", code, r.Thresholds, says)
		}
		files := b.gate(r.Run, 99)
		files.are(t, threshold.Failed, "latency:p(99)<100ms")
		files.are(t, threshold.Passed, "audit", "generator", "errors:rate<1%")
	})
	t.Run("killed target", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		url, target := b.mortal()
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			for b.sentSoFar("x") < 200 {
				select {
				case <-target.Exited:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
			_ = target.Cmd.Process.Kill() // it may already have ended with the test
		}()
		b.fires(url, append(thresholds("errors:rate<50% over 1s", "status:count>0"), "--duration", "5s")...)("x")
		<-killed
		if r, code, says := b.judged("x"); code != 99 || !strings.Contains(says, "errors:rate<50% over 1s: 100.00 % in seconds") {
			t.Errorf("exit code %d, %+v: %s", code, r.Thresholds, says)
		}
		b.gate("x", 99).are(t, threshold.Failed, "errors:rate<50% over 1s")
	})
	t.Run("loadctl run", func(t *testing.T) {
		t.Parallel()
		b, web, dir := newBed(t), serve(t, arrivals.Options{ErrorShare: 0.2}), t.TempDir()
		worker := b.worker("x", "--wait", "--allow-any")
		out, says, code := b.try(append(append([]string{"run", "x", "--url", web.URL(), "--qps", "100", "--duration", "2s", "-o", "text"}, gateOut(dir)...),
			thresholds("errors:rate<1%", "checks:count>0")...)...)
		if code != 99 || !strings.Contains(out, "✗ errors:rate<1%: ") || !strings.Contains(says, "error: run x: 1 of 2 thresholds failed: errors:rate<1%: ") {
			t.Errorf("exit code %d: %s%s", code, out, says)
		}
		files := readGate(t, dir, 99)
		files.are(t, threshold.Failed, "errors:rate<1%")
		b.gate("x", 99).equal(t, files)
		worker.wait(99)
		b.worker("x", "--allow-any").wait(0) // a supervisor that restarts its worker
	})
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
	t.Run("generator", func(t *testing.T) {
		b := newBed(t)
		for range 4 {
			onFirstCore(t, exec.Command("sh", "-c", "ulimit -t 60; while :; do :; done"))
		}
		cmd := exec.Command(filepath.Join(binaries, "loadworker"), append([]string{
			"run", "--run", "x", "--url", b.web.URL(), "--qps", "60k", "--duration", "4s",
		}, thresholds("latency:p(99)<1h", "errors:rate<=100%")...)...)
		cmd.Env = append(os.Environ(), "LOADCTL_REDIS="+b.redis.URL())
		onFirstCore(t, cmd).wait(98)
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
			fleet := b.fleet(3, "x", append(thresholds("errors:rate<10%", "latency:p(99)<1h"), "--qps", "300", "--duration", "6s")...)
			b.started(300)
			watch := b.operator(append([]string{"watch", "x"}, gateOut(dir)...)...)
			fleet[0].Cmd.Process.Signal(syscall.SIGKILL)
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
