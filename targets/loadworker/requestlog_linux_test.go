package loadworker

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// cells reads a log of requests in CSV, as far as it goes.
func cells(t *testing.T, path string) [][]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".zst") {
		d, err := zstd.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if data, err = io.ReadAll(d); err != nil && len(data) == 0 {
			t.Fatal(err)
		}
	}
	all, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRequestLog: the file has each request of the report once, with its ordinal and latency, but for those that were left out
// in a closed loop, which is faster than any disk.
func TestRequestLog(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	for _, args := range [][]string{{"-n", "300", "--qps", "600"}, {"--qps", "max", "-c", "2", "--duration", "300ms"}} {
		path := filepath.Join(t.TempDir(), "requests.csv")
		stdout, stderr, code := execute(append([]string{"run", "--run", "x" + args[1][:2], "--url", "noop://", "-o", "json", "--log", path}, args...)...)
		var report struct {
			Audit struct {
				Sent int `json:"sent"`
			} `json:"audit"`
		}
		if err := json.Unmarshal([]byte(stdout), &report); err != nil {
			t.Fatalf("exit code %d, %v: %s", code, err, stderr)
		}
		all, seen := cells(t, path), map[string]bool{}
		for _, line := range all[1:] {
			seen[line[0]] = true
			if ns, err := strconv.Atoi(line[12]); err != nil || ns <= 0 {
				t.Fatalf("latency in %q: %v", line, err)
			}
		}
		m := regexp.MustCompile(`log: ([0-9,]+) requests in ` + path + `, ([0-9,]+) left out\n`).FindStringSubmatch(stderr)
		if m == nil {
			t.Fatal(stderr)
		}
		number := func(s string) int {
			n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
			return n
		}
		written, out := number(m[1]), number(m[2])
		if n := report.Audit.Sent; n == 0 || len(seen) != written || len(all) != written+1 || written+out != n {
			t.Errorf("%d sent, %d lines, %d ordinals: %s", n, len(all)-1, len(seen), stderr)
		}
		if warned := strings.Contains(stderr, "warning: --log: "+m[2]+" requests are missing"); warned != (out > 0) || out > 0 && args[0] == "-n" {
			t.Error(stderr)
		}
	}
}

// TestRequestLogAfterSignals: after an interrupt the file has all requests. After a kill it has all up to the last flush, and
// can be read.
func TestRequestLogAfterSignals(t *testing.T) {
	server := redistest.Start(t)
	dir := t.TempDir()
	for name, kill := range map[string]bool{"interrupted.csv.zst": false, "killed.csv.zst": true, "killed.csv": true} {
		path := filepath.Join(dir, name)
		p := begin(t, "run", "--redis", server.URL(), "--run", strings.ReplaceAll(name, ".", "-"), "--url", "noop://", "--qps", "200", "--duration", "1m", "--log", path)
		await.True(t, "lines in the file", func() bool {
			info, err := os.Stat(path)
			return err == nil && info.Size() > 200
		})
		if kill {
			p.Kill()
			if n := len(cells(t, path)); n < 2 {
				t.Errorf("%s: %d lines", name, n)
			}
			continue
		}
		p.interrupt()
		if code := p.ends(); code != cli.CodeSignal {
			t.Errorf("exit code %d, %s", code, p.Stderr.String())
		}
		n := strconv.Itoa(len(cells(t, path)) - 1)
		if !strings.Contains(p.Stderr.String(), "log: "+n+" requests in "+path+", 0 left out\n") {
			t.Errorf("%s lines: %s", n, p.Stderr.String())
		}
	}
}

// TestRequestLogStopsOnAFullDisk: the run goes on, and the worker says how many lines are missing.
func TestRequestLogStopsOnAFullDisk(t *testing.T) {
	server := redistest.Start(t)
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	p := shell(t, `trap '' XFSZ; ulimit -f 100; exec "$@"`, "run", "--redis", server.URL(), "--run", "x", "--url", "noop://", "--qps", "2000", "--duration", "3s", "--log", path)
	code := p.ends()
	text, err := os.ReadFile(path)
	if err != nil || code != cli.CodeGood || len(text) > 100<<10 || len(text) > 0 && text[len(text)-1] != '\n' {
		t.Errorf("exit code %d, %d bytes, %v\n%s", code, len(text), err, p.Stderr.String())
	}
	for _, says := range []string{"the log of requests stopped; the run goes on without it", "requests are missing in " + path + ", because a write failed: "} {
		if strings.Count(p.Stderr.String(), says) != 1 {
			t.Errorf("%q is not there once: %s", says, p.Stderr.String())
		}
	}
}

// TestRequestLogOfNoRun: a worker that does not come to send leaves no file.
func TestRequestLogOfNoRun(t *testing.T) {
	server := redistest.Start(t)
	path := filepath.Join(t.TempDir(), "requests.csv")
	_, stderr, code := execute("run", "--redis", server.URL(), "--run", "nowhere", "--allow-any", "--log", path)
	if _, err := os.Stat(path); code != cli.CodeConfig || !os.IsNotExist(err) || strings.Contains(stderr, "log:") {
		t.Errorf("exit code %d, %v, %s", code, err, stderr)
	}
}
