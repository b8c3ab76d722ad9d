package watch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/watch/watchtest"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report/record"
)

func TestDescribe(t *testing.T) {
	counts := record.Counts{Sent: 30, Completed: 20}
	latency := record.NewHistogram()
	latency.Record(1_234_567)
	ended := time.Unix(1000, 0)
	for _, c := range []struct {
		name string
		p    results.Progress
		want string

		closed bool
	}{
		{"to be started", results.Progress{State: &run.State{Phase: "waiting", Members: 2}}, "x: waits for loadctl start, workers 2", false},
		{"too few", results.Progress{State: &run.State{Phase: "waiting", Members: 2, MinWorkers: 3}}, "x: waits for workers, 2 of 3 are here", false},
		{"running", results.Progress{State: &run.State{Phase: "running", Rate: 2.5, Members: 3}, AskedAt: 40, Counts: counts, Latency: latency},
			"x: 2.5/s  asked 40  sent 30  ok 20  p50 1.23ms  p99 1.23ms  workers 3  0s", false},
		{"failures", results.Progress{State: &run.State{Phase: "running", Members: 1}, Counts: record.Counts{Sent: 7, Failed: 4, LateDropped: 5}},
			"x: 0/s  asked 0  sent 7  ok 0  failed 4  late 5  workers 1  0s", false},
		{"nobody", results.Progress{State: &run.State{Phase: "running", Rate: 10}, AskedAt: 40, Counts: counts},
			"x: 10/s  asked 40  sent 30  ok 20  workers 0  0s  NO WORKERS: nothing is sent until one joins", false},
		{"paused", results.Progress{State: &run.State{Phase: "paused"}, AskedAt: 40, Counts: counts}, "x: paused  asked 40  sent 30  ok 20  workers 0  0s", false},
		{"ending", results.Progress{State: &run.State{Phase: "ended", Members: 1, EndedAt: ended}, AskedAt: 40, Counts: counts},
			"x: ended  asked 40  sent 30  ok 20  workers 1  0s  waiting for the last answers", false},
		{"stopped", results.Progress{State: &run.State{Phase: "stopped", EndedAt: ended}, AskedAt: 40, Counts: counts, Settled: true},
			"x: stopped  asked 40  sent 30  ok 20  workers 0  0s", false},
		{"closed loop", results.Progress{State: &run.State{Phase: "running", Members: 3}, Counts: counts, Latency: latency},
			"x: max  sent 30  ok 20  p50 1.23ms  p99 1.23ms  workers 3  0s", true},
		{"concurrency", results.Progress{State: &run.State{Phase: "running", Members: 3, Concurrency: 8}, Counts: counts}, "x: c=8  sent 30  ok 20  workers 3  0s", true},
		{"closed loop, paused", results.Progress{State: &run.State{Phase: "paused"}, Counts: counts}, "x: paused  sent 30  ok 20  workers 0  0s", true},
	} {
		c.p.Run = "x"
		if c.p.Latency == nil {
			c.p.Latency = record.NewHistogram()
		}
		if got := describe(c.p, c.closed); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestShort(t *testing.T) {
	for ns, want := range map[int64]string{0: "0s", 7: "7ns", 999: "999ns", 1234: "1.23µs", 12_345: "12.3µs", 999_600: "1ms", 1_234_567_890: "1.23s"} {
		if got := short(ns); got != want {
			t.Errorf("%d ns: %s, want %s", ns, got, want)
		}
	}
}

// TestPlainLines: a file gets a line for each news, and no escape codes, whatever an error quotes.
func TestPlainLines(t *testing.T) {
	name := filepath.Join(t.TempDir(), "err")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	l := newLine(f)
	for _, text := range []string{"one", "one", "two", "one", "a\r\x1b[2Jb\nc"} {
		l.show(text)
	}
	l.end()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if want := "one\ntwo\none\na  [2Jb c\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
}

// TestOneLineOnATerminal: the line is rewritten, cut to the current width, and stays at the end.
func TestOneLineOnATerminal(t *testing.T) {
	p := watchtest.NewTerminal(t, 10)
	l := newLine(p.Slave)
	l.show("short")
	l.show("0123456789")
	p.Resize(5)
	l.show("äöüäöü\n")
	l.end()
	if got, want := p.Shown(), "\r\x1b[Kshort\r\x1b[K012345678\r\x1b[Käöüä\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNothingIsShownOnATerminal(t *testing.T) {
	p := watchtest.NewTerminal(t, 80)
	newLine(p.Slave).end()
	if got := p.Shown(); got != "" {
		t.Errorf("%q", got)
	}
}

// TestDumbTerminal: a terminal that cannot go back gets plain lines.
func TestDumbTerminal(t *testing.T) {
	for term, columns := range map[string]uint16{"dumb": 80, "xterm": 0} {
		p := watchtest.NewTerminal(t, columns)
		t.Setenv("TERM", term)
		l := newLine(p.Slave)
		l.show("one")
		l.show("two")
		l.end()
		if got, want := p.Shown(), "one\ntwo\n"; got != want {
			t.Errorf("%s with %d columns: %q, want %q", term, columns, got, want)
		}
	}
}
