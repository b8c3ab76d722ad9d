package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/await"
)

func TestTwoRunsSideBySide(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	one := b.fleet(2, "one", append(patient(), "--qps", "500")...)
	two := b.fleet(2, "two", append(patient(), "--qps", "300", "--duration", "4s")...)
	b.started(800)
	b.loadctl("set-rate", "one", "100")
	b.loadctl("pause", "one")
	for _, p := range two {
		p.wait(0)
	}
	still := b.web.Paths()["/one"]
	time.Sleep(300 * time.Millisecond)
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

func TestTheSameNameAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	args := append(patient(), "--url", b.web.URL(), "--qps", "200", "--duration", "1s")
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
	other := b.worker("again", append(patient(), "--url", b.web.URL(), "--qps", "300", "--duration", "1s")...)
	other.wait(104)
	if s := other.Stderr.String(); !strings.Contains(s, "qps: 200 there, 300 here") || b.web.Count() != 200 {
		t.Errorf("%d arrived; %s", b.web.Count(), s)
	}
	b.worker("again", append(patient(), "--new", "--url", b.web.URL(), "--qps", "300", "--duration", "1s")...).wait(0)
	if n, r := b.web.Count(), b.report("again"); n != 500 || r.Audit.Sent != 300 {
		t.Errorf("%d arrived, %+v", n, r.Audit)
	}
}

// TestLateJoinerKeepsTheRate: the --qps of a joining worker never overrides a set-rate.
func TestLateJoinerKeepsTheRate(t *testing.T) {
	b := newBed(t)
	args := []string{"--url", b.web.URL(), "--qps", "500"}
	b.worker("late", args...)
	b.started(100)
	b.loadctl("set-rate", "late", "2000")
	b.worker("late", args...)
	await.True(t, "two members", func() bool { return b.status("late").Members == 2 })
	if rate := b.status("late").Rate; rate != 2000 {
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
	t.Parallel()
	b := newBed(t)
	missing := b.worker("wait", "--allow-any")
	missing.wait(104)
	guest := b.worker("wait", "--wait", "--allow-any")
	host := b.worker("wait", "--url", b.web.URL(), "--qps", "100", "-n", "200", "--min-workers", "2")
	guest.wait(0)
	host.wait(0)
	if n := b.web.Count(); n != 200 {
		t.Errorf("%d arrived", n)
	}
}

// TestFirstInterruptDrains: owned slots are sent, the fleet takes over, the worker reports and ends with 105.
func TestFirstInterruptDrains(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ps := b.fleet(2, "drain", append(patient(), "--qps", "1000", "--duration", "6s")...)
	b.started(1500)
	if err := ps[0].Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ps[0].wait(105)
	if !strings.Contains(ps[0].Stdout.String(), `"audit"`) {
		t.Error("no report after Ctrl-C")
	}
	ps[1].wait(0)
	r := b.report("drain")
	if n := b.web.Count(); n != 6000 || r.Audit.Sent != 6000 || !r.Complete {
		t.Errorf("%d arrived, %+v", n, r.Audit)
	}
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	besides(t)
	b := newBed(t)
	p := b.fleet(1, "hard", "--qps", "100")[0]
	b.started(10)
	b.web.Stall(time.Minute) // the first Ctrl-C waits for the answers
	b.started(b.web.Count() + 10)
	for range 2 {
		if err := p.Cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // two signals at the same moment count as one
	}
	p.wait(105)
}

// TestReportSurvivesTheStream: the stream of snapshots is trimmed to nothing, and the report is still complete.
func TestReportSurvivesTheStream(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ps := b.fleet(2, "long", append(patient(), "--qps", "400", "--duration", "4s")...)
	client := b.redis.Client()
	b.started(800)
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
	if !r.Complete || r.Audit.Sent != 1600 || series != 1600 {
		t.Errorf("complete %v, %+v, series %d", r.Complete, r.Audit, series)
	}
}

// TestPasswordIsNotShown: a password from the environment or a file is in no output and not in the process list.
func TestPasswordIsNotShown(t *testing.T) {
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
