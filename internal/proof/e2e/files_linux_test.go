package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/report"
)

// short starts a command that cannot write long files: as with a full disk, the kernel accepts a part of the report and
// refuses the rest.
func (b *bed) short(name string, args ...string) *process {
	b.t.Helper()
	command := append([]string{"-c", `ulimit -f 1; exec "$0" "$@"`, filepath.Join(binaries, name)}, args...)
	shell, err := filepath.Rel(binaries, "/bin/sh")
	if err != nil {
		b.t.Fatal(err)
	}
	return launch(b.t, b.url(), shell, command...)
}

// TestMergeTakesFilesOnly: a pipe without a writer does not block the command, nor does an endless device.
func TestMergeTakesFilesOnly(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero", "/dev/null"} {
		p := b.operator("report", "x", "--merge", path)
		p.wait(104)
		if s := p.Stderr.String(); !strings.HasPrefix(s, "error: --merge: read "+path+": it is no regular file: ") || strings.Count(s, "\n") != 1 {
			t.Error(s)
		}
	}
}

// TestReportOutlivesFullDisk: if its file cannot take the report, it is on standard output, and the exit code reports
// an error.
func TestReportOutlivesFullDisk(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	out := filepath.Join(t.TempDir(), "report.json")
	described := append(steadfast(), "--url", b.web.URL(), "--qps", "100", "--duration", "1s", "-o", "json", "--out", out)
	worker := b.short("loadworker", append([]string{"run", "--run", "x"}, described...)...)
	worker.wait(1)
	reader := b.short("loadctl", "report", "x", "-o", "json", "--out", out)
	reader.wait(1)
	for _, p := range []*process{worker, reader} {
		var r report.Report
		if err := json.Unmarshal([]byte(p.Stdout.String()), &r); err != nil || r.Audit.Sent != 100 || !r.Complete {
			t.Errorf("%v, %+v", err, r.Audit)
		}
		if s := lastLine(p.Stderr.String()); s != "error: write "+out+": file too large; it is on standard output instead; the report is still in Redis: loadctl report x" {
			t.Error(s)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) != 0 {
		t.Errorf("%v, left are %v", err, left)
	}
}
