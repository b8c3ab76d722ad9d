package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/report"
)

// memory sets the server's maxmemory: 1 = it is full, 0 = it has room.
func (b *bed) memory(bytes string) {
	b.t.Helper()
	if err := b.redis.Client().ConfigSet(b.t.Context(), "maxmemory", bytes).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// TestReadsOnAFullServer: all commands that read work, although the server refuses everything that needs memory.
func TestReadsOnAFullServer(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	b.fleet(2, "full", append(patient(), "--qps", "200")...)
	await.True(t, "counts of both workers", func() bool {
		var r report.Report
		out, _, _ := b.try("report", "full", "-o", "json")
		_ = json.Unmarshal([]byte(out), &r) // an error means that there is no run yet
		return len(r.Workers) == 2 && r.Workers[0].Sent > 0 && r.Workers[1].Sent > 0
	})
	b.loadctl(append(b.described("1m"), "create", "over")...)
	b.loadctl("stop", "over")
	watching := b.operator("watch", "full")
	watching.says("full: 200/s  asked ")
	b.memory("1")

	if s := b.status("full"); s.Phase != "running" || len(s.Workers) != 2 || s.Asked == 0 {
		t.Errorf("%+v", s)
	}
	if r := b.report("full"); r.Audit.Sent == 0 || len(r.Workers) != 2 {
		t.Errorf("%+v", r.Audit)
	}
	for _, c := range []struct{ args, says string }{
		{"status full", "rate     200 per second"},
		{"ls", "\nfull  running  2 "},
		{"workers full", "  active "},
		{"events full", "join"},
		{"report full", "audit"},
		{"report full -o csv", ""},
		{"status over", "phase    stopped"},
		{"workers over", "WORKER"},
		{"events over", "stop"},
		{"report over", "audit"},
		{"watch over", "audit"},
	} {
		if out := b.loadctl(strings.Fields(c.args)...); !strings.Contains(out, c.says) {
			t.Errorf("loadctl %s does not say %q:\n%s", c.args, c.says, out)
		}
	}
	again := b.operator("watch", "full", "-o", "json")
	again.says("full: 200/s  asked ")
	for _, p := range []*process{watching, again} {
		if text := p.Stderr.String(); strings.Contains(text, "cannot be asked") {
			t.Error(text)
		}
		p.signal(syscall.SIGINT)
		p.wait(105)
	}
	if r := again.printed(); r.Audit.Sent == 0 {
		t.Errorf("%+v", r.Audit)
	}
	out, stderr, code := b.try("doctor")
	if code != 104 || !strings.Contains(out, "a full server refuses reports and new runs") || !strings.Contains(out, "raise its maxmemory") {
		t.Errorf("doctor: exit code %d, %s, %s", code, out, stderr)
	}
	b.loadctl("rm", "over")
	if out := b.loadctl("ls"); strings.Contains(out, "over") {
		t.Errorf("it is not removed:\n%s", out)
	}
}

// freeing is the message of commands that work on a full server.
const freeing = "warning: the server's memory is full: raise its maxmemory (CONFIG SET maxmemory BYTES), or remove ended runs with loadctl rm; "

// narrow returns the flags of workers on a server that will be full, and how many requests of three of them may be on
// the wire. Their leases do not end while a test looks. Unless the machine is quiet, each worker has one connection,
// because a request may have been sent long before it arrives.
func narrow() (flags []string, onTheWire int64) {
	flags = append(patient(), "--qps", "600", "--permit-for", "5m")
	if acceptance() {
		return flags, 0
	}
	return append(flags, "--max-connections", "1"), 3
}

// frees checks what a command says on a full server: how to free memory, and then perhaps for whom it waits.
func frees(t *testing.T, stderr string) {
	t.Helper()
	first, rest, _ := strings.Cut(stderr, "\n")
	if !strings.HasPrefix(first, freeing) || acceptance() && rest != "" {
		t.Errorf("%q", stderr)
	}
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "waiting for ") {
			t.Errorf("%q", stderr)
		}
	}
}

// TestStopOnAFullServer: stop says what to free, and takes effect even without room; on a quiet machine within a second.
// When there is room, the report has the workers' last counts.
func TestStopOnAFullServer(t *testing.T) {
	besides(t)
	b := newBed(t)
	flags, onTheWire := narrow()
	workers := b.fleet(3, "full", flags...)
	b.started(300)
	b.memory("1")
	b.started(b.web.Count() + 300) // workers go on without Redis
	began := time.Now()
	stdout, stderr, code := b.try("stop", "full")
	took, count := time.Since(began), b.web.Count()
	if code != 0 || !strings.Contains(stdout, "full: stop in force from ") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	frees(t, stderr)
	if acceptance() && took > time.Second {
		t.Errorf("it took %v", took)
	}
	if s := b.status("full"); s.Phase != "stopped" {
		t.Errorf("%+v", s)
	}
	b.memory("0")
	for _, w := range workers {
		w.wait(0)
	}
	r := b.report("full")
	if n := b.web.Count(); n < count || n > count+onTheWire || written(r) != n || !r.Complete {
		t.Errorf("%d arrived when stop had returned, %d in the end, and %d are reported; %v", count, n, written(r), r.Notes)
	}
	t.Logf("stop returned after %v; asked %d, arrived %d, sent %d", took, r.Asked, b.web.Count(), r.Audit.Sent)
}

// TestPauseOnAFullServer: pause says what to free, and nothing is sent from then on, even without room. When there is
// room, the pause lasts until the run is resumed.
func TestPauseOnAFullServer(t *testing.T) {
	besides(t)
	b := newBed(t)
	flags, onTheWire := narrow()
	if !acceptance() { // else what was due before the pause is sent later
		flags = append(flags, "--catch-up", "10ms", "--max-lag", "10ms")
	}
	b.fleet(3, "full", flags...)
	b.started(300)
	b.memory("1")
	b.started(b.web.Count() + 300)
	stdout, stderr, code := b.try("pause", "full")
	if code != 0 || !strings.Contains(stdout, "full: pause in force from ") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	frees(t, stderr)
	called := func(since time.Time) func() bool {
		return func() bool {
			return !slices.ContainsFunc(b.status("full").Workers, func(w run.Worker) bool { return !w.LastSeen.After(since) })
		}
	}
	paused := time.Now()
	await.True(t, "a sign of life of each worker", called(paused))
	if took := time.Since(paused); acceptance() && took > time.Second {
		t.Errorf("the last worker called %v later", took)
	}
	await.True(t, "another one, after the reply to that one", called(time.Now()))
	count := b.web.Count()
	_, stderr, code = b.try("resume", "full")
	if code != 1 || !strings.Contains(stderr, "error: resume full: OOM command not allowed") || !strings.Contains(stderr, "raise its maxmemory") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	b.memory("0")
	await.True(t, "another sign of life of each worker", called(time.Now()))
	if n := b.web.Count(); n < count || n > count+onTheWire || b.status("full").Phase != "paused" {
		t.Errorf("%d requests arrived in the pause", n-count)
	}
	b.loadctl("resume", "full")
	b.started(count + 300)
}
