package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
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
	"github.com/loadctl/loadctl/internal/console/limiters"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestLimiters compares the table with the output of `loadctl limiters` and `loadctl limiters -o json` in testdata.
func TestLimiters(t *testing.T) {
	for file, args := range map[string][]string{
		"limiters.txt":  {"limiters"},
		"limiters.json": {"limiters", "-o", "json"},
	} {
		want, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := execute(args...); code != cli.CodeGood || stderr != "" || stdout != string(want) {
			t.Errorf("%v: exit code %d, stderr %q, stdout\n%s\nwant\n%s", args, code, stderr, stdout, want)
		}
	}
	stdout, _, _ := execute("limiters", "gcra", "fixed-window", "-o", "json")
	var some explained
	if err := json.Unmarshal([]byte(stdout), &some); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	if len(some.Limiters) != 3 || some.Limiters[2].Name != "fixed-window" || some.Measured != nil {
		t.Errorf("%s", stdout)
	}
}

// TestLimitersMeasure: results, text and plot of a limiter, with the embedded Redis and with a given one.
func TestLimitersMeasure(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	for redis, where := range map[string][]string{"embedded": nil, "given": {"--redis", redistest.Start(t).URL()}} {
		plot := filepath.Join(t.TempDir(), "plot.svg")
		args := append([]string{"limiters", "leaky-bucket", "--measure", "--qps", "200", "--duration", "2s", "--burst", "0.1k", "--window", "500ms",
			"--plot", plot, "-o", "json"}, where...)
		stdout, stderr, code := execute(args...)
		head := "200/s for 2s each, windows of 500ms, bursts of 100, Redis " + redis + "\n"
		if code != cli.CodeGood || strings.Count(stderr, "\n") != 4 || !strings.HasPrefix(stderr, head) {
			t.Errorf("exit code %d, stderr %q", code, stderr)
		}
		var doc explained
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
			t.Fatalf("%v: %s", err, stdout)
		}
		m := doc.Measured
		if len(doc.Limiters) != 1 || m.Redis != redis || m.QPS != 200 || m.Duration != 2*time.Second || m.Burst != 100 || len(m.Seen) != 2 {
			t.Errorf("%s", stdout)
		}
		for i, use := range []limiters.Use{limiters.Run, limiters.Rush} {
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
	seen := []limiters.Seen{{Limiter: "leaky-bucket", Use: limiters.Run, Within: true}}
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

// TestLimitersInterrupted: the first Ctrl-C ends a measurement cleanly, without any output that looks like a result.
func TestLimitersInterrupted(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	server := redistest.Start(t)
	for _, at := range []string{"embedded", server.URL()} {
		var stdout, stderr child.Output
		code := make(chan int, 1)
		go func() {
			code <- cli.Main(newRootCommand(), []string{"limiters", "--measure", "--duration", "2s", "--redis", at}, &stdout, &stderr)
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

func TestLimitersRefused(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"bucket"}, `limiter "bucket": there is none; take one of gcra, token-bucket, leaky-bucket, `},
		{[]string{"tokenbucket"}, `limiter "tokenbucket": there is none; did you mean token-bucket? Or take one of gcra, `},
		{[]string{"--burst", "5"}, "--burst: has an effect only with --measure"},
		{[]string{"--window", "1s"}, "--window: has an effect only with --measure"},
		{[]string{"--measure", "--burst", "0"}, `--burst: "0" is no number of requests; write 1 to 1000000000, such as 20 or 2.5k`},
		{[]string{"--measure", "--burst", "20001"}, "--burst: give a number of requests from 1 to 20000"},
		{[]string{"--measure", "--window", "19ms"}, "--window: give a time from 20ms to 1.5s, half of --duration, such as 1s"},
		{[]string{"--measure", "--window", "2s"}, "--window: give a time from 20ms to 1.5s"},
		{[]string{"--measure", "--window", "33ms"}, "--window 33ms: at 500 requests per second it holds no whole number of requests; give a multiple of 2ms, such as 1s"},
		{[]string{"-o", "csv"}, `--output "csv": there are text, json`},
		{[]string{"--qps", "5"}, "--qps: has an effect only with --measure; give that too"},
		{[]string{"--duration", "5s"}, "--duration: has an effect only with --measure"},
		{[]string{"--plot", "x.svg"}, "--plot: has an effect only with --measure"},
		{[]string{"--measure", "--qps", "9"}, "give a whole number of requests per second from 10 to 20000"},
		{[]string{"--measure", "--qps", "20001"}, "from 10 to 20000"},
		{[]string{"--measure", "--qps", "100/3s"}, "give a whole number"},
		{[]string{"--measure", "--qps", "max"}, "--qps"},
		{[]string{"--measure", "--duration", "1s"}, "--duration: give a time from 2s to 1m0s"},
		{[]string{"--measure", "--duration", "2m"}, "--duration: give a time from 2s"},
		{[]string{"--measure", "--plot", dir}, "is no regular file"},
		{[]string{"--measure", "--plot", filepath.Join(dir, "not", "there.svg")}, `there.svg": no such file or directory; give a file in a directory that is there`},
		{[]string{"--measure", "--redis", "embedded:x"}, "the port is a number"},
		{[]string{"--measure", "--redis", "redis://:" + secret + "@127.0.0.1:1"}, "reach Redis at 127.0.0.1:1"},
	} {
		refused(t, append([]string{"limiters"}, c.args...), c.says)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestNarrow: a burst so small that a part of the rate may be lost causes a warning on stderr, wherever it is set or
// comes into being.
func TestNarrow(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", redistest.Start(t).URL())
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"create", "x", "--url", "noop://", "--qps", "500", "--limiter", "token-bucket", "--burst", "4"}, "a burst of 5 is enough\n"},
		{[]string{"set-burst", "x", "0.1k"}, ""},
		{[]string{"set-burst", "x", "3"}, "a burst of 5 is enough\n"},
		{[]string{"set-rate", "x", "1k"}, "a burst of 10 is enough\n"},
		{[]string{"set-rate", "x", "60k/m"}, "a burst of 10 is enough\n"},
		{[]string{"set-rate", "x", "300"}, ""},
		{[]string{"create", "y", "--url", "noop://", "--qps", "500", "--limiter", "sliding-log", "--window", "4ms"}, "a window of 20ms is enough\n"},
		{[]string{"create", "z", "--url", "noop://", "--qps", "500"}, ""},
	} {
		_, stderr, code := execute(c.args...)
		line := strings.HasPrefix(stderr, "warning: run "+c.args[1]+": some of ") && strings.HasSuffix(stderr, c.says) && strings.Count(stderr, "\n") == 1
		if code != cli.CodeGood || c.says == "" && stderr != "" || c.says != "" && !line {
			t.Errorf("%v: exit code %d, %q", c.args, code, stderr)
		}
	}
}

// TestLimitersBeyond: a limiter that breaks its promise is named, and the exit code is 1.
func TestLimitersBeyond(t *testing.T) {
	within, out := limiters.Seen{Limiter: "sliding-log", Within: true}, limiters.Seen{Limiter: "gcra", Flags: "--burst"}
	if err := beyond([]limiters.Seen{within, within}); err != nil {
		t.Error(err)
	}
	root := &cobra.Command{Use: "loadctl", RunE: func(*cobra.Command, []string) error {
		return beyond([]limiters.Seen{within, out, out})
	}}
	stdout, stderr, code := clitest.Execute(root)
	const want = "error: measure gcra --burst: more arrived than the limiter promises; please report this as a bug\n"
	if code != cli.CodeOther || stdout != "" || stderr != want {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestLimitersWriteError: if the table cannot be written, that is an error.
func TestLimitersWriteError(t *testing.T) {
	full := writerFunc(func([]byte) (int, error) { return 0, errors.New("no space left") })
	if code := cli.Main(newRootCommand(), []string{"limiters"}, full, io.Discard); code != cli.CodeOther {
		t.Errorf("exit code %d", code)
	}
}
