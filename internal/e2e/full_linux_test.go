package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// memory sets the server's maxmemory: 1 = it is full, 0 = it has room.
func (b *bed) memory(bytes string) {
	b.t.Helper()
	if err := b.redis.Client().ConfigSet(b.t.Context(), "maxmemory", bytes).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// TestReadsOnAFullServer: whoever wants to know what is going on is told, though the server refuses whatever needs memory.
func TestReadsOnAFullServer(t *testing.T) {
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
		if text := p.stderr.String(); strings.Contains(text, "cannot be asked") {
			t.Error(text)
		}
		p.signal(syscall.SIGINT)
		p.wait(105)
	}
	if r := again.printed(); r.Audit.Sent == 0 {
		t.Errorf("%+v", r.Audit)
	}
	out, stderr, code := b.try("doctor")
	if code != 104 || !strings.Contains(out, "a full server refuses leases and reports") || !strings.Contains(out, "raise its maxmemory") {
		t.Errorf("doctor: exit code %d, %s, %s", code, out, stderr)
	}
	b.loadctl("rm", "over")
	if out := b.loadctl("ls"); strings.Contains(out, "over") {
		t.Errorf("it is not removed:\n%s", out)
	}
}
