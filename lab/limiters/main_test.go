package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestResults: results, text and plot of a limiter, with the embedded Redis and with a given one.
func TestResults(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	for redis, where := range map[string][]string{"embedded": nil, "given": {"--redis", redistest.Start(t).URL()}} {
		plot := filepath.Join(t.TempDir(), "plot.svg")
		args := append([]string{"leaky-bucket", "--qps", "200", "--duration", "2s", "--burst", "0.1k", "--window", "500ms",
			"--plot", plot, "-o", "json"}, where...)
		stdout, stderr, code := clitest.Execute(newCommand(), args...)
		head := "200/s for 2s each, windows of 500ms, bursts of 100, Redis " + redis + "\n"
		if code != cli.CodeGood || strings.Count(stderr, "\n") != 4 || !strings.HasPrefix(stderr, head) {
			t.Errorf("exit code %d, stderr %q", code, stderr)
		}
		var doc measured
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
			t.Fatalf("%v: %s", err, stdout)
		}
		m := doc
		if m.Redis != redis || m.QPS != 200 || m.Duration != 2*time.Second || m.Burst != 100 || len(m.Seen) != 2 {
			t.Errorf("%s", stdout)
		}
		for i, use := range []Use{Run, Rush} {
			if s := m.Seen[i]; s.Use != use || !s.Within || s.Arrived == 0 {
				t.Errorf("%+v", s)
			}
		}
		checkPicture(t, plot, "leaky-bucket, run", "leaky-bucket, rush")
	}
}

// checkPicture checks that a file is SVG with these texts in it.
func checkPicture(t *testing.T, file string, says ...string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var picture struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	}
	if err := xml.Unmarshal(text, &picture); err != nil {
		t.Errorf("%v in %s", err, text)
	}
	for _, want := range says {
		if !strings.Contains(string(text), ">"+want+"<") {
			t.Errorf("%s is not in the plot", want)
		}
	}
}

// TestPlotIsWhole: a picture is replaced in one step by a complete one, or stays unchanged.
func TestPlotIsWhole(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "plot.svg"), filepath.Join(t.TempDir(), "of yesterday")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Link(path, link)); err != nil {
		t.Fatal(err)
	}
	f := measureFlags{plot: cli.File(path), window: cli.Duration(time.Second)}
	seen := []Seen{{Limiter: "leaky-bucket", Use: Run, Within: true}}
	if err := f.draw(seen); err != nil {
		t.Fatal(err)
	}
	checkPicture(t, path, "leaky-bucket, run")
	if old, err := os.ReadFile(link); err != nil || string(old) != "old" {
		t.Errorf("what was there before became %.20q, %v, while the new one was written", old, err)
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	err := f.draw(seen)
	left, err2 := os.ReadDir(dir)
	if err == nil || !strings.Contains(err.Error(), "--plot: write "+path) || err2 != nil || len(left) != 1 {
		t.Errorf("%v; %v, %v are left", err, left, err2)
	}
}

// TestInterrupted: the first Ctrl-C ends a measurement cleanly, without any output that looks like a result.
func TestInterrupted(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	server := redistest.Start(t)
	for _, at := range []string{"embedded", server.URL()} {
		var stdout, stderr child.Output
		code := make(chan int, 1)
		go func() {
			code <- cli.Main(newCommand(), []string{"--duration", "2s", "--redis", at}, &stdout, &stderr)
		}()
		await.True(t, "the first measurement", func() bool { return strings.Contains(stderr.String(), "\ngcra  ") || len(code) > 0 })
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if got := await.Receive(t, "the end of the measurement", code); got != cli.CodeSignal || stdout.String() != "" || strings.Contains(stderr.String(), "error") {
			t.Errorf("exit code %d, stdout %q, stderr %q", got, stdout.String(), stderr.String())
		}
	}
	for key := range redistest.Contents(t, server.Client()) {
		if !strings.HasPrefix(key, "limit:{limiters-") {
			t.Errorf("leaves %s", key)
		}
	}
}

// TestRefused: what cannot be measured gets one line that says what to give, before anything is sent or written.
func TestRefused(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--burst", "0"}, `--burst: "0" is no number of requests; write 1 to 1000000000, such as 20 or 2.5k`},
		{[]string{"--burst", "20001"}, "--burst: give a number of requests from 1 to 20000"},
		{[]string{"--window", "19ms"}, "--window: give a time from 20ms to 1.5s, half of --duration, such as 1s"},
		{[]string{"--window", "2s"}, "--window: give a time from 20ms to 1.5s"},
		{[]string{"--window", "33ms"}, "--window 33ms: at 500 requests per second it holds no whole number of requests; give a multiple of 2ms, such as 1s"},
		{[]string{"-o", "csv"}, `--output "csv": there are text, json`},
		{[]string{"--qps", "9"}, "give a whole number of requests per second from 10 to 20000"},
		{[]string{"--qps", "20001"}, "from 10 to 20000"},
		{[]string{"--qps", "100/3s"}, "give a whole number"},
		{[]string{"--qps", "max"}, "--qps"},
		{[]string{"--duration", "1s"}, "--duration: give a time from 2s to 1m0s"},
		{[]string{"--duration", "2m"}, "--duration: give a time from 2s"},
		{[]string{"--plot", dir}, "is no regular file"},
		{[]string{"--plot", filepath.Join(dir, "not", "there.svg")}, `there.svg": no such file or directory; give a file in a directory that is there`},
		{[]string{"--redis", "embedded:x"}, "the port is a number"},
		{[]string{"--redis", "redis://:" + clitest.Secret + "@127.0.0.1:1"}, "reach Redis at 127.0.0.1:1"},
	} {
		clitest.Refused(t, newCommand(), c.args, c.says)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestVerdict: a limiter that breaks its promise is named, and the exit code is 1.
func TestVerdict(t *testing.T) {
	within, out := Seen{Limiter: "sliding-log", Within: true}, Seen{Limiter: "gcra", Flags: "--burst"}
	if err := beyond([]Seen{within, within}); err != nil {
		t.Error(err)
	}
	root := &cobra.Command{Use: "loadctl", RunE: func(*cobra.Command, []string) error {
		return beyond([]Seen{within, out, out})
	}}
	stdout, stderr, code := clitest.Execute(root)
	const want = "error: measure gcra --burst: more arrived than the limiter promises; please report this as a bug\n"
	if code != cli.CodeOther || stdout != "" || stderr != want {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
