package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/watch/watchtest"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// described returns a command line with all flags that a run needs.
func described(command string, more ...string) []string {
	return append([]string{command, "x", "--url", "http://user:" + secret + "@127.0.0.1:1/", "--qps", "100"}, more...)
}

func TestBadDescriptions(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	for _, command := range []string{"create", "run"} {
		refused(t, []string{command}, "usage: loadctl "+command+" RUN --url URL --qps RATE")
		refused(t, []string{command, "x"}, "--url: give what to request")
		refused(t, described(command, "--keep", "59s"), "--keep: at least 1m")
		refused(t, described(command, "--min-workers", "-1"), "workers")
		refused(t, described(command, "-o", "xml"), `--output "xml"`)
		refused(t, described(command, "--rate", "5"), "--qps and --rate")
		refused(t, append(described(command), "y"), "usage: loadctl "+command)
		bad := described(command)
		bad[1] = "a b"
		refused(t, bad, "use 1 to 64 letters")
	}
	nowhere := filepath.Join(t.TempDir(), "no", "such")
	for _, args := range [][]string{described("run"), {"watch", "x"}} {
		refused(t, append(args, "--progress", "999ms"), "--progress: give 1s or more, or 0 for none")
		refused(t, append(args, "--progress", "-1s"), "--progress")
		refused(t, append(args, "--out", nowhere), "--out", nowhere)
		refused(t, append(args, "--out", t.TempDir()), "is no regular file")
	}
	for _, args := range [][]string{{"watch", "x"}, {"start", "x"}} {
		refused(t, args, "run x: there is no such run; loadctl ls")
	}
	if n := server.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys were written", n)
	}
}

func TestCreate(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	succeeds := func(args []string, want string) {
		t.Helper()
		stdout, stderr, code := execute(args...)
		if code != cli.CodeGood || stdout != want || stderr != "" {
			t.Errorf("%v: exit code %d, %q, want %q, %s", args, code, stdout, want, stderr)
		}
	}
	const join = "\njoin    loadworker run --run x --allow-hosts 127.0.0.1:1\nbegins  "
	succeeds(described("create"), "x: created"+join+"loadctl start x\n")
	succeeds(described("create"), "x: exists already, with the same description"+join+"loadctl start x\n")
	refused(t, described("create", "--min-workers", "2"), "run x exists with another spec", "2 here")
	refused(t, described("create", "--duration", "1m"), "run x exists with another spec", "duration")
	refused(t, described("create", "--new", "--duration", "1m"), "run x exists with another spec")
	stdout, _, code := execute(described("create", "-o", "json")...)
	var c Created
	if err := json.Unmarshal([]byte(stdout), &c); err != nil || code != cli.CodeGood || c.Run != "x" || c.Created || !strings.HasPrefix(c.Worker, "loadworker run --run x ") {
		t.Errorf("%q, %v", stdout, err)
	}
	if _, stderr, code := execute("stop", "x"); code != cli.CodeGood {
		t.Fatal(stderr)
	}
	for _, command := range []string{"create", "run"} {
		refused(t, described(command, "--min-workers", "0"), "run x ended at ", "; choose another name, or replace it with --new")
	}
	succeeds(described("create", "--new", "--min-workers", "2"), "x: created"+join+"by itself with 2 workers, or with loadctl start x\n")
}

func TestStart(t *testing.T) {
	l := newLab(t) // it waits for one worker, so there is nothing to start
	var c run.Change
	if text := l.does(&c, "start", "x"); text != "x: start: nothing to change\n" || c.Changed {
		t.Errorf("%q, %+v", text, c)
	}
	l.start()
	if text := l.does(&c, "start", "x"); text != "x: start: nothing to change\n" || c.Changed || c.At.IsZero() {
		t.Errorf("%q, %+v", text, c)
	}
	l.departs()
	if stdout, stderr, code := execute("stop", "x"); code != cli.CodeGood {
		t.Errorf("%q, %q", stdout, stderr)
	}
	refused(t, []string{"start", "x"}, "start x: the run is over, since ")

	if _, stderr, code := execute(described("create", "--new")...); code != cli.CodeGood {
		t.Fatal(stderr)
	}
	stdout, _, _ := execute("start", "x")
	if want := "x: start: the run begins when the first worker is ready\n"; stdout != want {
		t.Errorf("%q, want %q", stdout, want)
	}
	r, err := run.Open(t.Context(), l.redis.Client(), "x")
	if err != nil {
		t.Fatal(err)
	}
	l.run, l.holder = r, lease.NewHolder("w", "j", 1)
	l.start() // one is enough
}

// TestStatusShowsWhatIsPending: a change while the schedule stands still is not lost, and is shown.
func TestStatusShowsWhatIsPending(t *testing.T) {
	l := newLab(t)
	shows := func(want ...string) { // a command is in force about 20 ms later
		t.Helper()
		for _, w := range want {
			line := regexp.MustCompile("(?m)^" + w + "$")
			await.True(t, w, func() bool {
				text, _, _ := execute("status", "x")
				return line.MatchString(text)
			})
		}
	}
	does := func(args ...string) {
		t.Helper()
		if _, stderr, code := execute(args...); code != cli.CodeGood {
			t.Fatalf("%v: %s", args, stderr)
		}
	}
	const of = " per second, of the whole cluster"
	shows("phase    waiting", "rate     0"+of+", 100 when it begins", "workers  0 of the 1 it waits for")
	does("set-rate", "x", "250")
	shows("rate     0" + of + ", 250 when it begins")
	l.start()
	shows("phase    running", "rate     250"+of, "workers  1")
	does("set-rate", "x", "400", "--over", "1h")
	shows(`rate     2[5-9]\d(\.\d+)?` + of + `, on the way to 400`)
	does("pause", "x")
	does("set-rate", "x", "30/1m")
	shows("phase    paused", "rate     0"+of+", 0.5 when it is resumed")
	if text, _, _ := execute("status", "x"); strings.Contains(text, "ends ") {
		t.Errorf("a run without an end has one:\n%s", text)
	}
	does("resume", "x")
	shows("rate     0.5" + of)
	l.departs()
	shows("workers  0; nothing is sent until one joins")
}

// publish publishes one more second, in which n requests were sent.
func (l *lab) publish(total *record.Snapshot, n int64) {
	l.Helper()
	in := record.NewSnapshot("w", "i")
	in.Start, in.End = 1, time.Now().UnixMicro()
	in.Counts = record.Counts{Sent: n, Completed: n}
	total.Merge(in)
	total.Seq++
	in.Seq, in.Final = total.Seq, total.Final
	if err := results.NewJournal(l.run, "w", "i").Publish(l.Context(), in, total, nil); err != nil {
		l.Fatal(err)
	}
}

// watched runs loadctl watch on a terminal, while its worker publishes and the run is stopped.
func (l *lab) watched(p *terminal, args ...string) (stdout string) {
	l.Helper()
	var out watchtest.Buffer
	code := make(chan int, 1)
	go func() {
		code <- cli.Main(newRootCommand(), append([]string{"watch", "x"}, args...), &out, p.slave)
	}()
	total := record.NewSnapshot("w", "i")
	l.publish(total, 7)
	await.True(l, "the first second", func() bool { return strings.Contains(p.screen.String(), "sent 7 ") })
	l.publish(total, 5)
	await.True(l, "the next second", func() bool { l.renew(); return strings.Contains(p.screen.String(), "sent 12 ") })
	total.Final = true
	l.publish(total, 1)
	l.departs()
	if _, stderr, code := execute("stop", "x"); code != cli.CodeGood {
		l.Fatal(stderr)
	}
	if c := await.Receive(l, "the end of the watch", code); c != cli.CodeGood {
		l.Errorf("exit code %d", c)
	}
	return out.String()
}

// TestWatchOnATerminal: the progress is one line, and the report is complete.
func TestWatchOnATerminal(t *testing.T) {
	l := newLab(t)
	l.start()
	p := newTerminal(t, 60)
	stdout := l.watched(p, "-o", "json")
	var r report.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.Run != "x" || r.Audit.Sent != 13 {
		t.Errorf("%v, %+v", err, r.Audit)
	}
	shown := p.shown()
	lines := strings.Split(shown, "\r\x1b[K")
	if lines[0] != "" || len(lines) < 4 || strings.Count(shown, "\n") != 1 || !strings.HasSuffix(shown, "\n") {
		t.Errorf("not one line that is written anew: %q", shown)
	}
	for _, line := range lines[1:] {
		if text := strings.TrimSuffix(line, "\n"); len([]rune(text)) > 59 || strings.ContainsAny(text, "\r\n\x1b") || !strings.HasPrefix(text, "x: ") {
			t.Errorf("line %q", line)
		}
	}
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "x: stopped  asked ") || !strings.Contains(last, "sent 13  ok 13") {
		t.Errorf("the last line is %q", last)
	}
}

// TestOutIsReplacedInOneStep: a reader of the file sees the old or the new report, and stdout is empty.
func TestOutIsReplacedInOneStep(t *testing.T) {
	l := newLab(t)
	l.start()
	dir := t.TempDir()
	name := filepath.Join(dir, "report.json")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if stdout := l.watched(newTerminal(t, 80), "-o", "json", "--out", name); stdout != "" {
		t.Errorf("stdout %q", stdout)
	}
	text, err := os.ReadFile(name)
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil || r.Audit.Sent != 13 {
		t.Errorf("%v, %.100q", err, text)
	}
	was := make([]byte, 10) // another file, so readers of the old one saw no change
	if n, _ := old.Read(was); err != nil || string(was[:n]) != "old" {
		t.Errorf("%v, the old file holds %q", err, was)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestWatchOfARunThatVanishes: the watch ends with an error.
func TestWatchOfARunThatVanishes(t *testing.T) {
	l := newLab(t)
	l.start()
	w := launch("watch", "x")
	await.True(t, "progress", func() bool { return strings.Contains(w.stderr.String(), "x: 100/s  asked ") })
	l.redis.Client().FlushAll(t.Context())
	code := await.Receive(t, "the end of the watch", w.code)
	if out, errs := w.stdout.String(), w.stderr.String(); code != cli.CodeOther || out != "" || !strings.HasSuffix(errs, "error: run x: there is no such run\n") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}

// TestRunWithoutRedis: the error names the command that sends the same load from one machine, with the given flags and
// without secrets.
func TestRunWithoutRedis(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", []byte("X: y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const says = "error: which Redis? Give --redis redis://host:port, or set LOADCTL_REDIS; or send from this machine alone, without Redis: loadworker run "
	for want, args := range map[string][]string{
		"--url http://127.0.0.1:8080/ --qps 500/s --duration 10s":    {"--duration", "10s", "--qps", "500/s", "--url", "http://127.0.0.1:8080/"},
		"--url 'http://127.0.0.1:8080/?a=b&c=d' --rate 30/m -n 1500": {"--rate", "30/m", "--url", "http://127.0.0.1:8080/?a=b&c=d", "-n", "1.5k"},
		"--url noop:// --stage 1m:200 --stage 5m:1k -o json": {
			"--url=noop://", "--stage", "1m:200", "--stage", "5m:1k", "-o", "json", "--min-workers", "3", "--deadman", "1m", "--new", "--progress", "5s",
		},
		"--url http://redacted@127.0.0.1/ --qps 5 --duration 1h30m --limiter token-bucket --spread=false -H 'Authorization: [redacted]' -H 'Accept: a b' -H @file " +
			"-d '[redacted]' --timeout 2m --insecure --out 'it'\\''s.json'": {
			"--url", "http://user:" + secret + "@127.0.0.1/", "--qps=5", "--duration", "90m", "-d", secret, "-H", "Authorization: " + secret, "-H", "Accept: a b", "-H", "@file",
			"-k", "--limiter=token-bucket", "--spread=false", "--timeout", "120s", "--out", "it's.json",
		},
	} {
		stdout, stderr, code := execute(append([]string{"run", "x"}, args...)...)
		if code != cli.CodeConfig || stdout != "" || stderr != says+want+"\n" {
			t.Errorf("%q: exit code %d\n%s\nwant\n%s", args, code, stderr, says+want)
		}
	}
}
