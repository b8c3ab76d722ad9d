package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/run"
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
	besides(t)
	b := newBed(t)
	b.fleet(2, "full", append(patient(), "--qps", "200")...)
	b.started(100)
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

// TestStopOnAFullServer: stop says what to free, and takes effect within a second, even without room. When there is
// room, the report has the workers' last counts.
func TestStopOnAFullServer(t *testing.T) {
	b := newBed(t)
	workers := b.fleet(3, "full", append(patient(), "--qps", "600")...)
	b.started(600)
	b.memory("1")
	from := b.web.Count()
	b.started(from + 300) // workers go on without Redis
	began := time.Now()
	stdout, stderr, code := b.try("stop", "full")
	took, count := time.Since(began), b.web.Count()
	if code != 0 || !strings.Contains(stdout, "full: stop in force from ") || !strings.HasPrefix(stderr, freeing) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if took > time.Second {
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
	if n := b.web.Count(); n != count || written(r) != n || !r.Complete {
		t.Errorf("%d arrived when stop had returned, %d in the end, and %d are reported; %v", count, n, r.Audit.Sent, r.Notes)
	}
	t.Logf("stop returned after %v; asked %d, arrived %d, sent %d", took, r.Asked, b.web.Count(), r.Audit.Sent)
}

// TestPauseOnAFullServer: pause says what to free, and nothing is sent from then on, even without room. When there is
// room, the pause lasts until the run is resumed.
func TestPauseOnAFullServer(t *testing.T) {
	b := newBed(t)
	b.fleet(3, "full", append(patient(), "--qps", "600")...)
	b.started(600)
	b.memory("1")
	b.started(b.web.Count() + 300)
	stdout, stderr, code := b.try("pause", "full")
	if code != 0 || !strings.Contains(stdout, "full: pause in force from ") || !strings.HasPrefix(stderr, freeing) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	heard := func(since time.Time) func() bool {
		return func() bool {
			return !slices.ContainsFunc(b.status("full").Workers, func(w run.Worker) bool { return !w.LastSeen.After(since) })
		}
	}
	paused := time.Now()
	await.True(t, "a sign of life of each worker", heard(paused))
	if took := time.Since(paused); took > time.Second {
		t.Errorf("the last worker heard of it %v later", took)
	}
	await.True(t, "another one, after what that told", heard(time.Now()))
	count := b.web.Count()
	_, stderr, code = b.try("resume", "full")
	if code != 1 || !strings.Contains(stderr, "error: resume full: OOM command not allowed") || !strings.Contains(stderr, "raise its maxmemory") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	b.memory("0")
	await.True(t, "another sign of life of each worker", heard(time.Now()))
	if n := b.web.Count(); n != count || b.status("full").Phase != "paused" {
		t.Errorf("%d requests arrived in the pause", n-count)
	}
	b.loadctl("resume", "full")
	b.started(count + 300)
}
