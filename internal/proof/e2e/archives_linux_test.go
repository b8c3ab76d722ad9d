package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
)

// TestArchiveIsTheRun: every format of an archive equals that of its run, without Redis, byte for byte and with the
// same exit code: for a run with thresholds, warm-up, limiter, commands, errors and limits. New formats are included
// automatically.
func TestArchiveIsTheRun(t *testing.T) {
	besides(t)
	b, web, dir := newBed(t), serve(t, arrivals.Options{ErrorShare: 0.2, Latency: 30 * time.Millisecond}), t.TempDir()
	files, args := map[string]string{}, []string{"--url", web.URL() + "/?a=b", "--qps", "200", "--id", "w1", "--limiter", "token-bucket", "--burst", "50",
		"--max-connections", "4", "--max-lag", "100ms", "-H", "Authorization: Bearer secret", "--warmup", "1s", "--threshold", "errors:rate<1%", "--threshold", "checks:count>10 over 1s"}
	for _, format := range render.Formats() {
		files[format] = filepath.Join(dir, "worker."+format) // only the archive's extension selects a format
	}
	for _, ending := range render.Endings() {
		name := filepath.Join(dir, "worker"+ending)
		files[render.FormatOf(name)] = name
		args = append(args, "--out", name)
	}
	worker := b.worker("x", args...)
	await.True(t, "the start", func() bool {
		out, _, _ := b.try("status", "x", "-o", "json")
		return strings.Contains(out, `"phase": "running"`)
	})
	b.loadctl("set-rate", "x", "250")
	await.True(t, "a second after the warm-up", func() bool { return b.status("x").Asked >= 3*250 })
	b.loadctl("stop", "x")
	await.Closed(t, "the end of the worker", worker.Exited)
	archive := filepath.Join(dir, "x.loadctl")
	_, says, code := b.try("report", "x", "--out", archive)
	live := map[string]string{}
	for _, format := range render.Formats() {
		live[format], _, _ = b.try("report", "x", "-o", format)
	}
	var r report.Report
	if err := json.Unmarshal([]byte(live["json"]), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Thresholds) != 2 || r.WarmupS != 1 || r.Limiter == "" || len(r.Described.Commands) != 3 || len(r.Described.Flags) == 0 || len(r.Workers) != 1 ||
		len(r.Workers[0].Verdicts) == 0 || r.Errors["status"] == 0 || code != 99 {
		t.Errorf("exit code %d, %s: the run has not all that is to be reported: %+v", code, says, r)
	}
	b.redis.Kill()
	for format, want := range live {
		out, stderr, exit := b.try("report", archive, "-o", format)
		if out = strings.ReplaceAll(out, "loadctl samples "+archive, "loadctl samples x"); out != want || stderr != says || exit != code {
			t.Errorf("%s: exit code %d, want %d; %q, want %q\n%.3000s\nwant\n%.3000s", format, exit, code, stderr, says, out, want)
		}
		// The worker's own output is the same too, except for the program that wrote it.
		written, err := os.ReadFile(files[format])
		out, _, _ = b.try("report", files["archive"], "-o", format)
		out = strings.ReplaceAll(out, "loadctl samples "+files["archive"], "loadctl samples x")
		if got := strings.ReplaceAll(string(written), "loadworker dev", "loadctl dev"); err != nil || format != "archive" && sameBut(got) != sameBut(out) {
			t.Errorf("%s of the worker: %v\n%.3000s\nwant\n%.3000s", format, err, got, out)
		}
	}
}

// sameBut returns a report without the name of the program that created the run.
func sameBut(text string) string { return strings.ReplaceAll(text, "loadworker dev", "loadctl dev") }

// loadctlMemory runs a command and returns its largest memory, in bytes.
func loadctlMemory(t *testing.T, args ...string) (stdout, stderr string, code int, most int64) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("/proc/self/exe", append([]string{peakOf, filepath.Join(binaries, "loadctl")}, args...)...)
	cmd.Env = append(os.Environ(), "LOADCTL_REDIS=")
	cmd.ExtraFiles = []*os.File{w}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := fmt.Fscan(r, &most); err != nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode(), most
}

// peakOf is the first argument of this program when it only runs another one.
const peakOf = "peak-memory-of"

// runPeak runs a program, writes its largest memory to descriptor 3, in bytes, and returns its exit code. A process counts
// the memory of the one that started it as its own: that of a small process like this does not matter.
func runPeak(args []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		panic(err)
	}
	fmt.Fprintln(os.NewFile(3, "peak"), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	return cmd.ProcessState.ExitCode()
}

// archiveOf packs any data into an archive.
func archiveOf(t *testing.T, write func(w *gzip.Writer)) string {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	write(z)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return "loadctl archive 1\n" + base64.StdEncoding.EncodeToString(packed.Bytes()) + "\n"
}

// TestHostileFiles: all commands that read files refuse files that are no archives, or bad ones, with one line, exit
// code 104, and bounded memory.
func TestHostileFiles(t *testing.T) {
	nightly(t)
	besides(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	repeat := func(begin, part string, n int, end string) string {
		return archiveOf(t, func(w *gzip.Writer) {
			fmt.Fprint(w, begin)
			for range n {
				fmt.Fprint(w, part)
			}
			fmt.Fprint(w, end)
		})
	}
	pipe, sparse := filepath.Join(dir, "pipe"), file("sparse.loadctl", "loadctl archive 1\n")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Fatal(err)
	}
	sparseJSON := file("sparse.json", "{")
	if err := os.Truncate(sparseJSON, 1<<40); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		"/dev/zero": "it is no regular file", pipe: "it is no regular file", dir: "it is no regular file", filepath.Join(dir, "none.loadctl"): "no such file",
		sparse: "", sparseJSON: "", "/proc/self/mem": "",
		file("empty.loadctl", ""): "it is not an archive", file("bomb", repeat(" ", strings.Repeat(" ", 1<<16), 1<<12, " ")): "unpacks to more than 32 MiB",
		file("deep", repeat("", "[", 10_000_000, "")): "nested deeper than 32", file("deep.json", strings.Repeat(`{"a":`, 1_000_000)): "nested deeper than 32",
		file("members", repeat(`{"report":{"status_codes":{"x":1`, `,"y":1`, 1_000_000, "}}}")): "occurs twice",
		file("points", repeat(`{"series":["1,1,0,0,0,0,"`, `,"1,1,0,0,0,0,"`, 1_000_000, "]}")): "a series of 1000001 points, more than 1024",
		file("workers", repeat(`{"report":{"workers":[{}`, `,{}`, 190_000, "]}}")):              "a histogram is missing",
		file("huge", repeat(`{"report":{"asked":1`, "0", 1_000_000, "}}")):                      "is larger than 2^53",
		file("e400", repeat(`{"report":{"rate":1e400`, "", 0, "}}")):                            "is larger than 2^53",
		file("minus", repeat(`{"report":{"sent":-1`, "", 0, "}}")):                              "is negative",
		file("nan", repeat(`{"report":{"rate":NaN`, "", 0, "}}")):                               "invalid character",
		file("\x1b[2J\n\u202e", "loadctl archive 2\n"):                                          "version 2, but this program knows versions up to 1",
	} {
		for _, args := range [][]string{{"report", path}, {"compare", path, path}} {
			begun := time.Now()
			out, stderr, code, most := loadctlMemory(t, args...)
			if code != 104 || out != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "error: ") || !strings.Contains(stderr, says) || len(stderr) > 1_000 {
				t.Errorf("%q: exit code %d, %q, want %q", args, code, stderr, says)
			}
			unsteered(t, path, stderr)
			if took := time.Since(begun); most > 300<<20 || acceptance() && took > 30*time.Second {
				t.Errorf("%q: %d MB, %v", args, most>>20, took)
			}
			t.Logf("%q: %d MB, %v: %.150q", args, most>>20, time.Since(begun).Round(time.Millisecond), stderr)
		}
	}
}
