package loadworker

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// asWorker makes the test binary act as loadworker.
const asWorker = "LOADWORKER_TEST_IS_LOADWORKER"

func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// process is a loadworker of its own, run by a shell so that limits and redirections can be set for it.
type process struct {
	*testing.T
	*child.Process
}

// shell starts `line`, in which "$@" is loadworker with these arguments.
func shell(t *testing.T, line string, args ...string) *process {
	t.Helper()
	cmd := exec.Command("bash", append([]string{"-c", line, "bash", os.Args[0]}, args...)...)
	cmd.Env = append(os.Environ(), asWorker+"=1")
	p, err := child.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return &process{T: t, Process: p}
}

// begin starts a loadworker without further settings.
func begin(t *testing.T, args ...string) *process {
	t.Helper()
	return shell(t, `exec "$@"`, args...)
}

// says waits until stderr contains this text.
func (p *process) says(text string) {
	p.Helper()
	await.True(p, fmt.Sprintf("%q to say %q", p.Cmd.Args, text), func() bool {
		select {
		case <-p.Exited:
			return true
		default:
			return strings.Contains(p.Stderr.String(), text)
		}
	})
	if !strings.Contains(p.Stderr.String(), text) {
		p.Fatalf("%q ended and did not say %q: %s", p.Cmd.Args, text, p.Stderr.String())
	}
}

// ends waits for the end.
func (p *process) ends() (code int) {
	p.Helper()
	await.Closed(p, fmt.Sprintf("the end of %q", p.Cmd.Args), p.Exited)
	return p.Cmd.ProcessState.ExitCode()
}

func (p *process) interrupt() {
	p.Helper()
	if err := p.Cmd.Process.Signal(os.Interrupt); err != nil {
		p.Fatal(err)
	}
}

// TestTooFewDescriptors: the error comes before the worker joins, not as failed requests during the run.
func TestTooFewDescriptors(t *testing.T) {
	f := newFleet(t)
	spec := specOf(t, "--url", f.second.URL, "--qps", "10", "--min-workers", "2")
	if _, _, err := run.Create(t.Context(), f.redis.Client(), "there", spec, run.Options{}); err != nil {
		t.Fatal(err)
	}
	before := redistest.Contents(t, f.redis.Client())
	for _, c := range []struct {
		limit string
		args  []string
		says  []string
	}{
		{"64", []string{"run", "--run", "x", "--url", f.second.URL, "--qps", "10"}, []string{"open 1000 connections: 1100 file descriptors are needed, 64 are allowed; ulimit -n 1100"}},
		{"64", []string{"run", "--run", "there", "--allow-any"}, []string{"open 1000 connections", "ulimit -n 1100"}},
		{"300", []string{"run", "--run", "there", "--allow-any", "-c", "500"}, []string{"open 500 connections", "ulimit -n 600", "or --max-connections 200"}},
		{"300", []string{"run", "--run", "x", "--url", "http://h", "--unix-socket", "/s", "--qps", "10"}, []string{"open 1000 connections", "or --max-connections 200"}},
	} {
		p := shell(t, `ulimit -n `+c.limit+`; exec "$@"`, c.args...)
		code := p.ends()
		clitest.Refusal{Args: c.args, Says: c.says}.Check(t, p.Stdout.String(), p.Stderr.String(), code)
	}
	refused(t, []string{"run", "--run", "there", "--allow-any", "--max-connections", "1000000", "-c", "1000000"}, "open 1000000 connections", "--max-connections")
	if after := redistest.Contents(t, f.redis.Client()); !maps.Equal(before, after) {
		t.Errorf("Redis holds %v and held %v", after, before)
	}
	// The advice helps, and a target that does not connect needs none.
	for name, args := range map[string][]string{"few": {"--url", f.second.URL, "--max-connections", "200"}, "none": {"--url", "noop://"}} {
		p := shell(t, `ulimit -n 300; exec "$@"`, append([]string{"run", "--run", name, "--qps", "100", "-n", "5"}, args...)...)
		if code := p.ends(); code != cli.CodeGood {
			t.Errorf("%s: exit code %d, %s", name, code, p.Stderr.String())
		}
	}
}

// TestReportThatCannotBeWritten: the error says that the report is lost, or where it is; the run itself is not
// affected.
func TestReportThatCannotBeWritten(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	brief := func(name string) []string {
		return append([]string{"run", "--run", name, "--url", "noop://", "--qps", "200", "-n", "10"}, patient()...)
	}
	const full = ": write /dev/stdout: no space left on device; the report is "
	for _, args := range [][]string{brief("full"), append(brief("json"), "-o", "json"), {"run", "--run", "full", "--allow-any"}} {
		p := shell(t, `exec "$@" >/dev/full`, args...)
		if code := p.ends(); code != cli.CodeOther || !strings.Contains(p.Stderr.String(), full+"still in Redis: loadctl report "+args[2]+"\n") {
			t.Errorf("%q: exit code %d, %s", args, code, p.Stderr.String())
		}
	}
	r, err := run.Open(t.Context(), server.Client(), "full")
	if err != nil {
		t.Fatal(err)
	}
	if rep, err := results.Report(t.Context(), r); err != nil || rep.Audit.Sent != 10 || !rep.Complete {
		t.Errorf("what should still be in Redis: %+v, %v", rep.Audit, err)
	}
	p := shell(t, `exec "$@" >/dev/full`, append(brief("embedded"), "--redis", "embedded:0")...)
	if code := p.ends(); code != cli.CodeOther || !strings.Contains(p.Stderr.String(), full+"lost with the embedded Redis") {
		t.Errorf("exit code %d, %s", code, p.Stderr.String())
	}
	// Go replaces a closed stdout by /dev/null, so nobody can notice; but the run must not suffer.
	p = shell(t, `exec "$@" >&-`, brief("closed")...)
	if code := p.ends(); code != cli.CodeGood {
		t.Errorf("stdout closed: exit code %d, %s", code, p.Stderr.String())
	}
	for _, name := range []string{"/proc/report", "/dev/full", "/dev/null/report"} {
		refused(t, append(brief("x"), "--out", name), "--out", "; give ")
	}
}

// TestTheReportsFileGoesAway: this is noticed only when the report is ready.
func TestTheReportsFileGoesAway(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	dir := t.TempDir() + "/away"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := begin(t, "run", "--run", "x", "--url", "noop://", "--qps", "100", "--min-workers", "2", "--out", dir+"/report")
	p.says("waiting for workers")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	p.interrupt()
	if code := p.ends(); code != cli.CodeSignal || !strings.Contains(p.Stderr.String(), "write "+dir+"/report: no such file or directory; it is on standard output instead; the report is still in Redis: loadctl report x") {
		t.Errorf("exit code %d, %s", code, p.Stderr.String())
	}
}

// TestWarnsOfSmallBurst: workers that create or join the run warn that a part of its rate may be lost, and say which
// burst suffices.
func TestWarnsOfSmallBurst(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", redistest.Start(t).URL())
	for _, more := range [][]string{{"--url", "noop://", "--qps", "500", "--limiter", "token-bucket", "--burst", "4"}, {"--allow-any"}} {
		p := begin(t, append([]string{"run", "--run", "x"}, more...)...)
		p.says("level=WARN")
		p.says("a burst of 4 may be used up before; a burst of 5 is enough")
	}
}

// TestTwoWorkersOfOneID: the newer one goes on.
func TestTwoWorkersOfOneID(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	args := []string{"run", "--run", "x", "--url", "noop://", "--qps", "100", "--id", "twin"}
	older := begin(t, args...)
	older.says("created run")
	r, err := run.Open(t.Context(), server.Client(), "x")
	if err != nil {
		t.Fatal(err)
	}
	await.True(t, "the older one is there", func() bool { return members(t, r) == 1 })
	newer := begin(t, args...)
	if code := older.ends(); code != cli.CodeConfig ||
		!strings.Contains(older.Stderr.String(), "error: worker twin: another process has taken this worker's id; give each worker an --id of its own\n") {
		t.Errorf("the older one: exit code %d, %s", code, older.Stderr.String())
	}
	if n := members(t, r); n != 1 {
		t.Errorf("%d members", n)
	}
	if _, err := r.Stop(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if code := newer.ends(); code != cli.CodeGood {
		t.Errorf("the newer one: exit code %d, %s", code, newer.Stderr.String())
	}
}

func members(t *testing.T, r *run.Run) int64 {
	t.Helper()
	s, err := r.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Members
}

// atOnce tells whether a worker has ended soon enough after Ctrl-C. Only a quiet machine can tell. The timeouts of a
// worker's waits are longer.
func atOnce(pressed time.Time) bool {
	return os.Getenv("LOADCTL_E2E") != "full" || time.Since(pressed) <= 2500*time.Millisecond
}

// TestInterruptEndsWaiting: if there is nothing to finish, a worker ends. What it waits for never comes.
func TestInterruptEndsWaiting(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	described := []string{"run", "--url", "noop://", "--qps", "100", "--run"}
	for _, c := range []struct {
		name, says string
		args       []string
		before     func()
	}{
		{name: "for the run", says: "waiting for the run to be created", args: []string{"run", "--allow-any", "--wait", "--run", "none"}},
		{name: "for workers", says: "waiting for workers", args: append(described, "two", "--min-workers", "2")},
		{name: "for loadctl start", says: "waiting for loadctl start", args: append(described, "start", "--min-workers", "0")},
		{name: "with an embedded Redis", says: "waiting for workers", args: append(described, "two", "--min-workers", "2", "--redis", "embedded:0")},
		{name: "for a Redis that hangs", says: "waiting for the run to be created", args: []string{"run", "--allow-any", "--wait", "--run", "none"}, before: func() {
			server.Pause()
			await.True(t, "it has asked", func() bool { return unread(t, server.Addr()) })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, c.args...)
			p.says(c.says)
			if c.before != nil {
				c.before()
			}
			pressed := time.Now()
			p.interrupt()
			code := p.ends()
			if code != cli.CodeSignal || !atOnce(pressed) || strings.Contains(p.Stderr.String(), "error:") {
				t.Errorf("exit code %d after %v, %s", code, time.Since(pressed), p.Stderr.String())
			}
		})
	}
	server.Resume()
}

// unread tells whether a server at 127.0.0.1:port has received data that it has not read.
func unread(t *testing.T, addr string) bool {
	t.Helper()
	_, port, _ := net.SplitHostPort(addr)
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("/proc/net/tcp") // sl, local address, remote address, state, tx_queue:rx_queue, …
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if f[1] == fmt.Sprintf("0100007F:%04X", n) && f[3] == "01" && !strings.HasSuffix(f[4], ":00000000") {
			return true
		}
	}
	return false
}

// TestInterruptWhileConnecting: to a Redis, and to a target, that accepts and then stays silent.
func TestInterruptWhileConnecting(t *testing.T) {
	server := redistest.Start(t)
	for name, c := range map[string]struct{ redis, url string }{
		"Redis":  {"redis://" + silent(t), "noop://"},
		"target": {server.URL(), "https://" + silent(t)},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, "run", "--run", "x", "--redis", c.redis, "--url", c.url, "--qps", "10")
			await.True(t, "it is connecting", func() bool { return connected(t, p.Cmd.Process.Pid) })
			pressed := time.Now()
			p.interrupt()
			code := p.ends()
			if code != cli.CodeSignal || !atOnce(pressed) || p.Stderr.String() != "" {
				t.Errorf("exit code %d after %v, %s", code, time.Since(pressed), p.Stderr.String())
			}
		})
	}
}

// connected tells whether a process has a socket open.
func connected(t *testing.T, pid int) bool {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	open, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(open, func(fd os.DirEntry) bool {
		to, err := os.Readlink(filepath.Join(dir, fd.Name()))
		return err == nil && strings.HasPrefix(to, "socket:")
	})
}
