package report_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
)

// failingRun is a run of some workers, in which requests fail in some seconds, each with one of these classes.
func failingRun(t *testing.T, rng *rand.Rand, name string, seconds int64, classes []string) report.Report {
	t.Helper()
	in := report.Input{Run: "x", StartedAt: time.Unix(1_800_000_000, 0), Duration: time.Duration(seconds) * time.Second}
	for w := range 1 + rng.IntN(3) {
		series, total := new(record.Series), record.NewSnapshot(fmt.Sprint(name, w), "i")
		until := 1 + rng.Int64N(seconds) // they leave at different times, so widths differ
		for second := int64(0); second < until; second += 1 + rng.Int64N(4) {
			beat := record.NewSnapshot(total.Worker, "i")
			for range 1 + rng.IntN(5) {
				beat.Counts.Sent++
				beat.Latency.Record(rng.Int64N(1e9))
				if class := classes[rng.IntN(len(classes))]; class != "" {
					beat.Counts.Failed++
					beat.Class(class).Count++
				} else {
					beat.Counts.Completed++
				}
			}
			series.Add(second*1e6+500_000, beat)
			total.Merge(beat)
		}
		total.Final = true
		sent := total.Counts.Sent
		in.Budget.Issued += sent
		in.Workers = append(in.Workers, report.WorkerInput{ID: total.Worker, Incarnation: "i", State: "left", Gone: true, Leased: sent, Total: total,
			Series: rewritten(t, series.Points())})
	}
	return report.Build(in)
}

// rewritten returns a series after a round trip through Redis.
func rewritten(t *testing.T, all []record.Point) []record.Point {
	t.Helper()
	var read []record.Point
	for _, p := range all {
		text, err := p.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back record.Point
		if err := back.UnmarshalText(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !maps.Equal(back.Errors, p.Errors) {
			t.Fatalf("%s: errors %v, want %v", text, back.Errors, p.Errors)
		}
		read = append(read, back)
	}
	return read
}

// seriesErrors checks that the errors of each point add up to its failures, and returns their sum by class.
func seriesErrors(t *testing.T, what string, r report.Report) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, s := range r.Series {
		n := int64(0)
		for class, count := range s.Errors {
			n += count
			all[class] += count
		}
		if n != s.Failed || n == 0 && s.Errors != nil {
			t.Fatalf("%s, second %d: errors %v of %d that failed", what, s.T, s.Errors, s.Failed)
		}
	}
	return all
}

// TestSeriesErrors: in random runs the errors of the series, by class, equal those of the report, after any merging,
// widening, archiving and combining.
func TestSeriesErrors(t *testing.T) {
	classes := []string{"timeout", "status", "connect", "other", "a,b;c=d %", ""} // "" = it did not fail
	seeds := uint64(10)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 18))
		first := failingRun(t, rng, "a", 1+rng.Int64N(3_000), classes)
		second := failingRun(t, rng, "b", 1+rng.Int64N(300), append(classes, "naïve\n"))
		both, err := report.Combine([]report.Part{{Name: "a", Report: first}, {Name: "b", Report: second}})
		if err != nil {
			t.Fatal(err)
		}
		for what, r := range map[string]report.Report{"first": first, "second": second, "both": both, "archived": reporttest.Reread(t, both)} {
			what = fmt.Sprintf("seed %d, %s", seed, what)
			if got := seriesErrors(t, what, r); !r.Complete || !maps.Equal(got, r.Errors) {
				t.Errorf("%s: complete %v, errors %v over the series, %v of the run", what, r.Complete, got, r.Errors)
			}
		}
	}
}

// TestManyClasses: a point has no more classes than a snapshot, and loses no error.
func TestManyClasses(t *testing.T) {
	var classes []string
	for i := range 300 {
		classes = append(classes, fmt.Sprintf("%064d", i))
	}
	r := failingRun(t, rand.New(rand.NewPCG(1, 1)), "a", 2_000, append(classes, strings.Repeat("x", 1_000)))
	all := seriesErrors(t, "all", reporttest.Reread(t, r))
	if failed := all[record.OtherClass]; len(all) > 301 || failed == 0 {
		t.Errorf("%d classes, %d pooled", len(all), failed)
	}
	for _, p := range r.Histograms.Series {
		if len(p.Errors) > record.MaxClasses+1 {
			t.Fatalf("%d classes in a point", len(p.Errors))
		}
	}
}

// TestOldPoints: points of version 1 can be read, and their errors have the class of unknown errors.
func TestOldPoints(t *testing.T) {
	var old, now record.Point
	if err := old.UnmarshalText([]byte("1,1,7,5,3,2,")); err != nil {
		t.Fatal(err)
	}
	if err := now.UnmarshalText([]byte("2,1,7,5,2,3,status=3,")); err != nil {
		t.Fatal(err)
	}
	r := report.Build(report.Input{Duration: 10 * time.Second, Workers: []report.WorkerInput{{ID: "a", Series: []record.Point{old}}, {ID: "b", Series: []record.Point{now}}}})
	if got := r.Series[7]; got.Sent != 10 || got.Failed != 5 || !maps.Equal(got.Errors, map[string]int64{record.OtherClass: 2, "status": 3}) {
		t.Errorf("%+v", got)
	}
	seriesErrors(t, "old and new", reporttest.Reread(t, r))
}

// TestSnapshotContradicts: a snapshot with more errors than failures does not spoil the series.
func TestSnapshotContradicts(t *testing.T) {
	var s record.Series
	in := reporttest.Interval(5, 1e6)
	in.Counts.Failed = 3
	in.Class("status").Count = 4
	s.Add(0, in)
	s.Add(5_000e6, in)
	r := report.Build(report.Input{Workers: []report.WorkerInput{{Series: rewritten(t, s.Points())}}})
	if all := seriesErrors(t, "contradicts", r); all[record.OtherClass] != 6 {
		t.Errorf("%v", all)
	}
}
