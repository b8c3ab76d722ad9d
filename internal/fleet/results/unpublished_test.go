package results

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
)

// finalSnapshot returns a final snapshot of an incarnation with these counts.
func finalSnapshot(worker, incarnation string, seq uint64, n record.Counts) *record.Snapshot {
	s := record.NewSnapshot(worker, incarnation)
	s.Seq, s.Final, s.Start, s.End, s.Counts = seq, true, 1_000_000, 3_000_000, n
	return s
}

// unpublished returns what worker w of run x could not publish.
func unpublished(n record.Counts) *Unpublished {
	return &Unpublished{
		Run: "x", UID: "u1", State: "left", Leased: n.Slots(), StartedAt: run.TimeOf(1_500_000), Length: 2 * time.Second, Total: finalSnapshot("w", "i", 7, n),
		Series: []record.Point{{Index: 0, Width: 1, Sent: n.Sent}, {Index: 1, Width: 1}},
	}
}

func (u *Unpublished) encoded(t testing.TB) []byte {
	t.Helper()
	data, err := u.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// written returns the path of a file with this content.
func written(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUnpublishedFile: a file that was written is read back unchanged, to the last bucket.
func TestUnpublishedFile(t *testing.T) {
	n := record.Counts{Sent: 90, LateDropped: 3, Recalled: 2, Ungranted: 1, Completed: 80, Failed: 6, BytesIn: 1 << 40, OutOfRange: 1}
	u := unpublished(n)
	r := record.NewRecorder()
	for i := range int64(1000) {
		r.Done(record.Finished{Sent: i, Done: i * i * 1000, Status: int(i), Class: fmt.Sprint("class", i%7)})
	}
	u.Total.Record(r)
	u.Total.Counts = n
	u.Thresholds, u.Warmup, u.Steps = []string{"errors:rate<1%"}, time.Second, []string{"login", "cart"}
	u.Samples = samples.Set{Samples: []samples.Sample{{Ordinal: 5, Worker: "w", Class: "status", Request: &samples.Message{Start: "GET / HTTP/1.1"}}}}
	path := written(t, u.encoded(t))
	got, err := ReadUnpublished(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.File != path || got.Run != u.Run || got.UID != u.UID || got.State != u.State || got.Leased != u.Leased || !got.StartedAt.Equal(u.StartedAt) || got.Length != u.Length {
		t.Errorf("%+v, want %+v", got, u)
	}
	if got.Total.Counts != n || got.Total.Seq != 7 || !got.Total.Final || got.Total.Latency.Quantile(0.9) != u.Total.Latency.Quantile(0.9) || len(got.Total.Errors) != 7 {
		t.Errorf("%+v, want %+v", got.Total, u.Total)
	}
	if len(got.Thresholds) != 1 || got.Thresholds[0] != u.Thresholds[0] || got.Warmup != u.Warmup || !slices.Equal(got.Steps, u.Steps) {
		t.Errorf("%q after %v of %q", got.Thresholds, got.Warmup, got.Steps)
	}
	if len(got.Samples.Samples) != 1 || got.Samples.Samples[0].Request.Start != "GET / HTTP/1.1" {
		t.Errorf("%+v", got.Samples)
	}
	if len(got.Series) != 2 || got.Series[0].Sent != 90 {
		t.Errorf("%+v", got.Series)
	}
	if string(got.encoded(t)) != string(u.encoded(t)) {
		t.Error("written once more it is another file")
	}
}

// TestUnpublishedFileRefused: one line names the file and says what is wrong with it.
func TestUnpublishedFileRefused(t *testing.T) {
	good := string(unpublished(record.Counts{Sent: 10, Completed: 10}).encoded(t))
	with := func(old, now string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%s does not contain %s", good, old)
		}
		return strings.Replace(good, old, now, 1)
	}
	snapshot := func(change func(*record.Snapshot)) string {
		u := unpublished(record.Counts{Sent: 10, Completed: 10})
		change(u.Total)
		return string(u.encoded(t))
	}
	newer := base64.StdEncoding.EncodeToString([]byte(`{"v":9}`))
	for says, contents := range map[string][]string{
		"it is cut off": {good[:len(good)/2], good[:len(good)-1], good[:30]},
		"loadworker did not write it; leave it out": {
			"", "{}", "null", "[1]", "text", `{"run":"x","latency_ns":{}}`, strings.Repeat("[", 1<<20), "\x00", good + good, with(`"loadworker"`, `"other"`),
			with(`"version":1`, `"version":0`), with(`"version":1`, `"version":"1"`), with(`"version":1`, `"version":-1`), with(`"leased":10`, `"leased":"10"`),
			with(`"run":"x"`, `"run":"x{}"`), with(`"worker":"w"`, `"worker":"v"`), with(`"incarnation":"i"`, `"incarnation":"j"`), with(`"state":"left"`, `"state":"lost"`),
			with(`"leased":10`, `"leased":9`), with(`"leased":10`, `"leased":-1`), with(`"leased":10`, `"leased":9007199254740993`), with(`"started_us":1500000`, `"started_us":-1`),
			with(`"length_ns":2000000000`, `"length_ns":-1`), with(`"length_ns":`, `"warmup_ns":-1,"length_ns":`), with(`"length_ns":`, `"thresholds":["p99<1"],"length_ns":`), with(`"series":["2,`, `"series":["0,`), with(`"series":["2,`, `"series":["x`),
			snapshot(func(s *record.Snapshot) { s.Counts.Ungranted = 11 }), snapshot(func(s *record.Snapshot) { s.Counts.Completed = 11 }),
			snapshot(func(s *record.Snapshot) { s.End = 0 }), snapshot(func(s *record.Snapshot) { s.Worker, s.Incarnation = "", "" }),
		},
		"it is of version 2, newer than 1, which this program knows; use a newer loadctl": {with(`"version":1`, `"version":2`), `{"format":"loadworker","version":2}`},
		"decode snapshot: version 9 is newer":                                             {with(`"snapshot":"`, `"snapshot":"`+newer+`","was":"`)},
		"decode samples: ":                                                                {with(`"snapshot":`, `"samples":"AAAA","snapshot":`)},
	} {
		for _, content := range contents {
			path := written(t, []byte(content))
			u, err := ReadUnpublished(path)
			if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%.200q: %+v, %v; want %s", content, u, err, says)
			}
		}
	}
	for i := range len(good) {
		if u := new(Unpublished); u.UnmarshalBinary([]byte(good[:i])) == nil || u.Total != nil {
			t.Fatalf("%d of %d bytes are enough", i, len(good))
		}
	}
	if _, err := ReadUnpublished(t.TempDir()); err == nil {
		t.Error("a directory can be read")
	}
	if _, err := ReadUnpublished("/dev/zero"); !errors.Is(err, errForeign) {
		t.Errorf("endless zeros: %v", err)
	}
}

// FuzzUnpublished: any bytes that are accepted make a report that adds up.
func FuzzUnpublished(f *testing.F) {
	f.Add(unpublished(record.Counts{Sent: 90, LateDropped: 3, Recalled: 2, Ungranted: 1, Completed: 80, Failed: 6}).encoded(f))
	f.Add([]byte(`{"format":"loadworker","version":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		u := new(Unpublished)
		if u.UnmarshalBinary(data) != nil {
			return
		}
		rep, err := FromFiles(u.Run, "why", []*Unpublished{u, u})
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.Audit.Check(); err != nil || rep.Audit.Sent != u.Total.Counts.Sent {
			t.Errorf("%v: %+v", err, rep.Audit)
		}
	})
}

// TestPick: Pick takes the newest file of each incarnation, and none of another run.
func TestPick(t *testing.T) {
	at := func(worker, incarnation string, seq uint64, final bool) *Unpublished {
		u := unpublished(record.Counts{})
		u.File = fmt.Sprint(worker, incarnation, seq, final)
		u.Total.Worker, u.Total.Incarnation, u.Total.Seq, u.Total.Final = worker, incarnation, seq, final
		return u
	}
	old, last, final, other := at("w", "i", 8, false), at("w", "i", 9, false), at("w", "i", 7, true), at("w", "j", 1, true)
	for _, all := range [][]*Unpublished{{old, last, final, other}, {final, last, other, old}, {final, final, other, other}} {
		picked, err := pick("x", "u1", all)
		if err != nil || len(picked) != 2 || picked["w/i"] != final || picked["w/j"] != other {
			t.Errorf("%v, %v", picked, err)
		}
	}
	if picked, err := pick("x", "", []*Unpublished{old, last}); err != nil || picked["w/i"] != last {
		t.Errorf("%v, %v", picked, err)
	}
	for _, c := range []struct{ name, uid, run, uidThere, says string }{
		{"x", "u1", "y", "u1", "merge file: it belongs to another run, y; leave it out"},
		{"x", "u1", "x", "u2", "merge file: it belongs to another run, also called x; leave it out"},
		{"x", "", "x", "u2", "merge file: it belongs to another run, also called x; leave it out"},
	} {
		u := unpublished(record.Counts{})
		u.File, u.Run, u.UID = "file", c.run, c.uidThere
		if _, err := pick(c.name, c.uid, []*Unpublished{old, u}); !errors.Is(err, ErrOtherRun) || err.Error() != c.says {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// fleet is what a server counts of a run, and what its workers know.
type fleet struct {
	in   report.Input
	rest map[string]*Unpublished
	sent int64
}

// fates draws a random run: who owned its slots, which of them the server has forgotten, and which workers could not
// publish.
func fates(rng *rand.Rand, forgets bool) fleet {
	f := fleet{rest: map[string]*Unpublished{}}
	f.in.Budget = report.Budget{Skipped: rng.Int64N(300)}
	for i := range rng.IntN(5) {
		w := report.WorkerInput{ID: fmt.Sprint("w", i), Incarnation: "i", State: []string{"active", "lost", "silent", "left"}[rng.IntN(4)], Gone: true}
		var n record.Counts
		for range rng.IntN(500) {
			w.Leased++
			beyond := rng.IntN(10) == 0
			if beyond {
				w.Beyond++
			}
			switch x := rng.IntN(10); {
			case beyond && x < 8:
				n.Recalled++
			case x == 0:
				n.LateDropped++
			case x == 1:
				n.Ungranted++
			default:
				n.Sent++
			}
		}
		n.Completed = rng.Int64N(n.Sent + 1)
		leased := w.Leased
		w.Leased += rng.Int64N(3) // the last reply never arrived
		if forgets {
			forgotten := rng.Int64N(leased + 1)
			lost := min(forgotten, n.Recalled) // the slots that were leased last are the first to be recalled
			w.Beyond -= min(w.Beyond, lost)
			w.Leased -= forgotten
			f.in.Budget.Skipped += forgotten - lost
		}
		f.in.Budget.Issued += w.Leased
		f.sent += n.Sent
		final := finalSnapshot(w.ID, "i", 9, n)
		switch rng.IntN(4) {
		case 0: // published, and kept in a file as well
			w.Total = final
		case 1:
			w.Total = finalSnapshot(w.ID, "i", 5, record.Counts{Sent: n.Sent / 2})
			w.Total.Final = false
		}
		f.rest[w.ID+"/i"] = &Unpublished{Run: "x", UID: "u1", State: "left", Leased: leased, Total: final}
		if forgets && rng.IntN(4) == 0 { // the server has forgotten the worker altogether
			f.in.Budget.Issued -= w.Leased
			continue
		}
		f.in.Workers = append(f.in.Workers, w)
	}
	f.in.Budget.Issued += f.in.Budget.Skipped
	return f
}

// TestMergeAddsUp: whatever the server has forgotten, each request that was sent is counted once, and each slot is
// accounted for.
func TestMergeAddsUp(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		forgets := seed%2 == 0
		f := fates(rng, forgets)
		if forgets && f.in.Budget.Skipped > 0 && rng.IntN(3) == 0 { // the server has forgotten that time passed, too
			f.in.Budget.Issued -= f.in.Budget.Skipped
			f.in.Budget.Skipped = 0
		}
		before := report.Build(f.in)
		merge(&f.in, f.rest)
		rep := report.Build(f.in)
		if err := rep.Audit.Check(); err != nil || rep.Audit.Sent != f.sent || len(rep.Workers) != len(f.rest) || !rep.Complete {
			t.Fatalf("seed %d: %v, sent %d, %+v", seed, err, f.sent, rep)
		}
		if !forgets && (rep.Asked != before.Asked || rep.Audit.Issued+rep.Audit.Ungranted != before.Audit.Issued+before.Audit.Ungranted) {
			t.Errorf("seed %d: asked %d of %d issued, and %d of %d without the files", seed, rep.Asked, rep.Audit.Issued+rep.Audit.Ungranted, before.Asked, before.Audit.Issued+before.Audit.Ungranted)
		}
		again := rep.Audit
		merge(&f.in, f.rest)
		if rep := report.Build(f.in); rep.Audit != again {
			t.Errorf("seed %d: merged twice: %+v, once: %+v", seed, rep.Audit, again)
		}
	}
}

// TestMergeOfSomeFiles: whichever files are added, a report that calls itself complete holds all that was sent.
func TestMergeOfSomeFiles(t *testing.T) {
	outcomes := map[bool]int{}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		f := fates(rng, false)
		for _, key := range slices.Sorted(maps.Keys(f.rest)) {
			if rng.IntN(3) == 0 {
				delete(f.rest, key)
			}
		}
		merge(&f.in, f.rest)
		rep := report.Build(f.in)
		outcomes[rep.Complete]++
		if err := rep.Audit.Check(); err != nil || rep.Audit.Sent > f.sent || rep.Complete && rep.Audit.Sent != f.sent {
			t.Fatalf("seed %d: %v, complete %v, sent %d of %d", seed, err, rep.Complete, rep.Audit.Sent, f.sent)
		}
		for _, w := range rep.Workers {
			file := report.UnpublishedFile("", w.ID, w.Incarnation)
			if named := strings.Contains(strings.Join(rep.Notes, "\n"), file); named == w.Final {
				t.Fatalf("seed %d: %+v, named %v", seed, w, named)
			}
		}
	}
	if outcomes[true] < 100 || outcomes[false] < 100 {
		t.Errorf("one of the outcomes hardly occurred: %v", outcomes)
	}
}

// TestMerge lists what the server has, what the file has, and the merged counts.
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		name           string
		leased, beyond int64 // by the server
		skipped        int64
		state          string
		published      *record.Snapshot
		file           record.Counts
		want           report.Audit
		wantState      string
		used           int
	}{
		{
			name: "nothing was published", leased: 100, skipped: 7, state: "lost", file: record.Counts{Sent: 100, Completed: 100},
			want: report.Audit{Issued: 107, Asked: 107, Sent: 100, Completed: 100, Skipped: 7}, wantState: "left", used: 1,
		},
		{
			name: "the last reply did not arrive", leased: 105, state: "active", file: record.Counts{Sent: 100, Completed: 100},
			want: report.Audit{Issued: 105, Asked: 105, Sent: 100, Completed: 100, Lost: 5}, wantState: "left", used: 1,
		},
		{
			name: "on a lease", leased: 100, skipped: 50, state: "silent", file: record.Counts{Sent: 100, Completed: 90},
			want: report.Audit{Issued: 150, Asked: 150, Sent: 100, Completed: 90, InFlight: 10, Skipped: 50}, wantState: "left", used: 1,
		},
		{
			name: "the server forgot some", leased: 80, skipped: 50, state: "lost", file: record.Counts{Sent: 100, Completed: 100},
			want: report.Audit{Issued: 130, Asked: 130, Sent: 100, Completed: 100, Skipped: 30}, wantState: "left", used: 1,
		},
		{
			name: "more than it has skipped", leased: 80, skipped: 5, state: "lost", file: record.Counts{Sent: 100, Completed: 100},
			want: report.Audit{Issued: 100, Asked: 100, Sent: 100, Completed: 100}, wantState: "left", used: 1,
		},
		{
			name: "some of them behind a cut", leased: 80, beyond: 2, skipped: 50, state: "lost", file: record.Counts{Sent: 90, Recalled: 10, Completed: 90},
			want: report.Audit{Issued: 138, Asked: 128, Sent: 90, Recalled: 10, Completed: 90, Skipped: 38}, wantState: "left", used: 1,
		},
		{
			name: "published all the same", leased: 100, state: "left", published: finalSnapshot("w", "i", 9, record.Counts{Sent: 100, Completed: 100}),
			file: record.Counts{Sent: 100, Completed: 100}, want: report.Audit{Issued: 100, Asked: 100, Sent: 100, Completed: 100}, wantState: "left",
		},
		{
			name: "replaced", leased: 100, state: "replaced", file: record.Counts{Sent: 60, LateDropped: 40, Completed: 60},
			want: report.Audit{Issued: 100, Asked: 100, Sent: 60, LateDropped: 40, Completed: 60}, wantState: "replaced", used: 1,
		},
	} {
		u := unpublished(c.file)
		in := report.Input{
			Budget:  report.Budget{Issued: c.leased + c.skipped, Skipped: c.skipped},
			Workers: []report.WorkerInput{{ID: "w", Incarnation: "i", State: c.state, Leased: c.leased, Beyond: c.beyond, Total: c.published}},
		}
		used := merge(&in, map[string]*Unpublished{u.key(): u})
		rep := report.Build(in)
		if err := rep.Audit.Check(); err != nil || rep.Audit != c.want || used != c.used || rep.Workers[0].State != c.wantState {
			t.Errorf("%s: %v, %d used, %+v, %s", c.name, err, used, rep.Audit, rep.Workers[0].State)
		}
	}
}

// TestMergedReport: a worker publishes some of what it did and keeps the rest in a file. Whatever happens to the run
// in Redis, the report has all of it, once.
func TestMergedReport(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(1000)
		spec.Requests = 200
		r, _ := b.create("x", spec, run.Options{})
		m := b.member(r, "b")
		m.over()
		owned := m.owned()
		journal := NewJournal(r, "b", "incb")
		total := func(seq uint64, n int64) *record.Snapshot {
			s := snapshot(seq)
			s.Counts = record.Counts{Sent: n, Completed: n}
			return s
		}
		half, all := total(1, 100), total(2, owned)
		series := new(record.Series)
		series.Add(0, half)
		if err := journal.Publish(t.Context(), half, half, series); err != nil {
			t.Fatal(err)
		}
		if journal.Unpublished() != nil {
			t.Error("something is kept though nothing was")
		}
		all.Final = true
		journal.Keep(0, all, []record.Point{{Width: 1, Sent: owned}}, samples.Set{}, false)
		u := journal.Unpublished()
		if u.Run != "x" || u.UID != r.UID || u.State != "left" || u.Leased != owned || u.Total != all {
			t.Errorf("%+v", u)
		}

		whole := func(when string, rep report.Report, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			a := rep.Audit
			if err := a.Check(); err != nil || a.Sent != owned || a.Lost != 0 || a.Asked != a.Sent+a.Skipped || len(rep.Workers) != 1 || rep.Series[0].Sent != owned {
				t.Errorf("%s: %v, %+v, %+v", when, err, rep.Audit, rep.Workers)
			}
		}
		files := []*Unpublished{u, u}
		rep, err := MergedReport(t.Context(), r, files)
		whole("as it is", rep, err)
		if !rep.Complete || rep.Asked != 200 || !strings.Contains(strings.Join(rep.Notes, "\n"), "the final counts of 1 worker did not come from Redis") {
			t.Errorf("%+v", rep)
		}
		if before, err := Report(t.Context(), r); err != nil || before.Audit.Sent != 100 {
			t.Errorf("without the file: %+v, %v", before.Audit, err)
		}
		// Redis has forgotten that worker, so its slots count as skipped.
		b.client.Del(t.Context(), r.Keys.Workers, r.Keys.Totals, r.Keys.Series)
		rep, err = MergedReport(t.Context(), r, files)
		whole("the worker is forgotten", rep, err)
		// The run was replaced.
		if err := run.Remove(t.Context(), b.client, "x", true); err != nil {
			t.Fatal(err)
		}
		_, err = MergedReport(t.Context(), r, files)
		b.wants(err, run.ErrNoRun, "run x")
		next, _ := b.create("x", spec, run.Options{})
		_, err = MergedReport(t.Context(), next, files)
		b.wants(err, ErrOtherRun, "also called x")
		// Redis cannot be asked.
		rep, err = FromFiles("x", "Redis is gone", files)
		whole("from the files alone", rep, err)
		if rep.Complete || rep.Workers[0].State != "alone" || !strings.Contains(strings.Join(rep.Notes, "\n"), "Redis is gone: this is what 1 worker counted") {
			t.Errorf("%+v", rep)
		}
	})
}

// TestReportOfFiles: the report says when the run began and how long it took, as far as its workers know.
func TestReportOfFiles(t *testing.T) {
	const s = 1_000_000 // µs
	at := func(worker string, started, from, to int64, length time.Duration, points int64) *Unpublished {
		u := unpublished(record.Counts{Sent: 50, Completed: 50, Recalled: 4})
		u.StartedAt, u.Length, u.Series = run.TimeOf(started), length, nil
		u.Total.Worker, u.Total.Start, u.Total.End = worker, from, to
		for i := range points {
			u.Series = append(u.Series, record.Point{Index: i, Width: 1})
		}
		return u
	}
	for _, c := range []struct {
		name    string
		files   []*Unpublished
		started int64
		seconds float64
	}{
		{"until stopped", []*Unpublished{at("a", 5*s, 4*s, 25*s, 0, 3), at("b", 5*s, 6*s, 30*s, 0, 3)}, 5 * s, 25},
		{"waited for Redis after the end", []*Unpublished{at("a", 5*s, 4*s, 25*s, 10*time.Second, 10)}, 5 * s, 10},
		{"a pause put the end off", []*Unpublished{at("a", 5*s, 4*s, 25*s, 10*time.Second, 14)}, 5 * s, 14},
		{"it did not learn of the start", []*Unpublished{at("a", 0, 4*s, 6*s, 10*time.Second, 0), at("b", 0, 3*s, 5*s, 10*time.Second, 0)}, 3 * s, 3},
		{"no clock", []*Unpublished{at("a", 0, 0, 0, 10*time.Second, 0)}, 0, 0},
	} {
		rep, err := FromFiles("x", "why", c.files)
		if n := int64(len(c.files)); err != nil || !rep.StartedAt.Equal(run.TimeOf(c.started)) || rep.DurationS != c.seconds || rep.Audit.Sent != 50*n || rep.Asked != 50*n {
			t.Errorf("%s: %v, %v for %v s, %+v", c.name, err, rep.StartedAt, rep.DurationS, rep.Audit)
		}
	}
}

// TestReportOfAWorkerThatNeverBegan: it joined a run, and ended before the run began. Redis was away at its end.
func TestReportOfAWorkerThatNeverBegan(t *testing.T) {
	u := unpublished(record.Counts{})
	u.StartedAt, u.Series = time.Time{}, nil
	rep, err := FromFiles("x", "Redis could not be reached", []*Unpublished{u})
	if err != nil {
		t.Fatal(err)
	}
	const says = "Redis could not be reached: this is of 1 worker for which the run had not begun; what other workers did"
	if !rep.StartedAt.IsZero() || rep.DurationS != 0 || rep.Complete || !strings.HasPrefix(strings.Join(rep.Notes, "; "), says) {
		t.Errorf("started %v, %v s, complete %v, %q", rep.StartedAt, rep.DurationS, rep.Complete, rep.Notes)
	}
}
