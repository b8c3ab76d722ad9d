package loadworker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
)

// left returns the files in a directory, complete or not.
func left(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range entries {
		paths = append(paths, filepath.Join(dir, e.Name()))
	}
	return paths
}

// command returns the command that a worker prints, with the path in it.
func command(t *testing.T, name, stderr string) (path string) {
	t.Helper()
	m := regexp.MustCompile(`To add them to the report: loadctl report ` + name + ` --merge '?([^'\n]+)'?\n`).FindStringSubmatch(stderr)
	if m == nil {
		t.Fatalf("no command in %s", stderr)
	}
	return m[1]
}

// read reads the files that workers have saved.
func read(t *testing.T, paths ...string) []*results.Unpublished {
	t.Helper()
	var all []*results.Unpublished
	for _, path := range paths {
		u, err := results.ReadUnpublished(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	return all
}

// accountsFor checks that the report of two workers has all requests that arrived.
func accountsFor(t *testing.T, arrived int64, rep report.Report, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	a := rep.Audit
	if err := a.Check(); err != nil || a.Sent != arrived || a.Completed != arrived || a.Lost != 0 || len(rep.Workers) != 2 {
		t.Errorf("%v; %d arrived, %+v, %+v", err, arrived, a, rep.Workers)
	}
	var sent int64
	for _, p := range rep.Series {
		sent += p.Sent
	}
	if sent != arrived {
		t.Errorf("%d arrived, %d are in the series", arrived, sent)
	}
}

// TestCountsOutliveRedis: Redis is killed during the run and does not come back while there are workers. One worker
// waits until its patience ends, and one is interrupted. Afterwards everything that arrived is
// in the report exactly once: with the run restored in Redis, and from the files alone.
func TestCountsOutliveRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes")
	web, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir := t.TempDir() + "/with a space"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	line := func(id string, more ...string) []string {
		return append([]string{
			"run", "--redis", server.URL(), "--run", "x", "--url", web.URL(), "--qps", "100", "--duration", "12s", "--min-workers", "2", "--id", id, "-o", "json",
			"--permit-for", "2s",
		}, more...)
	}
	patient := begin(t, line("patient", "--save-dir", dir)...)
	hasty := shell(t, `cd "`+dir+`"; exec "$@"`, line("hasty")...)
	// What they send until their leases end is more than what they publish.
	await.True(t, "slots of both", func() bool {
		r, err := run.Open(t.Context(), server.Client(), "x")
		if err != nil {
			return false // nobody has made it yet
		}
		s, err := r.State(t.Context())
		return err == nil && web.Count() > 0 && len(s.Workers) == 2 && s.Workers[0].Owned > 0 && s.Workers[1].Owned > 0
	})
	server.Kill()
	hasty.says("no snapshot published")
	hasty.interrupt()
	if code := hasty.ends(); code != cli.CodeSignal {
		t.Errorf("exit code %d, %s", code, hasty.Stderr.String())
	}
	patient.says("To add them to the report")
	if code := patient.ends(); code != cli.CodeOther {
		t.Errorf("exit code %d, %s", code, patient.Stderr.String())
	}
	paths := left(t, dir)
	if len(paths) != 2 || !strings.HasPrefix(filepath.Base(paths[0]), "loadctl-x-hasty-") || command(t, "x", patient.Stderr.String()) != paths[1] ||
		filepath.Join(dir, command(t, "x", hasty.Stderr.String())) != paths[0] {
		t.Fatalf("%q are left\n%s%s", paths, patient.Stderr.String(), hasty.Stderr.String())
	}

	arrived := web.Count()
	files := read(t, paths...)
	rep, err := results.FromFiles("x", "Redis is gone", files)
	accountsFor(t, arrived, rep, err)
	if rep.Complete {
		t.Error("the report of the files alone is complete")
	}

	server.Restart()
	r, err := run.Open(t.Context(), server.Client(), "x")
	if err != nil {
		t.Fatal(err)
	}
	bare, err := results.Report(t.Context(), r)
	if err != nil || bare.Audit.Sent >= arrived {
		t.Errorf("without the files %d are known as sent, of %d: %v", bare.Audit.Sent, arrived, err)
	}
	rep, err = results.MergedReport(t.Context(), r, files)
	accountsFor(t, arrived, rep, err)
	if !rep.Complete || rep.Asked != 1200 {
		t.Errorf("asked %d, %q", rep.Asked, rep.Notes)
	}
}

// TestStateIsLost: Redis loses the run but still answers. A worker that joined by name cannot restore it, and saves its
// counts.
func TestStateIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	spec := specOf(t, "--url", "noop://", "--qps", "200", "--permit-for", "1s")
	if _, _, err := run.Create(t.Context(), server.Client(), "x", spec, run.Options{}); err != nil {
		t.Fatal(err)
	}
	dir, instead := t.TempDir(), t.TempDir()
	p := shell(t, `export TMPDIR="`+instead+`"; exec "$@"`, "run", "--redis", server.URL(), "--run", "x", "--allow-any", "--save-dir", dir)
	p.says("taking part")
	r, err := run.Open(t.Context(), server.Client(), "x")
	if err != nil {
		t.Fatal(err)
	}
	await.True(t, "200 requests are sent", func() bool {
		rep, err := results.Report(context.WithoutCancel(t.Context()), r)
		return err == nil && rep.Audit.Sent >= 200
	})
	if err := os.Remove(dir); err != nil { // so the file goes to the directory for temporary files
		t.Fatal(err)
	}
	server.Client().FlushAll(t.Context())
	p.says("To add them to the report")
	if code := p.ends(); code != cli.CodeOther {
		t.Errorf("exit code %d, %s", code, p.Stderr.String())
	}
	paths := left(t, instead)
	if len(paths) != 1 || command(t, "x", p.Stderr.String()) != paths[0] {
		t.Fatalf("%q are left\n%s", paths, p.Stderr.String())
	}
	files := read(t, paths...)
	if _, err := results.MergedReport(t.Context(), r, files); !errors.Is(err, run.ErrNoRun) {
		t.Error(err)
	}
	rep, err := results.FromFiles("x", "the run is gone", files)
	if err != nil || rep.Audit.Check() != nil || rep.Audit.Sent < 200 || !strings.Contains(p.Stdout.String(), fmt.Sprintf("sent        %d ", rep.Audit.Sent)) {
		t.Errorf("%v, %+v; printed was\n%s", err, rep.Audit, p.Stdout.String())
	}
}

// TestStateIsRestored: Redis loses the run, and a worker that has its description restores it. Workers publish again
// what was published before, so the report has all arrivals, each in its second.
func TestStateIsRestored(t *testing.T) {
	t.Parallel()
	server, dir := redistest.Start(t), t.TempDir()
	web, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	var fleet []*process
	for _, id := range []string{"a", "b"} {
		fleet = append(fleet, begin(t, "run", "--redis", server.URL(), "--run", "x", "--url", web.URL(), "--qps", "300", "--min-workers", "2", "--id", id,
			"--permit-for", "1s", "--save-dir", dir))
	}
	var before report.Report // what Redis had
	await.True(t, "three seconds with requests", func() bool {
		r, err := run.Open(t.Context(), server.Client(), "x")
		if err == nil {
			before, err = results.Report(t.Context(), r)
		}
		return err == nil && len(before.Series) >= 4 && before.Audit.Sent >= 300
	})
	server.Client().FlushAll(t.Context())
	lost := web.Count()
	await.True(t, "the run is restored, and goes on", func() bool {
		r, err := run.Open(t.Context(), server.Client(), "x")
		return err == nil && r.Phase == "running" && web.Count() >= lost+300
	})
	if r, err := run.Open(t.Context(), server.Client(), "x"); err != nil {
		t.Fatal(err)
	} else if _, err := r.Stop(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range fleet {
		if code := p.ends(); code != cli.CodeGood {
			t.Errorf("exit code %d, %s", code, p.Stderr.String())
		}
	}
	r, err := run.Open(t.Context(), server.Client(), "x")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := results.Report(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var sent int64
	for _, p := range rep.Series {
		sent += p.Sent
	}
	arrived := web.Count()
	if err := rep.Audit.Check(); err != nil || rep.Audit.Sent != arrived || sent != arrived {
		t.Errorf("%v; %d arrived, %d are in the series, %+v", err, arrived, sent, rep)
	}
	for i, p := range before.Series {
		if after := rep.Series[i]; after.Sent < p.Sent {
			t.Errorf("second %d had %d, and has %d after the restoration", i, p.Sent, after.Sent)
		}
	}
	for _, w := range rep.Workers {
		if w.Gaps != 0 {
			t.Errorf("%+v", w)
		}
	}
	if paths := left(t, dir); len(paths) != 0 {
		t.Errorf("%q are left", paths)
	}
}

// TestNothingIsLeft: no file if Redis has everything, and none of a worker that has done nothing.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	server, dir := redistest.Start(t), t.TempDir()
	line := func(name string, more ...string) []string {
		return append([]string{"run", "--redis", server.URL(), "--save-dir", dir, "--url", "noop://", "--qps", "500", "--run", name}, more...)
	}
	p := begin(t, line("whole", "--duration", "1s")...)
	if code := p.ends(); code != cli.CodeGood {
		t.Errorf("exit code %d, %s", code, p.Stderr.String())
	}
	p = begin(t, line("waits", "--min-workers", "2")...)
	p.says("waiting for workers")
	server.Kill()
	p.interrupt()
	if code := p.ends(); code != cli.CodeSignal {
		t.Errorf("exit code %d, %s", code, p.Stderr.String())
	}
	if paths := left(t, dir); len(paths) != 0 {
		t.Errorf("%q are left", paths)
	}
}

// TestSaveDirRefused: a bad --save-dir is found before the run begins.
func TestSaveDirRefused(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	for _, dir := range []string{"", "/dev/null", "/proc", t.TempDir() + "/none", strings.Repeat("x", 1<<12)} {
		refused(t, append(described(), "--save-dir", dir), "--save-dir", "; give an existing, writable directory, or leave it out")
	}
	if n := server.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys were written", n)
	}
	if got := report.Quoted("/a b/it's"); got != `'/a b/it'\''s'` || report.Quoted("/tmp/loadctl-x_1.json") != "/tmp/loadctl-x_1.json" {
		t.Error(got)
	}
}
