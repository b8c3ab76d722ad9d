package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples/show"
)

// publishes stores samples of a worker in Redis.
func (l *lab) publishes(worker string) {
	l.Helper()
	if err := results.NewJournal(l.run, worker, "i").PublishSamples(l.Context(), kept(worker, "127.0.0.1:8080"), 1, 1); err != nil {
		l.Fatal(err)
	}
}

// shown returns the ordinals that `loadctl samples` shows with these arguments, and what it says on stderr.
func shown(t *testing.T, args ...string) (ordinals []uint64, stderr string) {
	t.Helper()
	stdout, stderr, code := execute(append([]string{"samples"}, append(args, "-o", "json")...)...)
	var s show.Selection
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || code != cli.CodeGood || s.Run != "x" || s.Samples == nil {
		t.Fatalf("%q: exit code %d, %v, %s%s", args, code, err, stdout, stderr)
	}
	for _, one := range s.Samples {
		ordinals = append(ordinals, one.Ordinal)
	}
	return ordinals, stderr
}

// TestSamples: they are read from Redis, from an archive of the run, and from the file of a worker that Redis did not hear.
func TestSamples(t *testing.T) {
	l, dir := newLab(t), t.TempDir()
	l.start()
	if none, stderr := shown(t, "x"); len(none) != 0 || stderr != "x has no samples: no request has ended yet, or its workers are of a version that keeps none\n" {
		t.Error(none, stderr)
	}
	l.publishes("a")
	for want, args := range map[string][]string{
		"[40 41 42]": {"x"}, "[40 42]": {"x", "--class", "status"}, "[41]": {"x", "--ordinal", "41"}, "[40 41 42] ": {"x", "--slowest"},
	} {
		if got, stderr := shown(t, args...); jsonOf(got) != strings.ReplaceAll(strings.TrimSpace(want), " ", ",") || stderr != "" {
			t.Errorf("%q: %v, %s", args, got, stderr)
		}
	}
	text, _, _ := execute("samples", "x", "--ordinal", "42")
	if !strings.HasPrefix(text, "request     42 of worker a; kept as ") || !strings.Contains(text, "    GET /pay HTTP/1.1\n") {
		t.Error(text)
	}
	archive, scripts := filepath.Join(dir, "x.loadctl"), filepath.Join(dir, "again.sh")
	report, stderr, _ := execute("report", "x", "-o", "text", "--out", archive)
	if !strings.Contains(report, "\nsamples     3 of 3 failed requests: loadctl samples x\n") {
		t.Error(report, stderr)
	}
	t.Setenv("LOADCTL_REDIS", "")
	if got, _ := shown(t, archive, "--class", "timeout"); jsonOf(got) != "[41]" {
		t.Error(got)
	}
	if report, _, _ := execute("report", archive); !strings.Contains(report, ": loadctl samples "+archive+"\n") {
		t.Error(report)
	}
	if stdout, stderr, code := execute("samples", archive, "--out", scripts); code != cli.CodeGood || stdout != "" {
		t.Error(stdout, stderr, code)
	}
	if script, err := os.ReadFile(scripts); err != nil || strings.Count(string(script), "\ncurl ") != 3 {
		t.Errorf("%v, %s", err, script)
	}
	refused(t, []string{"samples", archive, "--class", "dial"}, `samples: --class "dial": samples have status, timeout`)
	refused(t, []string{"samples", archive, "--step", "pay"}, `samples: --step "pay": the requests have no steps; leave it out`)
	refused(t, []string{"samples", archive, "--ordinal", "7"}, "samples: --ordinal 7: no such sample was kept")
	refused(t, []string{"samples", archive, "--merge", "f"}, "samples: --merge adds files to a run in Redis")
}

// TestSamplesMerge: what a worker kept is in the file that it leaves, and is shown with that of the others, each once.
func TestSamplesMerge(t *testing.T) {
	l, dir := newLab(t), t.TempDir()
	l.start()
	l.publishes("a")
	var files []string
	for _, worker := range []string{"a", "b"} {
		journal, total := results.NewJournal(l.run, worker, "i"), record.NewSnapshot(worker, "i")
		total.Seq, total.Final, total.Start, total.End = 3, true, 1_000_000, 2_000_000
		total.Counts = record.Counts{Sent: 3, Failed: 3}
		journal.Keep(1_000_000, total, nil, kept(worker, "127.0.0.1:8080"), false)
		data, err := journal.Unpublished().MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, worker+".json"))
		if err := os.WriteFile(files[len(files)-1], data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := shown(t, "x", "--merge", files[0], "--merge", files[1]); jsonOf(got) != "[40,40,41,41,42,42]" {
		t.Error(got)
	}
	l.redis.Kill()
	if got, stderr := shown(t, "x", "--merge", files[1]); jsonOf(got) != "[40,41,42]" || !strings.Contains(stderr, "this report covers the files alone") {
		t.Error(got, stderr)
	}
	report, _, _ := execute("report", "x", "--merge", files[1])
	if !strings.Contains(report, "\nsamples     3 of 3 failed requests: loadctl samples x --merge "+files[1]+"\n") {
		t.Error(report)
	}
}

// jsonOf returns a value as JSON.
func jsonOf(v any) string {
	text, _ := json.Marshal(v) // numbers are always JSON
	return string(text)
}
