package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// steadfast is patient for tests that count all requests of workers that are not killed: nothing that holds a worker up
// costs one.
func steadfast() []string {
	if acceptance() {
		return nil
	}
	return []string{"--catch-up", "5m", "--max-lag", "5m", "--permit-for", "5m"}
}

func TestTwoRunsSideBySide(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	one := b.fleet(2, "one", append(steadfast(), "--qps", "500")...)
	two := b.fleet(2, "two", append(steadfast(), "--qps", "300", "--duration", "4s")...)
	b.begun("one")
	b.loadctl("set-rate", "one", "100")
	b.loadctl("pause", "one")
	b.quiet("one", func() int64 { return b.web.Paths()["/one"] })
	still := b.web.Paths()["/one"]
	for _, p := range two {
		p.wait(0)
	}
	b.loadctl("stop", "one")
	for _, p := range one {
		p.wait(0)
	}
	paths := b.web.Paths()
	if r := b.report("two"); paths["/two"] != 1200 || r.Audit.Sent != 1200 {
		t.Errorf("two: %d arrived, %+v", paths["/two"], r.Audit)
	}
	if r := b.report("one"); paths["/one"] != written(r) || paths["/one"] != still {
		t.Errorf("one: %d arrived, %d of them when the other run had ended, %+v", paths["/one"], still, r.Audit)
	}
	if list := b.loadctl("ls"); !strings.Contains(list, "one") || !strings.Contains(list, "two") {
		t.Errorf("ls: %s", list)
	}
}

// quiet waits until a run that was paused sends nothing more: each worker has received the pause, and all that was due
// before is answered and reported.
func (b *bed) quiet(name string, arrived func() int64) {
	b.t.Helper()
	for range 2 { // a worker makes the second call when it has the reply to the first one
		since := time.Now()
		await.True(b.t, "a sign of life of each worker", func() bool {
			return !slices.ContainsFunc(b.status(name).Workers, func(w run.Worker) bool { return !w.LastSeen.After(since) })
		})
	}
	await.True(b.t, "the last answers", func() bool {
		a := b.report(name).Audit
		return a.Held == 0 && a.InFlight == 0 && a.Sent == arrived()
	})
}

func TestTheSameNameAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	args := append(steadfast(), "--url", b.web.URL(), "--qps", "200", "--duration", "1s")
	b.worker("again", args...).wait(0)
	if n := b.web.Count(); n != 200 {
		t.Fatalf("%d arrived", n)
	}
	again := b.worker("again", args...) // a pipeline would take exit code 0, or a report, for a test that passed
	again.wait(104)
	s := again.Stderr.String()
	if !strings.HasPrefix(s, "error: run again ended at ") || strings.Count(s, "\n") != 1 || again.Stdout.String() != "" || b.web.Count() != 200 {
		t.Errorf("%d arrived; %q; %q", b.web.Count(), s, again.Stdout.String())
	}
	restarted := b.worker("again", "--allow-hosts", "127.0.0.1")
	restarted.wait(0)
	if s := restarted.Stderr.String(); !strings.Contains(s, "ended at ") || restarted.printed().Audit.Sent != 200 || b.web.Count() != 200 {
		t.Errorf("%d arrived; %s", b.web.Count(), s)
	}
	other := b.worker("again", append(steadfast(), "--url", b.web.URL(), "--qps", "300", "--duration", "1s")...)
	other.wait(104)
	if s := other.Stderr.String(); !strings.Contains(s, "qps: 200 there, 300 here") || b.web.Count() != 200 {
		t.Errorf("%d arrived; %s", b.web.Count(), s)
	}
	b.worker("again", append(steadfast(), "--new", "--url", b.web.URL(), "--qps", "300", "--duration", "1s")...).wait(0)
	if n, r := b.web.Count(), b.report("again"); n != 500 || r.Audit.Sent != 300 {
		t.Errorf("%d arrived, %+v", n, r.Audit)
	}
}

// TestLateJoinerKeepsTheRate: the --qps of a joining worker never overrides a set-rate.
func TestLateJoinerKeepsTheRate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	args := []string{"--url", b.web.URL(), "--qps", "100"}
	b.worker("late", args...)
	b.started(10)
	b.loadctl("set-rate", "late", "200")
	b.worker("late", args...)
	await.True(t, "two members", func() bool { return b.status("late").Members == 2 })
	if rate := b.status("late").Rate; rate != 200 {
		t.Errorf("the rate is %v", rate)
	}
	guest := b.worker("late", "--allow-hosts", "127.0.0.1")
	await.True(t, "three members", func() bool { return b.status("late").Members == 3 })
	foreign := b.worker("late", "--allow-hosts", "example.com")
	foreign.wait(104)
	if s := foreign.Stderr.String(); !strings.Contains(s, "--allow-hosts") {
		t.Error(s)
	}
	b.loadctl("stop", "late")
	guest.wait(0)
}

func TestWaitForTheRun(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	missing := b.worker("wait", "--allow-any")
	missing.wait(104)
	guest := b.worker("wait", "--wait", "--allow-any")
	host := b.worker("wait", append(steadfast(), "--url", b.web.URL(), "--qps", "100", "-n", "200", "--min-workers", "2")...)
	guest.wait(0)
	host.wait(0)
	if n := b.web.Count(); n != 200 {
		t.Errorf("%d arrived", n)
	}
}

// TestFirstInterruptDrains: owned slots are sent, the fleet takes over, the worker reports and ends with 105. No slot is
// missing.
func TestFirstInterruptDrains(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ps := b.fleet(2, "drain", append(steadfast(), "--qps", "500")...)
	b.started(500)
	if err := ps[0].Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ps[0].wait(105)
	if !strings.Contains(ps[0].Stdout.String(), `"audit"`) {
		t.Error("no report after Ctrl-C")
	}
	b.started(b.web.Count() + 500)
	if a := b.report("drain").Audit; a.Skipped+a.Lost+a.LateDropped > 0 {
		t.Errorf("one of two has left: %+v", a)
	}
	b.loadctl("stop", "drain")
	ps[1].wait(0)
	r := b.report("drain")
	if a := r.Audit; written(r) != b.web.Count() || a.Skipped+a.Lost > 0 || !r.Complete {
		t.Errorf("%d arrived, %+v, complete %v %v", b.web.Count(), a, r.Complete, r.Notes)
	}
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	p := b.fleet(1, "hard", "--qps", "100")[0]
	b.started(10)
	b.web.Stall(time.Minute) // the first Ctrl-C waits for the answers
	b.started(b.web.Count() + 10)
	p.signal(syscall.SIGINT)
	p.says("interrupt again to end at once") // two signals at the same moment count as one
	p.signal(syscall.SIGINT)
	p.wait(105)
}

// TestReportSurvivesTheStream: the stream of snapshots is trimmed to nothing, and the report is still complete.
func TestReportSurvivesTheStream(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	ps := b.fleet(2, "long", append(steadfast(), "--qps", "400", "--duration", "2s")...)
	client := b.redis.Client()
	for _, p := range ps {
		p.wait(0)
	}
	if err := client.XTrimMaxLen(t.Context(), "{load:long}:snapshots", 0).Err(); err != nil {
		t.Fatal(err)
	}
	r := b.report("long")
	var series int64
	for _, p := range r.Series {
		series += p.Sent
	}
	if !r.Complete || r.Audit.Sent != 800 || series != 800 {
		t.Errorf("complete %v, %+v, series %d", r.Complete, r.Audit, series)
	}
}

// TestPasswordIsNotShown: a password from the environment or a file is in no output and not in the process list.
func TestPasswordIsNotShown(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	const secret = "s3cr3t-word"
	client := b.redis.Client()
	if err := client.ConfigSet(t.Context(), "requirepass", secret).Err(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "redis-url")
	if err := os.WriteFile(file, []byte("redis://:"+secret+"@"+b.redis.Addr()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := b.worker("secret", "--redis", "@"+file, "--url", b.web.URL(), "--qps", "50", "-H", "Authorization: Bearer "+secret[:5]+"-token", "-o", "text")
	b.started(20)
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Cmd.Process.Pid), "cmdline"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(line), secret) {
		t.Error("the password is in the process list")
	}
	for _, args := range [][]string{{"status"}, {"workers"}, {"events"}, {"report"}, {"stop"}} {
		out := b.loadctl(append(args, "secret", "--redis", "@"+file)...)
		if strings.Contains(out, secret) {
			t.Errorf("%s shows the password", args[0])
		}
	}
	p.wait(0)
	wrong, _, code := b.try("ls", "--redis", "redis://:wrong-"+secret+"@"+b.redis.Addr())
	_, stderr, _ := b.try("ls", "--redis", "redis://:wrong-"+secret+"@"+b.redis.Addr())
	if all := wrong + stderr + p.Stdout.String() + p.Stderr.String(); strings.Contains(all, secret) || code == 0 {
		t.Errorf("exit code %d, output shows the password: %s", code, all)
	}
}
