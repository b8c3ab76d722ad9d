package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/watch/watchtest"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// TestOneOff: on one machine a URL, a rate and a time are enough. Two such commands at the same time have separate runs
// and separate Redis servers.
func TestOneOff(t *testing.T) {
	besides(t)
	b := newBed(t) // its Redis stays empty
	once := func(path string) *process {
		return launch(t, "", "loadworker", append([]string{"run", "--url", b.web.URL() + path, "--qps", "300/s", "--duration", "1s", "-o", "json"}, steadfast()...)...)
	}
	ps := []*process{once("/one"), once("/two")}
	for _, p := range ps {
		p.wait(0)
	}
	one, two := ps[0].printed(), ps[1].printed()
	for path, r := range map[string]int64{"/one": one.Audit.Sent, "/two": two.Audit.Sent} {
		if n := b.web.Paths()[path]; n != 300 || r != 300 {
			t.Errorf("%s: %d arrived, %d sent", path, n, r)
		}
	}
	if one.Run == two.Run || !strings.HasPrefix(one.Run, "run-") || len(one.Workers) != 1 || len(two.Workers) != 1 {
		t.Errorf("runs %s with %d workers and %s with %d", one.Run, len(one.Workers), two.Run, len(two.Workers))
	}
	address := regexp.MustCompile(`redis://127\.0\.0\.1:\d+`)
	if x, y := address.FindString(ps[0].Stderr.String()), address.FindString(ps[1].Stderr.String()); x == "" || x == y {
		t.Errorf("Redis at %q and %q", x, y)
	}
	if n := b.redis.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are in a Redis that nobody named", n)
	}
}

// TestOneOffIsNamed: loadctl run without a Redis names the command that works without one.
func TestOneOffIsNamed(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	args := append([]string{"run", "x", "--url", b.web.URL() + "/?a=1&b=2", "--qps", "6k/m", "-n", "0.05k", "--min-workers", "3", "-o", "json"}, steadfast()...)
	p := launch(t, "", "loadctl", args...)
	p.wait(104)
	_, line, ok := strings.Cut(lastLine(p.Stderr.String()), "from this machine alone, without Redis: loadworker ")
	if !ok {
		t.Fatal(p.Stderr.String())
	}
	w := launch(t, "", "loadworker", shellWords(t, line)...)
	w.wait(0)
	if r := w.printed(); r.Audit.Sent != 50 || b.web.Paths()["/?a=1&b=2"] != 50 {
		t.Errorf("%+v, %v", r.Audit, b.web.Paths())
	}
}

// shellWords splits a line into words as a shell does, if there is nothing to expand.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	p := launchPath(t, "/bin/sh", "-c", `printf '%s\n' `+line)
	p.wait(0)
	return strings.Split(strings.TrimSuffix(p.Stdout.String(), "\n"), "\n")
}

// TestLiveLine: on a terminal a worker shows progress below its messages, and removes it for the report.
func TestLiveLine(t *testing.T) {
	nightly(t)
	b := newBed(t)
	terminal := watchtest.NewTerminal(t, 120)
	p := launchOn(t, terminal.Slave, "loadworker", "run", "--url", b.web.URL(), "--qps", "100", "-o", "json")
	line := regexp.MustCompile(`\r\x1b\[K(run-[0-9a-f]{8}): 100/s  asked \d+  sent [1-9]\d*  ok \d+ `)
	await.True(t, "a line", func() bool { return line.MatchString(terminal.Screen.String()) })
	redis := regexp.MustCompile(`redis://127\.0\.0\.1:\d+`).FindString(terminal.Screen.String())
	launch(t, redis, "loadctl", "stop", line.FindStringSubmatch(terminal.Screen.String())[1]).wait(0)
	p.wait(0)
	shown := terminal.Shown()
	if name := line.FindStringSubmatch(shown)[1]; p.printed().Run != name {
		t.Errorf("the line is about %s, and the report about %s", name, p.printed().Run)
	}
	if !regexp.MustCompile(`\r\x1b\[K$`).MatchString(shown) {
		t.Errorf("something is left where the report begins: %q", shown)
	}
	if !regexp.MustCompile(`(\n|\r\x1b\[K)time=\S+ level=INFO msg="(the run begins|taking part)" workers=1\r?\n`).MatchString(shown) {
		t.Errorf("what it says is not on lines of its own: %q", shown)
	}
	plain := launch(t, "", "loadworker", "run", "--url", b.web.URL(), "--qps", "100", "--duration", "1s", "-o", "json")
	plain.wait(0)
	if s := plain.Stderr.String(); strings.ContainsAny(s, "\r\x1b") || strings.Contains(s, "asked") {
		t.Errorf("a line that is written anew, and no terminal: %q", s)
	}
}

// launchOn is launch of a command without a Redis, with its standard error on a terminal.
func launchOn(t *testing.T, terminal *os.File, name string, args ...string) *process {
	t.Helper()
	return start(t, "", fmt.Sprintf("%s/%s", binaries, name), terminal, args...)
}

// launchPath is launch of a program of the system.
func launchPath(t *testing.T, path string, args ...string) *process {
	t.Helper()
	return start(t, "", path, nil, args...)
}
