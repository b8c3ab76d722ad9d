package e2e

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
)

// TestStartTimeout: if the workers of a run do not come, no command waits without end. Nothing is sent, the exit code
// is 104, and one line says who is missing.
func TestStartTimeout(t *testing.T) {
	nightly(t)
	besides(t)
	t.Run("loadworker", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		w := b.worker("x", "--url", b.web.URL(), "--qps", "200", "--duration", "1s", "--min-workers", "2", "--start-timeout", "1s")
		w.wait(104)
		if s := lastLine(w.Stderr.String()); !strings.HasPrefix(s, "error: run x: it did not begin: 1 of 2 workers were there within 1s; ") || !strings.Contains(s, "--start-timeout") {
			t.Error(s)
		}
		if s := w.Stdout.String(); s != "" {
			t.Errorf("a report of nothing: %s", s)
		}
		if n := b.status("x").Members; n != 0 {
			t.Errorf("%d members are left", n)
		}
		// The run still waits: workers that come in time take part.
		args := []string{"--url", b.web.URL(), "--qps", "200", "--duration", "1s", "--min-workers", "2", "--start-timeout", "0"}
		for _, p := range []*process{b.worker("x", args...), b.worker("x", args...)} {
			p.wait(0)
		}
		if r := b.report("x"); !r.Complete || r.Audit.Sent != b.web.Count() || r.Audit.Sent == 0 {
			t.Errorf("%d arrived, %+v", b.web.Count(), r.Audit)
		}
	})
	t.Run("loadctl", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		described := []string{"x", "--url", b.web.URL(), "--qps", "200", "--duration", "1s", "--min-workers", "3"}
		b.loadctl(append([]string{"create"}, described...)...)
		w := b.guest("x", "--start-timeout", "0")
		b.members("x", 1)
		p := b.operator(append(append([]string{"run"}, described...), "--start-timeout", "2s")...)
		p.wait(104)
		if s := lastLine(p.Stderr.String()); !strings.HasPrefix(s, "error: run x: it did not begin: 1 of 3 workers were there within 2s; the run is stopped") || !strings.Contains(s, "--new") {
			t.Error(s)
		}
		if s := p.Stdout.String(); s != "" {
			t.Errorf("a report of nothing: %s", s)
		}
		w.wait(0) // it must not stay and begin when nobody watches
		if s := b.status("x"); s.Phase != "stopped" || b.web.Count() != 0 {
			t.Errorf("%d arrived, %s", b.web.Count(), s.Phase)
		}
	})
	t.Run("loadctl start", func(t *testing.T) { // a person may take any time to start the run
		t.Parallel()
		b := newBed(t)
		p := b.operator("run", "x", "--url", b.web.URL(), "--qps", "200", "-n", "0.1k", "--min-workers", "0", "--start-timeout", "1ms")
		await.True(t, "the run", func() bool { return b.read("x").Phase != "" }) // --start-timeout bounds --wait
		w := b.guest("x", "--start-timeout", "1ms")
		p.says("waits for loadctl start, workers 1")
		b.loadctl("start", "x")
		w.wait(0)
		p.wait(0)
		if n := b.web.Count(); n != 100 {
			t.Errorf("%d arrived", n)
		}
	})
}
