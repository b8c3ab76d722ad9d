package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/report"
)

// launch starts a command that runs during the test. redis is its LOADCTL_REDIS; "" = none.
func launch(t *testing.T, redis, name string, args ...string) *process {
	t.Helper()
	return start(t, redis, filepath.Join(binaries, name), nil, args...)
}

// start is launch of any program, with its standard error on a terminal if there is one.
func start(t *testing.T, redis, path string, terminal *os.File, args ...string) *process {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir = t.TempDir() // workers save counts here that Redis did not take
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "LOADCTL_REDIS=") })
	if redis != "" {
		cmd.Env = append(cmd.Env, "LOADCTL_REDIS="+redis)
	}
	if terminal != nil {
		cmd.Stderr = terminal
	}
	return begin(t, cmd, nil)
}

// operator starts a loadctl that stays with a run.
func (b *bed) operator(args ...string) *process {
	b.t.Helper()
	return launch(b.t, b.url(), "loadctl", args...)
}

// guest joins a run by its name.
func (b *bed) guest(name string, args ...string) *process {
	b.t.Helper()
	return b.worker(name, append([]string{"--wait", "--allow-hosts", "127.0.0.1"}, args...)...)
}

// signal sends a signal to a process that has not ended.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// says waits until the process has written something to stderr.
func (p *process) says(text string) {
	p.t.Helper()
	await.True(p.t, strconv.Quote(text), func() bool {
		select {
		case <-p.Exited:
			if s := p.Stderr.String(); !strings.Contains(s, text) {
				p.t.Fatalf("it ended and did not say %q:\n%s", text, s)
			}
		default:
		}
		return strings.Contains(p.Stderr.String(), text)
	})
}

// printed returns the report on stdout, which must be one whole JSON object.
func (p *process) printed() report.Report {
	p.t.Helper()
	return decoded(p.t, p.Stdout.String())
}

func decoded(t *testing.T, text string) report.Report {
	t.Helper()
	var r report.Report
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&r); err != nil || d.More() {
		t.Fatalf("not a report: %v\n%.500s", err, text)
	}
	if err := r.CheckAudit(); err != nil {
		t.Error(err)
	}
	return r
}

// mark is a line of progress.
type mark struct {
	phase           string // or the rate
	asked, sent, ok int64
}

// marks returns the lines of progress so far, with their counts. Counts never fall, and no line controls a terminal.
func (p *process) marks() []mark {
	p.t.Helper()
	text := p.Stderr.String()
	if strings.ContainsAny(text, "\r\x1b") {
		p.t.Errorf("escape codes although it is no terminal: %q", text)
	}
	var all []mark
	for _, m := range regexp.MustCompile(`(?m)^[\w-]+: (\S+)  asked (\d+)  sent (\d+)  ok (\d+).*\n`).FindAllStringSubmatch(text, -1) {
		n := make([]int64, 3)
		for i := range n {
			n[i], _ = strconv.ParseInt(m[2+i], 10, 64) // they are digits
		}
		all = append(all, mark{phase: m[1], asked: n[0], sent: n[1], ok: n[2]})
		if i := len(all) - 1; i > 0 && (all[i].asked < all[i-1].asked || all[i].sent < all[i-1].sent || all[i].ok < all[i-1].ok) {
			p.t.Errorf("progress goes back:\n%s", text)
		}
	}
	return all
}

// endsWith checks that the last line of progress agrees with the report.
func (p *process) endsWith(phase string, r report.Report) {
	p.t.Helper()
	all := p.marks()
	want := mark{phase: phase, asked: r.Asked, sent: r.Audit.Sent, ok: r.Audit.Completed}
	if len(all) == 0 || all[len(all)-1] != want {
		p.t.Errorf("the last progress should be %+v:\n%s", want, p.Stderr.String())
	}
}

// exact checks that the run sent n requests, and all of them arrived.
func (b *bed) exact(r report.Report, n int64) {
	b.t.Helper()
	if arrived := b.web.Count(); arrived != n || r.Asked != n || r.Audit.Sent != n || r.Audit.Completed != n || !r.Complete || r.Running {
		b.t.Errorf("%d arrived, want %d; %+v, complete %v %v", arrived, n, r.Audit, r.Complete, r.Notes)
	}
}

// described returns the flags of a patient run of 300/s for some time.
func (b *bed) described(duration string, more ...string) []string {
	args := append(patient(), "--url", b.web.URL(), "--qps", "300")
	if !acceptance() {
		args = append(args, "--timeout", "5m")
	}
	if duration != "" {
		args = append(args, "--duration", duration)
	}
	return append(args, more...)
}

// counted is described for tests that count all requests asked for. Unless the machine is quiet, leases are so long
// that no worker is too slow to renew its own.
func (b *bed) counted(duration string, more ...string) []string {
	args := b.described(duration, more...)
	if !acceptance() {
		args = append(args, "--permit-for", "1m")
	}
	return args
}

// here waits until n members are in the run and have renewed since, and checks that nothing was sent.
func (b *bed) here(name string, n int) {
	b.t.Helper()
	b.members(name, n)
	b.renewed(name)
	if s := b.status(name); s.Phase != "waiting" || b.web.Count() != 0 {
		b.t.Errorf("%s, and %d arrived", s.Phase, b.web.Count())
	}
}

// read is status without a process, and so without a sign of life of a controller. Its zero value: there is no such run.
func (b *bed) read(name string) run.State {
	b.t.Helper()
	ctx, client := b.t.Context(), b.redis.Client()
	r, err := run.Open(ctx, client, name)
	if errors.Is(err, run.ErrNoRun) {
		return run.State{}
	}
	if err != nil {
		b.t.Fatal(err)
	}
	s, err := r.State(ctx)
	if errors.Is(err, run.ErrNoRun) {
		return run.State{}
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return *s
}

// incarnation is the newest process of a worker, as the run has it. Its zero value: there is none.
func (b *bed) incarnation(name, id string) (newest run.Worker) {
	b.t.Helper()
	for _, w := range b.read(name).Workers {
		if w.ID == id && w.State != "replaced" {
			newest = w
		}
	}
	return newest
}

// comes waits for a phase of a run.
func (b *bed) comes(name, phase string) {
	b.t.Helper()
	await.True(b.t, name+" is "+phase, func() bool { return b.read(name).Phase == phase })
}

// lost waits until the lease of a worker has ended.
func (b *bed) lost(name, id string) {
	b.t.Helper()
	await.True(b.t, "the end of the lease of "+id, func() bool { return b.incarnation(name, id).State == "lost" })
}

// renewed waits until each worker that is in the run has called again.
func (b *bed) renewed(name string) {
	b.t.Helper()
	from := b.read(name)
	await.True(b.t, "another sign of life of each worker", func() bool {
		now := b.read(name).Workers
		return !slices.ContainsFunc(from.Workers, func(was run.Worker) bool {
			here := was.State == "active" || was.State == "silent"
			return here && slices.ContainsFunc(now, func(w run.Worker) bool {
				return w.Process() == was.Process() && !w.LastSeen.After(was.LastSeen) && w.State == was.State
			})
		})
	})
}

// members waits until n workers are in the run.
func (b *bed) members(name string, n int) {
	b.t.Helper()
	await.True(b.t, fmt.Sprintf("%d members", n), func() bool { return b.read(name).Members == int64(n) })
}

// TestCreateAndStart: an operator sees all workers before the first request.
func TestCreateAndStart(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.loadctl(append([]string{"create", "x"}, b.described("")...)...)
	if s := b.status("x"); s.Phase != "waiting" || s.Members != 0 || s.RateThen != 300 {
		t.Errorf("%+v", s)
	}
	ps := []*process{b.guest("x"), b.guest("x")}
	b.here("x", 2)
	c := b.change("start", "x")
	if again := b.change("start", "x"); !c.Changed || c.At.IsZero() || again.Changed || !again.At.Equal(c.At) {
		t.Errorf("%+v, again %+v", c, again)
	}
	b.started(300)
	b.loadctl("stop", "x")
	for _, p := range ps {
		p.wait(0)
	}
	n := b.web.Count()
	for _, p := range ps {
		b.whole(p.printed())
	}
	// No request leaves before its slot is due, except for the errors of the clocks of workers and target, which are
	// not that of Redis. A worker knows that clock better the sooner Redis answers.
	clocks := scale(500*time.Millisecond, time.Millisecond)
	if first := time.Unix(0, b.web.Arrivals()[0]); first.Before(c.At.Add(-clocks)) {
		t.Errorf("the first arrived %v before the start", c.At.Sub(first))
	}
	if _, stderr, code := b.try("start", "x"); code != 104 || !strings.Contains(stderr, "start x: the run is over, since ") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	b.guest("x").wait(0) // it came too late, so it sends nothing
	if b.whole(b.report("x")); b.web.Count() != n {
		t.Errorf("%d arrived before the end, and later %d", n, b.web.Count())
	}
}

// whole checks the report of a run that was stopped: all that was sent arrived, and nothing else is missing than what
// the stop dropped.
func (b *bed) whole(r report.Report) {
	b.t.Helper()
	a := r.Audit
	dropped := a.Skipped + a.Lost
	if acceptance() {
		dropped += a.LateDropped
	}
	if n := b.web.Count(); written(r) != n || a.Completed != n || n == 0 || dropped > 0 || !r.Complete || r.Running {
		b.t.Errorf("%d arrived, %+v, %v, complete %v %v", n, a, r.Errors, r.Complete, r.Notes)
	}
}

// TestBegin checks with how many workers a created run begins.
func TestBegin(t *testing.T) {
	nightly(t)
	t.Parallel()
	for _, c := range []struct {
		name, min string
		workers   int
		start     bool // whether a command starts it
		before    bool // whether workers come before the start
	}{
		{"by itself", "2", 2, false, false},
		{"with fewer", "3", 2, true, false},
		{"with the first", "0", 1, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			b.loadctl(append([]string{"create", "x", "--min-workers", c.min}, b.counted("1s")...)...)
			if c.before {
				if text := b.loadctl("start", "x"); !strings.Contains(text, "begins when the first") {
					t.Error(text)
				}
			}
			var ps []*process
			for i := range c.workers {
				if i == 1 {
					b.here("x", 1)
				}
				ps = append(ps, b.guest("x"))
			}
			if c.start && !c.before {
				b.here("x", c.workers)
				b.loadctl("start", "x")
			}
			for _, p := range ps {
				p.wait(0)
			}
			b.exact(b.report("x"), 300)
		})
	}
}

// TestRunFromBeginningToEnd: create, wait, progress, report.
func TestRunFromBeginningToEnd(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	for _, c := range []struct{ name, file string }{{name: "stdout"}, {"file", filepath.Join(t.TempDir(), "report.json")}} {
		b.web.Reset()
		args := append(b.counted("3s", "--min-workers", "2", "-o", "json"), "--out", c.file)
		p := b.operator(append([]string{"run", c.name}, args...)...)
		p.says("created run " + c.name + "; workers join with: loadworker run --run " + c.name + " --allow-hosts 127.0.0.1:")
		p.says(c.name + ": waits for workers, 0 of 2 are here\n")
		ps := []*process{b.guest(c.name)}
		p.says(c.name + ": waits for workers, 1 of 2 are here\n")
		for _, w := range append(ps, b.guest(c.name), p) {
			w.wait(0)
		}
		text := p.Stdout.String()
		if c.file != "" {
			b, err := os.ReadFile(c.file)
			if err != nil || text != "" {
				t.Errorf("%v; on stdout there is %q", err, text)
			}
			text = string(b)
		}
		r := decoded(t, text)
		b.exact(r, 900)
		p.endsWith("ended", r)
		if all := p.marks(); acceptance() && (len(all) < 3 || all[0].sent >= 900) {
			t.Errorf("no progress on the way:\n%s", p.Stderr.String())
		}
	}
}

// bounds checks how many requests arrived in a run of which a worker was killed. What is on the wire then may be lost.
func (b *bed) bounds(a report.Audit) {
	b.t.Helper()
	if n := b.web.Count(); n < a.Sent-a.InFlight || acceptance() && n < a.Sent || n > a.Sent+a.Lost {
		b.t.Errorf("%d arrived, %+v", n, a)
	}
}

// sent returns how many requests have been sent so far. The server may be late to read them, so workers stand still
// until it has.
func (b *bed) sent(ps ...*process) (n int64) {
	b.t.Helper()
	for _, p := range ps {
		if err := await.Frozen(p.Cmd.Process); err != nil { // it ends
			await.Closed(b.t, "the end of "+strings.Join(p.Cmd.Args, " "), p.Exited)
			continue
		}
		defer p.signal(syscall.SIGCONT)
	}
	n = -1
	await.True(b.t, "the server to read all that was sent", func() bool {
		was := n
		n = b.web.Count()
		return !b.unread() && n == was
	})
	return n
}

// unread reports whether connections of the server hold bytes that it has not read.
func (b *bed) unread() bool {
	b.t.Helper()
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		b.t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(b.web.Addr())
	number, err := strconv.Atoi(port)
	if err != nil {
		b.t.Fatal(err)
	}
	server := fmt.Sprintf(":%04X", number)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line) // number, local and remote address, state, bytes to send and to read
		const listens = "0A"
		if len(f) < 5 || f[3] == listens {
			continue
		}
		to, from, _ := strings.Cut(f[4], ":")
		if strings.HasSuffix(f[1], server) && strings.Trim(from, "0") != "" || strings.HasSuffix(f[2], server) && strings.Trim(to, "0") != "" {
			return true
		}
	}
	return false
}

// TestInterruptedRunStops: Ctrl-C is the operator's stop.
func TestInterruptedRunStops(t *testing.T) {
	besides(t)
	b := newBed(t)
	p := b.operator(append([]string{"run", "x", "-o", "json"}, b.described("")...)...)
	p.says("created run x;")
	ps := []*process{b.guest("x"), b.guest("x")}
	b.members("x", 2)
	b.started(b.web.Count() + 300)
	p.signal(os.Interrupt)
	p.wait(105)
	count := b.sent(ps...)
	b.whole(p.printed())
	if s := p.Stderr.String(); !strings.HasSuffix(s, "stopping run x; a second Ctrl-C ends at once\n") {
		t.Error(s)
	}
	for _, w := range ps {
		w.wait(0)
	}
	if s := b.status("x"); s.Phase != "stopped" || b.web.Count() != count {
		t.Errorf("%s; %d arrived, and later %d", s.Phase, count, b.web.Count())
	}
}

// TestInterruptedRunCannotConfirm: a silent worker may go on sending without end; the error says so, and the report is
// still printed.
func TestInterruptedRunCannotConfirm(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.operator("run", "x", "--url", b.web.URL(), "--qps", "300", "--on-redis-loss", "hold", "--max-lag", "100ms", "-o", "json")
	w := b.guest("x", "--id", "w")
	b.started(100)
	w.Kill()
	p.signal(os.Interrupt)
	p.wait(105)
	if s := lastLine(p.Stderr.String()); !strings.HasPrefix(s, "error: ended by a signal; stop x: cannot be confirmed for w: ") || !strings.HasSuffix(s, " loadctl workers rm x w") {
		t.Error(s)
	}
	b.bounds(p.printed().Audit)
	if _, stderr, code := b.try("stop", "x"); code != 1 || !strings.Contains(stderr, "cannot be confirmed for w") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	b.loadctl("workers", "rm", "x", "w")
	b.loadctl("stop", "x")
}

// TestInterruptBeforeTheBeginning: a waiting run is stopped too, and workers that come later have nothing to do.
func TestInterruptBeforeTheBeginning(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	p := b.operator(append([]string{"run", "x", "-o", "json"}, b.described("")...)...)
	p.says("x: waits for workers, 0 of 1 are here\n")
	p.signal(syscall.SIGTERM)
	p.wait(105)
	if r := p.printed(); r.Asked != 0 || b.status("x").Phase != "stopped" {
		t.Errorf("%+v", r.Audit)
	}
	b.guest("x").wait(0)
	if n := b.web.Count(); n != 0 {
		t.Errorf("%d arrived", n)
	}
}

// TestSecondInterruptOfRun: the second Ctrl-C ends loadctl run at once; the first one waits for Redis.
func TestSecondInterruptOfRun(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	p := b.operator(append([]string{"run", "x"}, b.described("")...)...)
	p.says("x: waits for workers")
	b.redis.Pause()
	defer b.redis.Resume()
	p.signal(os.Interrupt)
	p.says("stopping run x; a second Ctrl-C ends at once\n")
	p.signal(os.Interrupt)
	p.wait(105)
	if s := p.Stdout.String(); s != "" {
		t.Error(s)
	}
}

// TestKilledOperatorChangesNothing: the run goes on, and others watch it.
func TestKilledOperatorChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.operator(append([]string{"run", "x"}, b.described("", "--min-workers", "2")...)...)
	ps := []*process{b.guest("x"), b.guest("x")}
	b.started(100)
	p.Kill()
	b.started(b.web.Count() + 100)
	watch := b.operator("watch", "x", "-o", "json")
	watch.says("  asked ")
	left := b.operator("watch", "x", "-o", "json")
	left.says("  asked ")
	left.signal(os.Interrupt)
	left.wait(105)
	so := left.printed()
	if !so.Running || so.Audit.Sent == 0 || so.Audit.Completed > b.web.Count() {
		t.Errorf("%d arrived, and the report so far: running %v, %+v", b.web.Count(), so.Running, so.Audit)
	}
	if s := left.Stderr.String(); strings.Contains(s, "error") || strings.Contains(s, "stopping") {
		t.Error(s)
	}
	b.started(b.web.Count() + 100)
	b.loadctl("stop", "x")
	for _, p := range append(ps, watch) {
		p.wait(0)
	}
	r := watch.printed()
	if b.whole(r); r.Audit.Sent < so.Audit.Sent+100 {
		t.Errorf("%+v, and before %+v", r.Audit, so.Audit)
	}
	watch.endsWith("stopped", r)
	late := b.operator("watch", "x", "-o", "json")
	late.wait(0)
	late.endsWith("stopped", late.printed())
}

// TestRunIsTakenUp: the same command again watches the existing run; the name of an ended run is an error.
func TestRunIsTakenUp(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	args := append([]string{"run", "x", "-o", "json"}, b.counted("")...)
	p := b.operator(args...)
	w := b.guest("x")
	b.started(100)
	again := b.operator(args...)
	again.says("run x exists already, with the same description; Ctrl-C stops it\n")
	again.says("  asked ")
	b.loadctl("stop", "x")
	for _, p := range []*process{w, p, again} {
		p.wait(0)
	}
	for _, p := range []*process{p, again} {
		r := p.printed()
		b.whole(r)
		p.endsWith("stopped", r)
	}
	late := b.operator(args...)
	late.wait(104)
	if s := late.Stderr.String(); !strings.HasPrefix(s, "error: run x ") || !strings.Contains(s, "--new") || strings.Count(s, "\n") != 1 {
		t.Error(s)
	}
	b.web.Reset()
	anew := b.operator(append(args, "--new")...)
	anew.says("created run x;")
	w = b.guest("x")
	b.started(100)
	b.loadctl("stop", "x")
	w.wait(0)
	anew.wait(0)
	b.whole(anew.printed())
}

// TestOutageWhileWatching: a watch says that Redis does not answer, and goes on when it does. Meanwhile workers send
// what they were leased. A lease of 2 s that was not renewed in time covers nothing.
func TestOutageWhileWatching(t *testing.T) {
	nightly(t)
	t.Parallel()
	for _, loss := range []string{"permit", "stop"} {
		t.Run(loss, func(t *testing.T) {
			b := newBed(t)
			p := b.operator(append([]string{"run", "x", "-o", "json"}, b.described("", "--on-redis-loss", loss)...)...)
			w := b.guest("x")
			b.started(300)
			watch := b.operator("watch", "x", "-o", "json")
			watch.says("  asked ")
			b.redis.Pause()
			began := time.Now()
			for _, p := range []*process{p, watch} {
				p.says("x: Redis does not answer; waiting for it\n")
			}
			await.True(t, "three seconds to pass", func() bool { return time.Since(began) > 3*time.Second })
			count := b.web.Count()
			b.redis.Resume()
			b.started(count + 600) // first what became due in the outage
			for _, p := range []*process{p, watch} {
				await.True(t, "progress after the outage", func() bool {
					_, after, _ := strings.Cut(p.Stderr.String(), "x: Redis does not answer; waiting for it\n")
					return strings.Contains(after, "x: 300/s  asked ")
				})
			}
			b.loadctl("stop", "x")
			for _, p := range []*process{w, p, watch} {
				p.wait(0)
			}
			r := b.report("x")
			n, a := b.web.Count(), r.Audit
			if written(r) != n || a.Lost > 0 || !r.Complete {
				t.Errorf("%d arrived, %+v", n, a)
			}
			// With stop the lease ends 2 s into the outage. Slots due in the last second leave late, or are dropped unless
			// workers are patient. They are nobody's if no worker is back in time.
			late := time.Duration(r.Lag.Max) >= 500*time.Millisecond || a.Skipped >= 150
			if acceptance() {
				late = a.LateDropped >= 200
			}
			if loss == "stop" && !late {
				t.Errorf("%d arrived, at most %v late, %+v", n, time.Duration(r.Lag.Max), a)
			}
			for _, p := range []*process{p, watch} {
				p.endsWith("stopped", p.printed())
				if text := p.Stderr.String(); acceptance() && strings.Contains(text, "NO WORKERS") { // a slow one may not be back in time
					t.Error(text)
				}
			}
		})
	}
}

// TestDeadServerWhileWatching: the watch asks a dead server until it is back.
func TestDeadServerWhileWatching(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.loadctl(append([]string{"create", "x"}, b.described("")...)...)
	p := b.operator("watch", "x")
	p.says("x: waits for loadctl start, workers 0\n")
	b.redis.Kill()
	p.says("x: Redis ") // cannot be reached, or, on a slow machine, has not answered for half a second before
	b.redis.Restart()   // empty
	p.wait(1)
	if s := p.Stderr.String(); !strings.HasSuffix(s, "error: run x: there is no such run\n") || strings.Count(s, "cannot be reached (") > 1 {
		t.Error(s)
	}
}

// TestRunWithoutWorkers: if the only worker of a run dies, the progress says that nothing is sent.
func TestRunWithoutWorkers(t *testing.T) {
	nightly(t)
	t.Parallel()
	for name, flags := range map[string][]string{"without permits": {"--on-redis-loss", "stop"}, "with permits": {"--permit-for", "3s"}} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			p := b.operator(append([]string{"run", "x", "--url", b.web.URL(), "--qps", "300", "-o", "json"}, flags...)...) // not patient: stop would wait as long for the dead worker
			w := b.guest("x")
			b.started(100)
			w.signal(syscall.SIGKILL)
			p.says("  workers 0  ")
			p.says("NO WORKERS: nothing is sent until one joins\n")
			if s := b.loadctl("status", "x"); !strings.Contains(s, "workers  0; nothing is sent until one joins\n") {
				t.Error(s)
			}
			next, count := b.guest("x"), b.web.Count()
			b.started(count + 100)
			await.True(t, "progress with a worker", func() bool { return strings.Contains(lastLine(p.Stderr.String()), "  workers 1  ") })
			p.signal(os.Interrupt)
			p.wait(105)
			next.wait(0)
			if a := p.printed().Audit; a.Skipped+a.Lost == 0 {
				t.Errorf("%+v", a)
			}
			b.bounds(p.printed().Audit)
		})
	}
}

// TestDeadman: a run that nobody watches is stopped; a watch counts, even if Redis does not answer for a moment.
func TestDeadman(t *testing.T) {
	t.Parallel()
	t.Run("watched", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		b.loadctl(append([]string{"create", "x", "--deadman", "10m", "--min-workers", "1"}, b.described("")...)...)
		w := b.guest("x")
		watch := b.operator("watch", "x", "-o", "json")
		watch.says("  asked ")
		alive := func(what string, since time.Time) {
			t.Helper()
			await.True(t, "a sign of life of the watch "+what, func() bool { return b.onlooker("x").After(since) })
		}
		alive("that has begun", time.Now())
		b.redis.Pause()
		watch.says("x: Redis does not answer; waiting for it\n")
		b.redis.Resume()
		alive("after the outage", time.Now())
		watch.Kill()
		b.comes("x", "running")
		b.loadctl("stop", "x")
		w.wait(0)
	})
	t.Run("unwatched", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		p := b.operator(append([]string{"run", "x"}, b.described("", "--deadman", "3s", "--min-workers", "2")...)...)
		p.says("created run x")
		p.Kill()
		left := time.Now()
		for _, p := range []*process{b.guest("x"), b.guest("x")} {
			p.wait(0)
		}
		count, called := b.web.Count(), b.onlooker("x") // before a command is a sign of life
		s := b.status("x")
		if s.StartedAt.After(called) {
			called = s.StartedAt
		}
		if after := s.EndedAt.Sub(called); s.Phase != "stopped" || after < 3*time.Second || acceptance() && s.EndedAt.Sub(left) > 8*time.Second {
			t.Errorf("%s, %v after the last onlooker called", s.Phase, after)
		}
		for _, w := range s.Workers {
			if w.State != "stopped" {
				t.Errorf("%+v", w)
			}
		}
		if events := b.loadctl("events", "x"); !strings.Contains(events, "  deadman  ") || strings.Contains(events, "  stop  ") {
			t.Error(events)
		}
		if b.whole(b.report("x")); b.web.Count() != count {
			t.Errorf("%d arrived, and later %d", count, b.web.Count())
		}
	})
}

// onlooker returns when a controller last called a run: controllerAt in lua/table.go.
func (b *bed) onlooker(name string) time.Time {
	b.t.Helper()
	core, err := lua.Core(b.redis.Client().HGet(b.t.Context(), run.KeysOf(name).Budget, "core").Val())
	if err != nil {
		b.t.Fatal(err)
	}
	at, err := strconv.ParseInt(core["controllerAt"], 10, 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return time.UnixMicro(at)
}

// TestDeadmanIsAnError: if loadctl run was delayed until the dead-man's switch stopped its run, it prints the report
// and an error, whatever the thresholds.
func TestDeadmanIsAnError(t *testing.T) {
	nightly(t)
	t.Parallel()
	for name, more := range map[string][]string{
		"no thresholds": nil, "undecided": {"--threshold", "latency:max<1h over 20s"}, "failed": {"--threshold", "rate:count<1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			p := b.operator(append([]string{"run", "x", "-o", "json"}, b.described("1h", append(more, "--deadman", "3s")...)...)...)
			p.says("created run x")
			p.signal(syscall.SIGSTOP)
			w := b.guest("x")
			await.Closed(t, "the end of the worker", w.Exited) // whatever its exit code: the thresholds have one too
			p.signal(syscall.SIGCONT)
			p.wait(1)
			if r := p.printed(); r.Running || written(r) != b.web.Count() || len(r.Thresholds) != len(more)/2 {
				t.Errorf("%d arrived, %+v, %+v", b.web.Count(), r.Audit, r.Thresholds)
			}
			if s := lastLine(p.Stderr.String()); !strings.HasPrefix(s, "error: run x: its dead-man's switch stopped it: Redis heard from no loadctl for 3s; ") {
				t.Error(s)
			}
		})
	}
}

// TestMaxQPSAndBursts: --max-qps also counts the burst of a limiter, when a worker describes a run, joins it, and takes
// part.
func TestMaxQPSAndBursts(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	described := []string{"--url", b.web.URL(), "--qps", "300", "--limiter", "token-bucket"}
	for burst, says := range map[string]string{
		"10k": "the cluster is asked for 300/s, and its limiter may let 10000 more pass in a second (burst or window), together more than --max-qps 2000 of this worker",
		"1k":  "",
	} {
		p := b.worker("burst-"+burst, append(described, "--burst", burst, "--max-qps", "2k", "-n", "10")...)
		if says == "" {
			p.wait(0)
			continue
		}
		p.wait(104)
		if s := p.Stderr.String(); s != "error: run burst-"+burst+": "+says+"; nothing was sent\n" {
			t.Error(s)
		}
	}
	stays := b.worker("x", append(described, "--burst", "100", "--min-workers", "2")...)
	leaves := b.worker("x", append(described, "--burst", "100", "--min-workers", "2", "--max-qps", "400")...)
	b.started(300)
	early := b.worker("x", "--allow-any", "--max-qps", "399")
	early.wait(104)
	if s := early.Stderr.String(); !strings.Contains(s, "300/s, and its limiter may let 100 more pass in a second") {
		t.Error(s)
	}
	b.loadctl("set-burst", "x", "101", "--force")
	leaves.wait(1)
	if s := lastLine(leaves.Stderr.String()); !strings.HasSuffix(s, "may let 101 more pass in a second (burst or window), together more than --max-qps 400 of this worker") {
		t.Error(s)
	}
	b.loadctl("stop", "x")
	stays.wait(0)
	if r := b.report("x"); !r.Complete || written(r) != b.web.Count()-10 {
		t.Errorf("%d arrived, %+v, complete %v %v, errors %+v", b.web.Count(), r.Audit, r.Complete, r.Notes, r.Errors)
	}
}

// TestMaxQPS: a worker refuses a rate above its --max-qps, whoever asks for it.
func TestMaxQPS(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	args := append([]string{"--url", b.web.URL(), "--min-workers", "2"}, patient()...)
	stays := b.worker("x", append(args, "--qps", "300")...)
	leaves := b.worker("x", append(args, "--qps", "300", "--max-qps", "600", "--id", "leaves")...)
	b.started(100)
	early := b.worker("x", "--allow-any", "--max-qps", "200")
	early.wait(104)
	if s := early.Stderr.String(); s != "error: run x: the cluster is asked for 300/s, more than --max-qps 200 of this worker; nothing was sent\n" {
		t.Error(s)
	}
	b.loadctl("set-rate", "x", "600")
	b.started(b.web.Count() + 100)
	b.renewed("x")
	if n := b.status("x").Members; n != 2 {
		t.Errorf("%d members at 600/s", n)
	}
	await.True(t, "the first counts of the worker", func() bool {
		return slices.ContainsFunc(b.report("x").Workers, func(w report.WorkerReport) bool { return w.ID == "leaves" && w.Sent > 0 })
	})
	if _, says, code := b.try("set-rate", "x", "900"); code != 104 || !strings.HasPrefix(says, "error: set-rate x: leaves (--max-qps 600) would leave the run") {
		t.Errorf("exit code %d, %s", code, says)
	}
	c := b.change("set-rate", "x", "900", "--force")
	leaves.wait(1)
	if s := lastLine(leaves.Stderr.String()); s != "error: run x: the cluster is asked for 900/s, more than --max-qps 600 of this worker" {
		t.Error(s)
	}
	joins := b.worker("x", "--allow-any", "--max-qps", "899.9")
	joins.wait(104)
	b.started(b.web.Count() + 300)
	b.loadctl("stop", "x")
	stays.wait(0)
	r := b.report("x")
	if n := b.web.Count(); written(r) != n || !r.Complete || acceptance() && r.Audit.LateDropped > 500 {
		t.Errorf("%d arrived, %+v, %v, complete %v %v", n, r.Audit, r.Errors, r.Complete, r.Notes)
	}
	for _, w := range b.status("x").Workers {
		if want := map[string]string{"leaves": "left"}[w.ID]; want != "" && w.State != want || w.State == "lost" {
			t.Errorf("%+v", w)
		}
	}
	if at := b.askedAt("x", c.At); r.Asked <= at {
		t.Errorf("asked %d, %d before the change", r.Asked, at)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[len(lines)-1]
}

// TestEndWaitsForTheLastAnswers: the progress ends when the report is complete, not when the last request was due.
func TestEndWaitsForTheLastAnswers(t *testing.T) {
	nightly(t)
	t.Parallel()
	o := ordinals{hold: make(chan struct{})}
	b := &bed{t: t, redis: redistest.Start(t)}
	args := append(patient(), "--url", "http://"+o.serve(t)+"/${ordinal}", "--qps", "300", "-n", "300", "--timeout", "1h")
	p := b.operator(append([]string{"run", "x", "-o", "json"}, args...)...)
	w := b.guest("x", "-c", "1000")
	p.says("  waiting for the last answers\n")
	close(o.hold)
	w.wait(0)
	p.wait(0)
	r := p.printed()
	if n := o.count(); n != 300 || r.Audit.Sent != n || r.Audit.Completed != n || !r.Complete || r.Running {
		t.Errorf("%d arrived, %+v, complete %v %v", n, r.Audit, r.Complete, r.Notes)
	}
	p.endsWith("ended", r)
}

// embedded is a fleet without a Redis server: one of its workers hosts it.
type embedded struct {
	*bed
	url string
}

func newEmbedded(t *testing.T) *embedded {
	t.Helper()
	b := newBed(t) // its Redis stays empty
	return &embedded{bed: b}
}

// host starts the worker that hosts the Redis.
func (e *embedded) host(args ...string) *process {
	e.t.Helper()
	p := launch(e.t, "", "loadworker", append([]string{"run", "--run", "x", "-o", "json"}, args...)...)
	address := regexp.MustCompile(`LOADCTL_REDIS=(redis://127\.0\.0\.1:\d+)`)
	await.True(e.t, "the address of the Redis", func() bool {
		select {
		case <-p.Exited:
			e.t.Fatalf("the host ended:\n%s", p.Stderr.String())
		default:
		}
		return address.MatchString(p.Stderr.String())
	})
	e.url = address.FindStringSubmatch(p.Stderr.String())[1]
	return p
}

// private returns the flag for a port that nobody else uses.
func private(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("--redis=embedded:%d", redistest.FreePort(t))
}

// local starts a worker on the same machine.
func (e *embedded) local() *process {
	e.t.Helper()
	return launch(e.t, e.url, "loadworker", "run", "--run", "x", "-o", "json", "--allow-hosts", "127.0.0.1", "--wait")
}

// ask runs a loadctl that must succeed.
func (e *embedded) ask(args ...string) string {
	e.t.Helper()
	p := launch(e.t, e.url, "loadctl", args...)
	p.wait(0)
	return p.Stdout.String()
}

// joined waits until n members are in the run.
func (e *embedded) joined(n int) {
	e.t.Helper()
	want := fmt.Sprintf("workers  %d\n", n)
	await.True(e.t, want, func() bool { return strings.Contains(e.ask("status", "x"), want) })
}

// untouched checks that a Redis that was not named was not used.
func (e *embedded) untouched() {
	e.t.Helper()
	if n := e.redis.Client().DBSize(e.t.Context()).Val(); n != 0 {
		e.t.Errorf("%d keys are in a Redis that nobody named", n)
	}
}

func TestEmbeddedAlone(t *testing.T) {
	nightly(t)
	besides(t)
	e := newEmbedded(t)
	p := e.host(e.counted("1s", private(t))...)
	p.wait(0)
	e.exact(p.printed(), 300)
	e.untouched()
}

// TestEmbeddedTwice: the same command line in two terminals, started together, is one fleet with one Redis. It does not
// send twice the rate.
func TestEmbeddedTwice(t *testing.T) {
	nightly(t)
	besides(t)
	e := newEmbedded(t)
	args := append([]string{"run", "--run", "x", "-o", "json"}, e.counted("3s", "--min-workers", "2", private(t))...)
	ps := []*process{launch(t, "", "loadworker", args...), launch(t, "", "loadworker", args...)}
	for _, p := range ps {
		p.wait(0)
	}
	for _, p := range ps {
		if r := p.printed(); r.Asked != 900 || r.Audit.Sent != 900 || !r.Complete || len(r.Workers) != 2 {
			t.Errorf("%+v, complete %v %v, %d workers", r.Audit, r.Complete, r.Notes, len(r.Workers))
		}
	}
	if n := e.web.Count(); n != 900 {
		t.Errorf("%d arrived", n)
	}
	e.untouched()
}

// TestEmbeddedFleet: other processes need only the address that the host prints.
func TestEmbeddedFleet(t *testing.T) {
	besides(t)
	e := newEmbedded(t)
	host := e.host(e.described("", "--min-workers", "3", private(t))...)
	ps := []*process{host, e.local(), e.local()}
	e.started(100)
	watch := launch(t, e.url, "loadctl", "watch", "x", "-o", "json")
	watch.says("  asked ")
	e.ask("set-rate", "x", "600")
	e.joined(3)
	watch.says("x: 600/s  asked ")
	e.started(e.web.Count() + 300)
	e.ask("stop", "x")
	n := e.sent(ps...)
	for _, p := range append(ps, watch) {
		p.wait(0)
		r := p.printed()
		if e.whole(r); len(r.Workers) != 3 || e.web.Count() != n {
			t.Errorf("%d arrived before the stop had returned, and later %d; %d workers", n, e.web.Count(), len(r.Workers))
		}
	}
	watch.endsWith("stopped", watch.printed())
	e.untouched()
}

// TestEmbeddedHostLeaves: the hosting worker leaves the run, but its Redis stays until the others have ended.
func TestEmbeddedHostLeaves(t *testing.T) {
	nightly(t)
	besides(t)
	e := newEmbedded(t)
	host := e.host(e.counted("", "--min-workers", "3", private(t))...)
	ps := []*process{e.local(), e.local()}
	e.started(300)
	host.signal(os.Interrupt)
	e.joined(2)
	host.says("others still use the embedded Redis of this process")
	if s := e.ask("report", "x"); !strings.Contains(s, "running") && !strings.Contains(s, "left") {
		t.Error(s)
	}
	e.started(e.web.Count() + 300)
	e.ask("stop", "x")
	for _, p := range ps {
		p.wait(0)
		e.whole(p.printed())
	}
	host.wait(105)
	if r := host.printed(); !r.Running || r.Audit.Sent >= e.web.Count() {
		t.Errorf("the host's report is of when it left: %+v", r.Audit)
	}
	if s := host.Stderr.String(); strings.Contains(s, "error") {
		t.Error(s)
	}
}

// TestEmbeddedHostGoesAtOnce: the host ends at the second Ctrl-C, even if others use its Redis.
func TestEmbeddedHostGoesAtOnce(t *testing.T) {
	nightly(t)
	besides(t)
	e := newEmbedded(t)
	host := e.host(e.described("", "--min-workers", "2", private(t))...)
	e.local()
	e.started(100)
	host.signal(os.Interrupt)
	host.says("others still use the embedded Redis of this process")
	host.signal(os.Interrupt)
	host.wait(105)
}

// TestEmbeddedHostWaitsForStrangers: the host waits some seconds after the end for other processes. Ctrl-C then ends
// only the wait.
func TestEmbeddedHostWaitsForStrangers(t *testing.T) {
	nightly(t)
	besides(t)
	e := newEmbedded(t)
	host := e.host(e.counted("1s", private(t))...)
	stranger, err := net.Dial("tcp", strings.TrimPrefix(e.url, "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	host.says("others still use the embedded Redis of this process")
	e.exact(host.printed(), 300)
	ordered := time.Now()
	host.signal(os.Interrupt)
	host.wait(0)
	if took := time.Since(ordered); acceptance() && took > 5*time.Second {
		t.Errorf("it ended %v after Ctrl-C", took)
	}
}

// TestEmbeddedPorts: a run of another name may use the default port already. A port that was asked for must be free.
func TestEmbeddedPorts(t *testing.T) {
	nightly(t)
	besides(t)
	e := newEmbedded(t)
	first := e.host(e.described("", "--redis", "embedded")...) // takes 6380 if that is free
	was := e.url
	second := e.host(e.described("1s", "--run", "y")...)
	if e.url == was {
		t.Errorf("one at %s, another at %s", was, e.url)
	}
	second.wait(0)
	if r := second.printed(); r.Audit.Sent != 300 {
		t.Errorf("%+v", r.Audit)
	}
	port := was[strings.LastIndexByte(was, ':')+1:]
	third := launch(t, "", "loadworker", append([]string{"run", "--run", "z", "--redis", "embedded:" + port}, e.described("1s")...)...)
	third.wait(104)
	if s := third.Stderr.String(); !strings.Contains(s, "serve at 127.0.0.1:"+port) || strings.Count(s, "\n") != 1 {
		t.Error(s)
	}
	first.signal(os.Interrupt)
	first.wait(105)
	if err := first.Cmd.Process.Signal(syscall.Signal(0)); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the first host is still there: %v", err)
	}
}
