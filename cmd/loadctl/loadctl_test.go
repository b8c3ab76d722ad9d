package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/console/watch/watchtest"
	"github.com/loadctl/loadctl/internal/fleet/member/membertest"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/targets"
)

// execute runs loadctl in this process.
func execute(args ...string) (stdout, stderr string, code int) {
	return clitest.Execute(newRootCommand(), args...)
}

// A running command goes on beside the test.
type running struct {
	stdout, stderr watchtest.Buffer
	code           chan int
}

// launch begins to run loadctl in this process.
func launch(args ...string) *running {
	r := &running{code: make(chan int, 1)}
	go func() { r.code <- cli.Main(newRootCommand(), args, &r.stdout, &r.stderr) }()
	return r
}

const secret = clitest.Secret

func refused(t *testing.T, args []string, says ...string) {
	t.Helper()
	clitest.Refused(t, newRootCommand(), args, says...)
}

// onARun returns the commands that take a run, with their other arguments.
func onARun() [][]string {
	return [][]string{
		{"status", "x"}, {"workers", "x"}, {"report", "x"}, {"events", "x"}, {"set-rate", "x", "5"}, {"pause", "x"}, {"resume", "x"}, {"stop", "x"}, {"rm", "x"},
	}
}

func TestBadServers(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	closed := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	for _, args := range append(onARun(), []string{"ls"}) {
		refused(t, args, "--redis redis://host:port", "LOADCTL_REDIS")
		refused(t, append(args, "--redis", "redis://:12/"+secret+"@"+closed), "read the Redis URL")
	}
	refused(t, []string{"--redis", "redis://:" + secret + "@" + closed, "ls"}, "reach Redis at "+closed, "check --redis")
}

func TestHelp(t *testing.T) {
	var all [][]string
	for _, c := range newRootCommand().Commands() {
		all = append(all, []string{c.Name(), "--help"}, []string{"help", c.Name()})
		if c.Short == "" {
			t.Errorf("%s has no description", c.Name())
		}
	}
	for _, args := range append(all, []string{}, []string{"--help"}, []string{"--version"}) {
		stdout, stderr, code := execute(args...)
		if code != cli.CodeGood || stdout == "" || stderr != "" {
			t.Errorf("%v: exit code %d, %q, %q", args, code, stdout, stderr)
		}
	}
	if help, _, _ := execute("set-rate", "--help"); !strings.Contains(help, "rate of the whole cluster") {
		t.Errorf("set-rate does not say whose rate it is: %s", help)
	}
}

// lab is a private Redis with a run in it.
type lab struct {
	*testing.T
	run    *run.Run
	holder *lease.Holder // of a worker that renews but sends nothing
	redis  *redistest.Server
}

func newLab(t *testing.T) *lab {
	t.Helper()
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	spec := spec.Spec{
		Target: targets.Spec{URL: "http://user:" + secret + "@127.0.0.1/", Headers: []targets.Header{{Name: "A", Value: secret}}, Body: []byte(secret)},
		QPS:    pacer.PerSecond(100), MaxLag: time.Second, MinWorkers: 1, PermitFor: spec.MaxPermitFor, // no test waits for its end
	}
	r, _, err := run.Create(t.Context(), server.Client(), "x", spec, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &lab{T: t, run: r, holder: lease.NewHolder("w", "i", 1), redis: server}
}

// start renews as a worker does, until the schedule has begun.
func (l *lab) start() {
	l.Helper()
	await.True(l, "the start of the run", func() bool {
		reply := l.renew()
		started, err := l.run.StartedAt(l.Context())
		if err != nil {
			l.Fatalf("no start: %v", err)
		}
		return started > 0 && reply.Now > started
	})
}

// departs makes the worker leave.
func (l *lab) departs() {
	l.Helper()
	l.holder.Halt(time.Now().UnixMicro())
	l.renew()
}

// renew renews once.
func (l *lab) renew() lease.Reply {
	l.Helper()
	reply, err := l.run.Leases(l.redis.Client()).Renew(l.Context(), l.holder.Call())
	if err != nil {
		l.Fatal(err)
	}
	l.holder.Receive(reply.Now, reply)
	return reply
}

// does runs a command that succeeds, as text and as JSON, and decodes the JSON into v.
func (l *lab) does(v any, args ...string) (text string) {
	l.Helper()
	text, stderr, code := execute(args...)
	if code != cli.CodeGood || text == "" {
		l.Errorf("%v: exit code %d, %q, %q", args, code, text, stderr)
	}
	out, stderr, code := execute(append(args, "-o", "json")...)
	if code != cli.CodeGood {
		l.Errorf("%v: exit code %d, %q", args, code, stderr)
	}
	d := json.NewDecoder(strings.NewReader(out))
	if err := d.Decode(v); err != nil || d.More() {
		l.Errorf("%v: %v in %q", args, err, out)
	}
	if strings.Contains(text+out+stderr, secret) {
		l.Errorf("%v shows the secret", args)
	}
	return text
}

// reads runs every command that reads; each works in every phase.
func (l *lab) reads(phase string) {
	l.Helper()
	var state run.State
	l.does(&state, "status", "x")
	var list []run.Entry
	l.does(&list, "ls")
	if state.Phase != phase || len(list) != 1 || list[0].Phase != phase || list[0].Run != "x" {
		l.Errorf("want %s: %+v, %+v", phase, state, list)
	}
	var workers []run.Worker
	l.does(&workers, "workers", "x")
	if members := phase != "waiting"; (len(workers) > 0) != members || workers == nil {
		l.Errorf("%s: workers %+v", phase, workers)
	}
	var events []run.Event
	l.does(&events, "events", "x")
	if len(events) == 0 || events[0].Kind != "create" {
		l.Errorf("%s: events %+v", phase, events)
	}
	var r report.Report
	want := cli.CodeGood
	if phase == "stopped" { // its worker has published nothing
		want = cli.CodeOther
	}
	out, stderr, code := execute("report", "x", "-o", "json")
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != want || strings.Contains(out+stderr, secret) {
		l.Errorf("%s: report: %v, exit code %d, %s", phase, err, code, stderr)
	}
	if r.Run != "x" || r.Series == nil || r.Workers == nil || r.StatusCodes == nil || r.Errors == nil {
		l.Errorf("%s: report %+v", phase, r)
	}
	for _, format := range render.Formats() {
		if out, stderr, code := execute("report", "x", "-o", format); code != want || strings.Contains(out+stderr, secret) {
			l.Errorf("%s: report -o %s: exit code %d, %s", phase, format, code, stderr)
		}
	}
}

func TestARunsLife(t *testing.T) {
	l := newLab(t)
	var list []run.Entry
	var c run.Change
	l.reads("waiting")
	refused(t, []string{"set-rate", "x", "NaN"}, "not a number")
	l.start()
	l.reads("running")
	if text := l.does(&c, "set-rate", "x", "200"); !strings.Contains(text, "x: set-rate in force from ") || !c.Changed {
		t.Errorf("%q, %+v", text, c)
	}
	l.does(&c, "set-rate", "x", "400", "--over", "1m")
	if text := l.does(&c, "pause", "x"); !strings.Contains(text, "x: pause in force from ") || c.Changed {
		t.Errorf("%q, and the second time %+v", text, c)
	}
	l.reads("paused")
	l.does(&c, "resume", "x")
	refused(t, []string{"rm", "x"}, "remove run x: workers may be taking part in it; loadctl stop x first, or use --force")
	l.departs()
	l.does(&c, "stop", "x")
	l.reads("stopped")
	for _, args := range [][]string{{"set-rate", "x", "5"}, {"set-rate", "x", "5", "--over", "1s"}, {"pause", "x"}, {"resume", "x"}} {
		refused(t, args, args[0]+" x: the run is over, since ")
	}
	l.does(&list, "ls")
	if stdout, stderr, code := execute("rm", "x"); code != cli.CodeGood || stdout != "x: the run and its report are removed\n" {
		t.Errorf("rm: exit code %d, %s", code, stderr)
	}
	// The remaining key tells a worker that comes back that the removal was meant.
	if left := l.redis.Client().Keys(t.Context(), "*").Val(); len(left) != 1 || !strings.HasPrefix(left[0], run.KeysOf("x").Removed) {
		t.Errorf("%q are left", left)
	}
	if l.does(&list, "ls"); len(list) != 0 || list == nil {
		t.Errorf("%+v", list)
	}
}

// TestSetRateKeepsWorkers: a rate, or a burst, above the --max-qps of workers is refused and named, unless it is forced.
func TestSetRateKeepsWorkers(t *testing.T) {
	l := newLab(t)
	l.start()
	membertest.Join(t, l.run, "w1", pacer.PerSecond(800))
	const leaves = "w1 (--max-qps 800) would leave the run"
	refused(t, []string{"set-rate", "x", "900"}, "set-rate x: "+leaves+", because it would ask for 900/s; ", "--force")
	refused(t, []string{"set-rate", "x", "900", "--over", "1m"}, leaves)
	var c run.Change
	l.does(&c, "set-rate", "x", "800")
	if l.does(&c, "set-rate", "x", "900", "--force"); c.Run != "x" {
		t.Errorf("%+v", c)
	}
	limited := l.run.Spec
	limited.Limiter, limited.Burst = "token-bucket", 50
	r, _, err := run.Create(t.Context(), l.redis.Client(), "y", limited, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	membertest.Join(t, r, "w1", pacer.PerSecond(800))
	refused(t, []string{"set-burst", "y", "701"}, "set-burst y: "+leaves+", because it would ask for 100/s, and its limiter may let 701 more pass in a second")
	l.does(&c, "set-burst", "y", "700")
	if l.does(&c, "set-burst", "y", "701", "--force"); c.Run != "y" {
		t.Errorf("%+v", c)
	}
}

// TestStopSaysWhomItWaitsFor: on stderr, because stdout is for data.
func TestStopSaysWhomItWaitsFor(t *testing.T) {
	l := newLab(t)
	l.start()
	stop := launch("stop", "x", "-o", "json")
	await.True(t, "the worker that is waited for", func() bool {
		return strings.HasPrefix(stop.stderr.String(), "waiting for w: silent, its lease ends in ") || len(stop.code) > 0
	})
	l.departs()
	code := await.Receive(t, "the end of the stop", stop.code)
	if stderr := stop.stderr.String(); code != cli.CodeGood || strings.Count(stderr, "\n") != 1 || !json.Valid([]byte(stop.stdout.String())) {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stop.stdout.String(), stderr)
	}
}

// TestStopOfNoRun: the run does not exist, but a worker may restore a run that Redis has lost. A mark for that worker
// stays until a new run has the name.
func TestStopOfNoRun(t *testing.T) {
	l := newLab(t)
	word := func() int64 { return l.redis.Client().Exists(t.Context(), "{load:y}:stopped").Val() }
	_, stderr, code := execute("stop", "y")
	if code != cli.CodeConfig || !strings.Contains(stderr, "run y: there is no such run; loadctl ls lists the runs; if a worker still has it") || word() != 1 {
		t.Errorf("exit code %d, %q, %d words are left", code, stderr, word())
	}
	if ttl := l.redis.Client().PTTL(t.Context(), "{load:y}:stopped").Val(); ttl <= 0 || ttl > time.Hour {
		t.Errorf("the word is left for %v", ttl)
	}
	if _, stderr, code := execute("create", "y", "--url", "noop://", "--qps", "10"); code != cli.CodeGood || word() != 0 {
		t.Errorf("exit code %d, %q, %d words are left", code, stderr, word())
	}
}
