package prepare

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/commands"
)

// demoProcess is a loadctl demo as its users run it, in a process group of its own, as a shell would have it.
type demoProcess struct {
	*child.Process
	t   *testing.T
	bin string
}

func (d *demoProcess) printed() string { return d.Stdout.String() }

// copyCommands copies both commands into a new directory, so that their processes can be identified.
func copyCommands(t *testing.T) string {
	t.Helper()
	built, err := commands.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer built.Remove()
	bin := t.TempDir()
	if err := os.CopyFS(bin, os.DirFS(built.Dir)); err != nil {
		t.Fatal(err)
	}
	return bin
}

func startDemo(t *testing.T, bin string, args ...string) *demoProcess {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "loadctl"), append([]string{"demo"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	p, err := child.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return &demoProcess{Process: p, t: t, bin: bin}
}

// says waits until the demo prints this text.
func (d *demoProcess) says(text string) {
	d.t.Helper()
	await.True(d.t, text, func() bool { return strings.Contains(d.printed(), text) || d.ended() })
	if !strings.Contains(d.printed(), text) {
		d.t.Fatalf("it ended and did not say %q\n%s\n%s", text, d.printed(), d.Stderr.String())
	}
}

func (d *demoProcess) ended() bool {
	select {
	case <-d.Exited:
		return true
	default:
		return false
	}
}

// wait waits for the end and returns the exit code, -1 after a signal.
func (d *demoProcess) wait() int {
	d.t.Helper()
	await.Closed(d.t, "the end of the demo", d.Exited)
	return d.Cmd.ProcessState.ExitCode()
}

// workers counts the processes of the demo's loadworker, whatever their parent.
func (d *demoProcess) workers() int {
	d.t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		d.t.Fatal(err)
	}
	n := 0
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil && path == filepath.Join(d.bin, "loadworker") {
			n++
		}
	}
	return n
}

func TestDemo(t *testing.T) {
	bin := copyCommands(t)
	t.Run("interrupted", func(t *testing.T) { testDemoInterrupted(t, startDemo(t, bin)) })
	t.Run("killed", func(t *testing.T) { testDemoKilled(t, startDemo(t, bin)) })
	t.Run("killed with silent workers", func(t *testing.T) { testDemoKilledSilent(t, bin) })
	d := startDemo(t, bin)
	if code := d.wait(); code != 0 || d.Stderr.String() != "" || d.workers() > 0 {
		t.Fatalf("exit code %d, %d workers left, stderr %q\n%s", code, d.workers(), d.Stderr.String(), d.printed())
	}
	for _, want := range []string{
		"w1, w2 and w3 begin at 1000/s", "set-rate 3000", "w2 is killed (SIGKILL); loadctl workers rm says so", "w4 joins", "set-rate 500", "stop:",
		", INCOMPLETE, see the notes\n", "worker w2: its final snapshot is missing", "workers     w1  stopped", "w2  removed", "w3  stopped", "w4  stopped", "sent <= arrived <= sent + lost holds", "README.md",
	} {
		if !strings.Contains(d.printed(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	rows := demoRows(t, d.printed())
	testDemoCounts(t, d.printed(), rows)
	if os.Getenv("LOADCTL_E2E") == "full" { // acceptance: this needs a quiet machine
		t.Run("steady seconds are within 1 %", func(t *testing.T) { testDemoIsSteady(t, rows) })
	}
	if t.Failed() {
		t.Log(d.printed())
	}
}

// demoRow is a row of the plot.
type demoRow struct {
	asked, arrived int64
	note           string
}

// demoRows reads the plot: a row for each second, from 0 on, without holes.
func demoRows(t *testing.T, printed string) []demoRow {
	t.Helper()
	_, after, ok := strings.Cut(printed, "second    asked  arrived  deviation  █ arrived, │ asked\n")
	plot, _, closed := strings.Cut(after, "\n\n")
	if !ok || !closed {
		t.Fatalf("there is no plot:\n%s", printed)
	}
	row := regexp.MustCompile(`^ *(\d+) +(\d+) +(\d+) +(?:[+-]\d+(?:\.\d\d)? % )? +█* *│█* *(.*)$`)
	var rows []demoRow
	for i, line := range strings.Split(plot, "\n") {
		f := row.FindStringSubmatch(line)
		if f == nil || f[1] != strconv.Itoa(i) {
			t.Fatalf("row %d: %q", i, line)
		}
		rows = append(rows, demoRow{asked: number(t, f[2]), arrived: number(t, f[3]), note: f[4]})
	}
	if len(rows) < 15 {
		t.Fatalf("%d rows:\n%s", len(rows), plot)
	}
	return rows
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// testDemoCounts: the plot adds up to the report, and the report to what the target counted.
func testDemoCounts(t *testing.T, printed string, rows []demoRow) {
	t.Helper()
	of := func(pattern string) int64 {
		f := regexp.MustCompile(pattern).FindStringSubmatch(printed)
		if f == nil {
			return 0
		}
		return number(t, f[1])
	}
	var asked, arrived int64
	for _, r := range rows {
		asked, arrived = asked+r.asked, arrived+r.arrived
	}
	total, sent, lost := of(`(?m)^asked +(\d+) `), of(`(?m)^sent +(\d+) `), of(`(?m)^audit .* lost (\d+)`)
	if total == 0 || asked != total {
		t.Errorf("the rows ask for %d, the report says %d", asked, total)
	}
	if sent == 0 || lost == 0 || arrived < sent || arrived > sent+lost {
		t.Errorf("%d arrived, %d sent, %d lost", arrived, sent, lost)
	}
	if counted := of(`arrived\s+(\d+),\s+as\s+the\s+target`); counted != arrived {
		t.Errorf("the rows hold %d arrivals, the verdict %d", arrived, counted)
	}
	if strings.Contains(printed, "≠") {
		t.Error("the audit does not add up")
	}
	rate := int64(1000)
	for i, r := range rows {
		_, change, changed := strings.Cut(r.note, "set-rate ")
		switch {
		case changed:
			text, _, _ := strings.Cut(change, ",")
			rate = number(t, text)
		case strings.Contains(r.note, "stop"):
			rate = 0
		case r.asked != rate:
			t.Errorf("second %d: %d asked, want %d", i, r.asked, rate)
		}
	}
	if rate != 0 {
		t.Error("there is no stop")
	}
}

// testDemoIsSteady: in the seconds in which nothing happens, the arrivals are within 1 % of the rate asked for; also
// two seconds after the kill.
func testDemoIsSteady(t *testing.T, rows []demoRow) {
	for _, i := range []int{1, 2, 4, 5, 8, 10, 11, 13} {
		off := 100 * float64(rows[i].arrived-rows[i].asked) / float64(rows[i].asked)
		t.Logf("second %d: %+.2f %%", i, off)
		if math.Abs(off) > 1 {
			t.Errorf("second %d: %d asked, %d arrived", i, rows[i].asked, rows[i].arrived)
		}
	}
}

// testDemoInterrupted: Ctrl-C, which a terminal sends to the whole group, ends everything, and leaves no half line and
// no half result.
func testDemoInterrupted(t *testing.T, d *demoProcess) {
	d.says("   1 s   asked")
	if n := d.workers(); n != 3 {
		t.Errorf("%d workers", n)
	}
	if err := syscall.Kill(-d.Cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := d.wait(); code != cli.CodeSignal || d.Stderr.String() != "" {
		t.Errorf("exit code %d, stderr %q", code, d.Stderr.String())
	}
	if n := d.workers(); n > 0 {
		t.Errorf("%d workers are left", n)
	}
	if printed := d.printed(); !strings.HasSuffix(printed, "\n") || strings.Contains(printed, "audit") || strings.Contains(printed, "second ") {
		t.Errorf("half a demo:\n%s", printed)
	}
}

// testDemoKilled: the workers end even if the demo is killed and can do nothing for them.
func testDemoKilled(t *testing.T, d *demoProcess) {
	d.says("   1 s   asked")
	if n := d.workers(); n != 3 {
		t.Errorf("%d workers", n)
	}
	d.Cmd.Process.Kill()
	d.wait()
	await.True(d.t, "the end of the workers", func() bool { return d.workers() == 0 })
}

// testDemoKilledSilent: workers that never write do not notice that nobody reads; the kernel ends them (Linux).
func testDemoKilledSilent(t *testing.T, bin string) {
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	if err := os.Link(filepath.Join(bin, "loadctl"), filepath.Join(dir, "loadctl")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "loadworker"), []byte("#!/bin/sh\necho $$ >>"+pids+"\nexec sleep 120\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := startDemo(t, dir)
	var workers []string
	await.True(t, "three workers", func() bool {
		text, _ := os.ReadFile(pids)
		workers = strings.Fields(string(text))
		return len(workers) == 3 && bytes.HasSuffix(text, []byte("\n"))
	})
	d.Cmd.Process.Kill()
	d.wait()
	await.True(t, "the end of the workers", func() bool {
		for _, pid := range workers {
			if _, err := os.Readlink("/proc/" + pid + "/exe"); err == nil { // a zombie has no such link
				return false
			}
		}
		return true
	})
}

func TestDemoRefused(t *testing.T) {
	for _, qps := range []string{"9", "20001", "0", "0.5", "30/1m", "1M", "max", "x", ""} {
		refused(t, []string{"demo", "--qps", qps}, "--qps")
	}
	refused(t, []string{"demo", "more"}, "usage: loadctl demo")
	refused(t, []string{"demo", "--redis", "redis://:" + secret + "@127.0.0.1"}, "--redis: the demo starts its own Redis")
	t.Setenv("PATH", t.TempDir())
	refused(t, []string{"demo"}, "find loadworker", "go install github.com/loadctl/loadctl/cmd/loadworker@latest", "make build")
}

// TestDemoWithoutScreen: if nothing can be written, the demo does not start.
func TestDemoWithoutScreen(t *testing.T) {
	worker := filepath.Join(t.TempDir(), "loadworker")
	if err := os.WriteFile(worker, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(worker)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var stderr bytes.Buffer
	code := cli.Main(newRootCommand(), []string{"demo"}, clitest.FullDisk{}, &stderr)
	if code != cli.CodeOther || stderr.String() != "error: write the demo: no space left\n" {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}
