package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/report"
)

func TestDescribe(t *testing.T) {
	counts := report.Counts{Sent: 30, Completed: 20}
	latency := report.NewHistogram()
	latency.Record(1_234_567)
	ended := time.Unix(1000, 0)
	for _, c := range []struct {
		name string
		p    run.Progress
		want string
	}{
		{"to be started", run.Progress{State: &run.State{Phase: "waiting", Members: 2}}, "x: waits for loadctl start, workers 2"},
		{"too few", run.Progress{State: &run.State{Phase: "waiting", Members: 2, MinWorkers: 3}}, "x: waits for workers, 2 of 3 are here"},
		{"running", run.Progress{State: &run.State{Phase: "running", Rate: 2.5, Members: 3}, AskedAt: 40, Counts: counts, Latency: latency},
			"x: 2.5/s  asked 40  sent 30  ok 20  p50 1.23ms  p99 1.23ms  workers 3  0s"},
		{"failures", run.Progress{State: &run.State{Phase: "running", Members: 1}, Counts: report.Counts{Sent: 7, Failed: 4, LateDropped: 5}},
			"x: 0/s  asked 0  sent 7  ok 0  failed 4  late 5  workers 1  0s"},
		{"nobody", run.Progress{State: &run.State{Phase: "running", Rate: 10}, AskedAt: 40, Counts: counts},
			"x: 10/s  asked 40  sent 30  ok 20  workers 0  0s  NO WORKERS: nothing is sent until one joins"},
		{"paused", run.Progress{State: &run.State{Phase: "paused"}, AskedAt: 40, Counts: counts}, "x: paused  asked 40  sent 30  ok 20  workers 0  0s"},
		{"ending", run.Progress{State: &run.State{Phase: "ended", Members: 1, EndedAt: ended}, AskedAt: 40, Counts: counts},
			"x: ended  asked 40  sent 30  ok 20  workers 1  0s  waiting for the last answers"},
		{"stopped", run.Progress{State: &run.State{Phase: "stopped", EndedAt: ended}, AskedAt: 40, Counts: counts, Settled: true},
			"x: stopped  asked 40  sent 30  ok 20  workers 0  0s"},
	} {
		c.p.Run = "x"
		if c.p.Latency == nil {
			c.p.Latency = report.NewHistogram()
		}
		if got := describe(c.p); got != c.want {
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

// TestPlainLines: a file gets a line where there is something new, and no escape codes, whatever an error quotes.
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

// TestOnlyWhatIsDueIsShown: and then also what was true before, if it was not shown.
func TestOnlyWhatIsDueIsShown(t *testing.T) {
	at := func(phase string, sent int64) run.Progress {
		return run.Progress{State: &run.State{Run: "x", Phase: phase, Members: 1}, Counts: report.Counts{Sent: sent}, Latency: report.NewHistogram()}
	}
	var out bytes.Buffer
	p := progress{every: cli.Duration(time.Minute), line: newLine(&out)}
	shows := func(do func(), want string) {
		t.Helper()
		out.Reset()
		if do(); !strings.Contains(out.String(), want) || want == "" && out.Len() > 0 {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
	shows(func() { p.show(at("running", 1)) }, "sent 1 ")
	shows(func() { p.show(at("running", 2)) }, "")
	p.shown = p.shown.Add(-time.Minute)
	shows(func() { p.show(at("running", 2)) }, "sent 2 ")
	shows(func() { p.trouble("no answer") }, "no answer\n")
	shows(func() { p.trouble("still none") }, "")
	shows(func() { p.show(at("running", 2)) }, "sent 2 ")
	shows(func() { p.show(at("running", 3)) }, "")
	last := at("ended", 4)
	last.Settled = true
	shows(func() { p.show(last) }, "sent 4 ")

	p = progress{line: newLine(&out)} // --progress 0
	shows(func() { p.trouble("no answer"); p.show(last) }, "")
}

// TestAskSaysWhenThereIsNoAnswer: a server that hangs holds a call for seconds; Ctrl-C does not wait for it.
func TestAskSaysWhenThereIsNoAnswer(t *testing.T) {
	var out safeBuffer
	p := progress{every: cli.Duration(time.Second), line: newLine(&out)}
	answer := make(chan error)
	look := func() (run.Progress, error) { return run.Progress{AskedAt: 7}, <-answer }
	go func() {
		for !strings.Contains(out.String(), "x: Redis does not answer; waiting for it\n") {
			time.Sleep(time.Millisecond)
		}
		answer <- nil
	}()
	if now, err := p.ask(t.Context(), "x", look); err != nil || now.AskedAt != 7 {
		t.Errorf("%+v, %v", now, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.ask(ctx, "x", look); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	answer <- nil // to the look that was left alone
}

// safeBuffer is written and read by different goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// terminal is a pseudo-terminal: what is written to its slave shows on its screen.
type terminal struct {
	t      *testing.T
	slave  *os.File
	screen safeBuffer
	master *os.File
	read   chan struct{}
}

func newTerminal(t *testing.T, columns uint16) *terminal {
	t.Helper()
	t.Setenv("TERM", "xterm")
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &terminal{t: t, master: master, slave: slave, read: make(chan struct{})}
	p.resize(columns)
	go func() {
		_, _ = io.Copy(&p.screen, master) // ends with an error when the slave is closed
		close(p.read)
	}()
	t.Cleanup(func() { slave.Close(); master.Close() })
	return p
}

func (p *terminal) resize(columns uint16) {
	p.t.Helper()
	if err := unix.IoctlSetWinsize(int(p.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		p.t.Fatal(err)
	}
}

// shown is all that was written, once the writer has closed the terminal. The terminal ends lines with \r\n.
func (p *terminal) shown() string {
	p.t.Helper()
	p.slave.Close()
	select {
	case <-p.read:
	case <-time.After(20 * time.Second):
		p.t.Fatal("the terminal does not end")
	}
	return strings.ReplaceAll(p.screen.String(), "\r\n", "\n")
}

// TestOneLineOnATerminal: it is written anew, cut to the width there is now, and left where it is at the end.
func TestOneLineOnATerminal(t *testing.T) {
	p := newTerminal(t, 10)
	l := newLine(p.slave)
	l.show("short")
	l.show("0123456789")
	p.resize(5)
	l.show("äöüäöü\n")
	l.end()
	if got, want := p.shown(), "\r\x1b[Kshort\r\x1b[K012345678\r\x1b[Käöüä\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNothingIsShownOnATerminal(t *testing.T) {
	p := newTerminal(t, 80)
	newLine(p.slave).end()
	if got := p.shown(); got != "" {
		t.Errorf("%q", got)
	}
}

// TestDumbTerminal: one that cannot go back gets plain lines.
func TestDumbTerminal(t *testing.T) {
	for term, columns := range map[string]uint16{"dumb": 80, "xterm": 0} {
		p := newTerminal(t, columns)
		t.Setenv("TERM", term)
		l := newLine(p.slave)
		l.show("one")
		l.show("two")
		l.end()
		if got, want := p.shown(), "one\ntwo\n"; got != want {
			t.Errorf("%s with %d columns: %q, want %q", term, columns, got, want)
		}
	}
}
