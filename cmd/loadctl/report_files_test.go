package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/archive"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
)

// archiveOf writes an archive of a run of so many seconds with 100 requests each, all answered after latency, and
// returns its path.
func archiveOf(t *testing.T, name string, seconds int64, latency time.Duration) string {
	t.Helper()
	series, total := new(record.Series), record.NewSnapshot(name, "i")
	for s := range seconds {
		recorder, beat := record.NewRecorder(), record.NewSnapshot(name, "i")
		for i := range int64(100) {
			recorder.Sent()
			recorder.Done(record.Finished{Status: 200, Done: int64(latency) + i*int64(latency)/1000})
		}
		beat.Record(recorder)
		series.Add(s*1_000_000+500_000, beat)
		total.Merge(beat)
	}
	total.Final = true
	points := series.Points()
	rep := report.Build(report.Input{
		Run: "x", StartedAt: time.Unix(1_800_000_000, 0), Duration: time.Duration(seconds) * time.Second, TargetRate: 100, Budget: report.Budget{Issued: 100 * seconds},
		Workers: []report.WorkerInput{{ID: name, Incarnation: "i", State: "left", Gone: true, Leased: 100 * seconds, Total: total, Series: points}},
	})
	var text bytes.Buffer
	if err := archive.Write(&text, rep); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".loadctl")
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReportOfArchive: the output for an archive equals the output for its run, byte for byte, and needs no Redis.
func TestReportOfArchive(t *testing.T) {
	l, dir := newLab(t), t.TempDir()
	l.start()
	first, second := l.leaves(dir, "a", 100), l.leaves(dir, "b", 20)
	if err := run.Remove(t.Context(), l.redis.Client(), "x", true); err != nil { // from now on nothing changes
		t.Fatal(err)
	}
	live := map[string]string{}
	for _, format := range render.Formats() {
		stdout, stderr, code := execute("report", "x", "--merge", first, second, "-o", format)
		if live[format] = stdout; code != cli.CodeOther || !strings.Contains(stderr, "error: run x: the report is INCOMPLETE: ") {
			t.Fatalf("%s: exit code %d, %s", format, code, stderr)
		}
	}
	byName, byFormat := filepath.Join(dir, "x.loadctl"), filepath.Join(dir, "x.archive")
	for _, args := range [][]string{{"--out", byName}, {"--out", byFormat, "-o", "archive"}} {
		if stdout, stderr, code := execute(append([]string{"report", "x", "--merge", first, second}, args...)...); code != cli.CodeOther || stdout != "" {
			t.Fatalf("%q: exit code %d, %q, %s", args, code, stdout, stderr)
		}
	}
	piped := filepath.Join(dir, "piped.loadctl") // an archive stays valid through the filter of stdout
	if err := os.WriteFile(piped, []byte(live["archive"]), 0o644); err != nil {
		t.Fatal(err)
	}
	l.redis.Kill()
	t.Setenv("LOADCTL_REDIS", "")
	for _, path := range []string{byName, byFormat, piped} {
		for format, want := range live {
			stdout, stderr, code := execute("report", path, "-o", format)
			if code != cli.CodeOther || stdout != want || !strings.HasPrefix(stderr, "error: run x: the report is INCOMPLETE: ") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s -o %s: exit code %d, %s\n%.500s\nwant\n%.500s", path, format, code, stderr, stdout, want)
			}
		}
	}
}

// TestReportCombines: archives of two machines.
func TestReportCombines(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	a, b := archiveOf(t, "a", 10, time.Millisecond), archiveOf(t, "b", 4, time.Millisecond)
	rep, stderr := merged(t, "report", a, b)
	if rep.Asked != 1_400 || len(rep.Workers) != 2 || !rep.Complete || rep.Series[3].Sent != 200 || rep.Series[4].Sent != 100 || stderr != "" {
		t.Errorf("%+v, %q", rep, stderr)
	}
	for _, format := range render.Formats() {
		if _, stderr, code := execute("report", a, b, "-o", format); code != cli.CodeGood {
			t.Errorf("%s: exit code %d, %s", format, code, stderr)
		}
	}
}

// TestReportOfAFileNamedAsARun: a name without a path is that of a run; the error says how to read the file.
func TestReportOfAFileNamedAsARun(t *testing.T) {
	server := redistest.Start(t)
	a := archiveOf(t, "a", 2, time.Millisecond)
	json, _, _ := execute("report", a, "-o", "json")
	t.Chdir(t.TempDir())
	writer(t, ".")("fl.json", json)
	for address, why := range map[string]string{server.URL(): "run fl.json: there is no such run; ", "": "which Redis? "} {
		t.Setenv("LOADCTL_REDIS", address)
		for _, line := range [][]string{{"report", "fl.json"}, {"compare", a, "fl.json"}} {
			refused(t, line, why, "; to read the file, write ./fl.json\n")
		}
	}
	if _, stderr, code := execute("report", "./fl.json"); code != cli.CodeGood {
		t.Errorf("what the error says does not work: %s", stderr)
	}
	if _, stderr, _ := execute("report", "another.json"); strings.Contains(stderr, "./") {
		t.Errorf("there is no such file: %s", stderr)
	}
}

// writer returns a function that writes a file into dir, and returns its path.
func writer(t *testing.T, dir string) func(name, text string) (path string) {
	return func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

// TestReportRefusesFiles: files that are no archives are refused, and reports that cannot be combined.
func TestReportRefusesFiles(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	a, dir := archiveOf(t, "a", 2, time.Millisecond), t.TempDir()
	text, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	write := writer(t, dir)
	cut, newer, other := write("cut", string(text[:len(text)/2])), write("newer", "loadctl archive 2\n"), write("other", "PK\x03\x04 \x1b[2J")
	json, _, _ := execute("report", a, "-o", "json")
	bare := write("bare.json", json)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{cut}, "read " + cut + ": the archive is cut off or damaged; use another copy"},
		{[]string{newer}, "read " + newer + ": the archive is of version 2, but this program knows versions up to 1; use a newer loadctl"},
		{[]string{other}, "it is not an archive of loadctl; write one with -o archive"},
		{[]string{dir}, "it is no regular file"},
		{[]string{"nowhere.loadctl"}, "nowhere.loadctl: no such file or directory; give the path of an archive"},
		{[]string{a, a}, "both contain the same process of worker \"a\"; leave one of them out"},
		{[]string{a, bare}, "it has no histograms; give an archive"},
		{[]string{a, "x"}, `report "x": runs and files cannot be combined; write the run into an archive: loadctl report x --out FILE.loadctl`},
		{[]string{a, "--merge", a}, "--merge adds files to a run in Redis, not to archives"},
		{[]string{}, "give the name of one run, or files"},
	} {
		refused(t, append([]string{"report"}, c.args...), c.says)
	}
	if stdout, _, code := execute("report", bare); code != cli.CodeGood || !strings.Contains(stdout, "asked       200 ") {
		t.Errorf("JSON: exit code %d, %s", code, stdout)
	}
	if _, stderr, code := execute("report", bare, "-o", "hgrm"); code != cli.CodeOther || !strings.Contains(stderr, "no histograms") || strings.Contains(stderr, "Redis") {
		t.Errorf("hgrm of JSON: exit code %d, %s", code, stderr)
	}
}

// TestReportOfFilesToAFullDisk: the counts are still in the files, and not in Redis.
func TestReportOfFilesToAFullDisk(t *testing.T) {
	var stderr bytes.Buffer
	code := cli.Main(newRootCommand(), []string{"report", archiveOf(t, "a", 2, time.Millisecond)}, clitest.FullDisk{}, &stderr)
	if code != cli.CodeOther || strings.Contains(stderr.String(), "Redis") || !strings.Contains(stderr.String(), "no space") {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
}
