package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/targets"
)

// leaves writes the file of a worker that could not publish n requests. It returns the file's path.
func (l *lab) leaves(dir, id string, n int64) string {
	l.Helper()
	journal, total := results.NewJournal(l.run, id, "i"), record.NewSnapshot(id, "i")
	total.Counts = record.Counts{Sent: n, Completed: n}
	total.Seq, total.Final, total.Start, total.End = 3, true, 1_000_000, 2_000_000
	journal.Keep(1_000_000, total, []record.Point{{Width: 1, Sent: n}}, samples.Set{}, false)
	data, err := journal.Unpublished().MarshalBinary()
	if err != nil {
		l.Fatal(err)
	}
	path := filepath.Join(dir, fmt.Sprintf("loadctl-%s-%s-i.json", l.run.Name, id))
	if err := os.WriteFile(path, data, 0o644); err != nil {
		l.Fatal(err)
	}
	return path
}

// kept returns samples as evidence: of requests to the server at this address, that failed.
func kept(worker, address string) samples.Set {
	set := samples.Set{}
	for i, class := range []string{"status", "timeout", "status"} {
		set.Samples = append(set.Samples, samples.Sample{
			Ordinal: uint64(40 + i), Worker: worker, Class: class, Due: time.Unix(1_800_000_000, int64(i)), Service: 2_000_000, Latency: int64(3-i) * 1_000_000, URL: "http://" + address + "/pay",
			Request: &samples.Message{Start: "GET /pay HTTP/1.1", Headers: []samples.Header{{Name: "Host", Value: address}}},
		})
	}
	return set
}

// merged returns the report that a command prints as JSON.
func merged(t *testing.T, args ...string) (rep report.Report, stderr string) {
	t.Helper()
	stdout, stderr, code := execute(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(stdout), &rep); err != nil || code != whole(rep) {
		t.Fatalf("%q: exit code %d, want %d, %v, %s%s", args, code, whole(rep), err, stdout, stderr)
	}
	if err := rep.Audit.Check(); err != nil {
		t.Errorf("%q: %v", args, err)
	}
	return rep, stderr
}

// whole returns the exit code of a report without thresholds.
func whole(rep report.Report) int {
	if !rep.Running && !rep.Complete {
		return cli.CodeOther
	}
	return cli.CodeGood
}

// TestReportMerge: files in any number and order, also as a shell expands a pattern; each worker counts once.
func TestReportMerge(t *testing.T) {
	l, dir := newLab(t), t.TempDir()
	l.start()
	first, second, third := l.leaves(dir, "a", 100), l.leaves(dir, "b", 20), l.leaves(dir, "c", 3)
	for _, c := range []struct {
		args []string
		sent int64
	}{
		{[]string{"report", "x"}, 0},
		{[]string{"report", "x", "--merge", first}, 100},
		{[]string{"report", "--merge", first, "x"}, 100},
		{[]string{"report", "x", "--merge=" + first, "--merge", second}, 120},
		{[]string{"report", "x", "--merge", first, second, third}, 123},
		{[]string{"report", "x", "--merge", first, "--merge", second, third, first, second, third}, 123},
	} {
		rep, stderr := merged(t, c.args...)
		if rep.Audit.Sent != c.sent || stderr != "" || c.sent > 0 && !strings.Contains(fmt.Sprint(rep.Notes), "did not come from Redis") {
			t.Errorf("%q: %d sent, want %d; %q, %q", c.args, rep.Audit.Sent, c.sent, rep.Notes, stderr)
		}
	}
	text := l.does(new(report.Report), "report", "x", "--merge", first, second)
	if !strings.Contains(text, "a  left     sent 100") || !strings.Contains(text, "note        the final counts of 2 workers did not come from Redis\n") {
		t.Error(text)
	}
	for _, format := range render.Formats() {
		if _, stderr, code := execute("report", "x", "--merge", first, "-o", format); code != cli.CodeGood {
			t.Errorf("-o %s: exit code %d, %s", format, code, stderr)
		}
	}
}

// TestReportOfFilesAlone: if the run or Redis is gone, the saved files still make a report, which says that it is
// incomplete.
func TestReportOfFilesAlone(t *testing.T) {
	l, dir := newLab(t), t.TempDir()
	first, second := l.leaves(dir, "a", 100), l.leaves(dir, "b", 20)
	alone := func(why string, args ...string) {
		t.Helper()
		args = append([]string{"report", "x", "--merge", first, second}, args...)
		rep, stderr := merged(t, args...)
		if rep.Audit.Sent != 120 || rep.Asked != 120 || rep.Complete || len(rep.Series) != 1 || rep.Series[0].Sent != 120 || rep.DurationS != 1 {
			t.Errorf("%s: %+v", why, rep)
		}
		if notes := fmt.Sprint(rep.Notes); !strings.Contains(notes, why+": this is what 2 workers counted") || strings.Count(stderr, "\n") != 2 ||
			!strings.Contains(stderr, "; this report covers the files alone\nerror: run x: the report is INCOMPLETE: ") {
			t.Errorf("%s: %q, %q", why, notes, stderr)
		}
		text, _, code := execute(args...)
		if code != cli.CodeOther || !strings.Contains(text, "120/s (of these workers alone)") || !strings.Contains(text, "INCOMPLETE") || !strings.Contains(text, "a  alone ") {
			t.Errorf("%s: exit code %d, %s", why, code, text)
		}
	}
	if err := run.Remove(t.Context(), l.redis.Client(), "x", true); err != nil {
		t.Fatal(err)
	}
	alone("the run is not in Redis")
	l.redis.Kill()
	alone("Redis could not be reached")
	alone("Redis could not be reached", "--redis", fmt.Sprintf("redis://127.0.0.1:%d", redistest.FreePort(t)))
	t.Setenv("LOADCTL_REDIS", "")
	alone("no Redis was named")
}

// TestReportOfFilesWhereRedisRefuses: a server that refuses to answer is treated like one that is away, and the report
// says why. A server that is only full does answer.
func TestReportOfFilesWhereRedisRefuses(t *testing.T) {
	l, dir := newLab(t), t.TempDir()
	l.start()
	first, second := l.leaves(dir, "a", 100), l.leaves(dir, "b", 20)
	do := func(args ...any) {
		t.Helper()
		if err := l.redis.Client().Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	do("CONFIG", "SET", "maxmemory", "1")
	rep, stderr := merged(t, "report", "x", "--merge", first, second)
	if rep.Audit.Sent != 120 || len(rep.Workers) != 3 || stderr != "" {
		t.Errorf("full: %+v, %q", rep, stderr)
	}
	do("CONFIG", "SET", "maxmemory", "0")
	do("CONFIG", "SET", "replica-serve-stale-data", "no")
	do("ACL", "SETUSER", "blind", "on", ">right", "allkeys", "+@all", "-hgetall")
	for _, c := range []struct {
		why, mend string
		harm      []any
		url       string
	}{
		{"Redis refused (NOPERM ", "this user may not do that", []any{"PING"}, "redis://blind:right@" + l.redis.Addr()},
		{"Redis refused (WRONGPASS ", "put the right one into the URL", []any{"PING"}, "redis://blind:wrong@" + l.redis.Addr()},
		{"the run's data in Redis cannot be read", "loadctl rm x removes what is there", []any{"HDEL", run.KeysOf("x").Budget, "core"}, ""},
		{"the run's data in Redis cannot be read", "loadctl rm x removes what is there", []any{"SET", run.KeysOf("x").Totals, "1"}, ""},
		{"Redis refused (NOAUTH ", "its password is missing", []any{"CONFIG", "SET", "requirepass", "right"}, ""},
		{"Redis refused (MASTERDOWN ", "give the address of the master", []any{"REPLICAOF", "127.0.0.1", redistest.FreePort(t)}, "redis://:right@" + l.redis.Addr()},
	} {
		do(c.harm...)
		args := []string{"report", "x", "--merge", first, second}
		if c.url != "" {
			args = append(args, "--redis", c.url)
		}
		rep, stderr := merged(t, args...)
		if notes := fmt.Sprint(rep.Notes); rep.Audit.Sent != 120 || rep.Complete || !strings.Contains(notes, c.why) || !strings.Contains(notes, ": this is what 2 workers counted") {
			t.Errorf("%s: %+v, %q", c.why, rep.Audit, rep.Notes)
		}
		if strings.Count(stderr, "\n") != 2 || !strings.Contains(stderr, c.mend) || !strings.Contains(stderr, "; this report covers the files alone") {
			t.Errorf("%s: %q", c.why, stderr)
		}
	}
}

// TestReportOfFilesJudges: thresholds are judged without Redis too. The files contain them, but prove nothing.
func TestReportOfFilesJudges(t *testing.T) {
	server, dir := redistest.Start(t), t.TempDir()
	t.Setenv("LOADCTL_REDIS", "")
	spec := spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(100), MaxLag: time.Second, MinWorkers: 1}
	for name, c := range map[string]struct {
		thresholds []string
		code       int
		says       string
	}{
		"none":  {nil, cli.CodeOther, "; this report covers the files alone\nerror: run none: the report is INCOMPLETE: "},
		"some":  {[]string{"errors:rate<1%"}, cli.CodeInvalid, "run some proves nothing about the endpoint: "},
		"wrong": {[]string{"rate:count<50", "rate:rate>1k"}, cli.CodeThreshold, "run wrong: 1 of 2 thresholds failed: rate:count<50: 100\n"},
	} {
		spec.Thresholds = c.thresholds
		r, _, err := run.Create(t.Context(), server.Client(), name, spec, run.Options{})
		if err != nil {
			t.Fatal(err)
		}
		file := (&lab{T: t, run: r}).leaves(dir, "a", 100)
		stdout, stderr, code := execute("report", name, "--merge", file)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit code %d, want %d: %s%s", name, code, c.code, stdout, stderr)
		}
		for _, threshold := range c.thresholds {
			if !strings.Contains(stdout, threshold) {
				t.Errorf("%s: there is no %s in\n%s", name, threshold, stdout)
			}
		}
	}
}

// TestReportMergeRefused: the error names a bad file, and there is no report without it.
func TestReportMergeRefused(t *testing.T) {
	l, dir := newLab(t), t.TempDir()
	good := l.leaves(dir, "a", 100)
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	file := writer(t, dir)
	stdout, _, _ := execute("report", "x", "-o", "json")
	cut, newer := file("cut", string(data[:len(data)-9])), file("newer", strings.Replace(string(data), `"version":1`, `"version":2`, 1))
	uid := file("uid", strings.Replace(string(data), l.run.UID, "another", 1))
	spec := l.run.Spec
	spec.MinWorkers = 2
	other, _, err := run.Create(t.Context(), l.redis.Client(), "y", spec, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{good, cut}, []string{"--merge: read " + cut + ": it is cut off"}},
		{[]string{newer}, []string{"--merge: read " + newer + ": it is of version 2", "use a newer loadctl"}},
		{[]string{file("report", stdout)}, []string{"/report: loadworker did not write it; leave it out"}},
		{[]string{good, file("empty", "")}, []string{"/empty: loadworker did not write it; leave it out"}},
		{[]string{good, dir}, []string{dir, "is a directory"}},
		{[]string{filepath.Join(dir, "none")}, []string{"/none: no such file or directory; give the path of a file that loadworker has left"}},
		{[]string{""}, []string{"no such file or directory; give the path"}},
		{[]string{good, uid}, []string{"merge " + uid + ": it belongs to another run, also called x; leave it out"}},
		{[]string{(&lab{T: t, run: other}).leaves(dir, "a", 5), good}, []string{"/loadctl-y-a-i.json: it belongs to another run, y; leave it out"}},
	} {
		refused(t, append([]string{"report", "x", "--merge"}, c.args...), c.says...)
	}
	refused(t, []string{"report", "x", good}, "report: give the name of one run", "one too many", "use --merge")
	refused(t, []string{"report", "--merge", good}, "report: give the name of one run")
	refused(t, []string{"report", "x", "--merge"}, "needs an argument")
	refused(t, []string{"report", "x y", "--merge", good}, "use 1 to 64 letters")
	refused(t, []string{"report", "none", "--merge", good}, "it belongs to another run, x; leave it out")
	for _, url := range []string{"embedded", "redis://:" + secret + "/x@" + l.redis.Addr()} { // nothing was asked, and what to change is here
		refused(t, []string{"report", "x", "--merge", good, "--redis", url}, "redis://")
	}
}
