package report_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/archive"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/threshold"
)

// stepped returns the input of a run with two steps: of each worker, list has 80 requests of 1 ms; pay has 20 of 10 ms,
// of which 5 fail, and 5 dropped late.
func stepped(t *testing.T, workers ...string) report.Input {
	t.Helper()
	in := report.Input{Run: "shop", StartedAt: time.Unix(1, 0), Duration: 10 * time.Second, TargetRate: 10, Budget: report.Budget{Issued: int64(105 * len(workers))}}
	for _, text := range []string{"latency{step=pay}:p(50)<20ms", "latency{step=list}:max<2ms", "latency{step=pay}:max<1s", "errors{step=pay}:rate<20%",
		"errors{step=list}:count==0", "rate{step=list}:rate>7/s", "checks{step=gone}:rate>0.9"} {
		condition, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Thresholds = append(in.Thresholds, condition)
	}
	for _, w := range workers {
		rec, total := record.NewRecorder("list", "pay"), record.NewSnapshot(w, "1")
		for i := range 100 {
			s := record.Finished{Done: 1_000_000, Status: 200}
			if i >= 80 {
				s.Step, s.Done = 1, 10_000_000
			}
			if i >= 95 {
				s.Class = "timeout"
			}
			rec.Sent()
			rec.StepSent(s.Step)
			rec.Done(s)
		}
		for range 5 {
			rec.LateDropped(1)
			rec.StepLate(1)
		}
		total.Record(rec)
		total.Final = true
		in.Workers = append(in.Workers, report.WorkerInput{ID: w, State: "left", Incarnation: w, Gone: true, Leased: 105, Total: total})
	}
	return in
}

func TestSteps(t *testing.T) {
	r := report.Build(stepped(t, "a", "b"))
	if len(r.Steps) != 2 || r.Steps[0].Name != "list" || r.Steps[0].Sent != 160 || r.Steps[1].Failed != 10 || r.Steps[1].Errors["timeout"] != 10 || r.Steps[1].LateDropped != 10 {
		t.Fatalf("%+v", r.Steps)
	}
	if ms := r.Steps[1].Latency.P50 / 1e6; ms != 10 {
		t.Errorf("p50 of pay: %d ms", ms)
	}
	want := []string{threshold.Passed, threshold.Passed, threshold.Undecided, threshold.Failed, threshold.Passed, threshold.Passed, threshold.Undecided}
	for i, result := range r.Thresholds {
		if result.Result != want[i] {
			t.Errorf("%s: %s %s, want %s", result.Threshold, result.Result, result.Text, want[i])
		}
	}
	var text bytes.Buffer
	if err := render.Text(&text, r); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"steps       sent    share   failed", "list         160  80.00 %        0", "pay           40  20.00 %       10", "  timeout: 10\n", "  late dropped: 10\n", "≥10.0ms"} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("no line %q in\n%s", line, text.String())
		}
	}
}

// TestStepsInOrder: steps come in the order of the workload, also if only some workers have counted one. A step that the
// workload does not name follows, and then the pool. Reports that are added up keep the order, also if one lacks a step.
func TestStepsInOrder(t *testing.T) {
	build := func(worker string, counted ...string) report.Report {
		rec, total := record.NewRecorder(counted...), record.NewSnapshot(worker, "1")
		for i := range counted {
			rec.StepSent(i)
		}
		total.Record(rec)
		return report.Build(report.Input{Run: "r", Steps: []string{"login", "cart", "pay"}, Workers: []report.WorkerInput{{ID: worker, Incarnation: worker, Total: total}}})
	}
	for _, c := range []struct {
		parts [][]string
		want  string
	}{
		{[][]string{{"pay", "cart", "login"}}, "[login cart pay]"},
		{[][]string{{"other", "zoo", "pay", "ant", "login"}}, "[login pay ant zoo other]"},
		{[][]string{{"pay", "login"}, {"login", "cart"}}, "[login pay cart]"}, // neither part says more
		{[][]string{{"pay"}, {"cart"}, {"pay", "login", "cart"}}, "[pay login cart]"},
		{[][]string{{"cart", "pay"}, {"login", "other"}}, "[cart pay login other]"},
	} {
		var parts []report.Part
		for i, counted := range c.parts {
			name := fmt.Sprint("w", i)
			parts = append(parts, report.Part{Name: name, Report: build(name, counted...)})
		}
		sum, err := report.Combine(parts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range sum.Steps {
			got = append(got, s.Name)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%q: %q, want %s", c.parts, got, c.want)
		}
	}
}

// An archive keeps the steps, and two archives add up to one report of both.
func TestStepsInArchives(t *testing.T) {
	both := report.Build(stepped(t, "a", "b"))
	var parts []report.Part
	for _, w := range []string{"a", "b"} {
		one := report.Build(stepped(t, w))
		var file bytes.Buffer
		if err := archive.Write(&file, one); err != nil {
			t.Fatal(err)
		}
		back, err := archive.Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back.Steps, one.Steps) || back.Histograms.Steps["pay"].Quantile(0.5) != one.Histograms.Steps["pay"].Quantile(0.5) {
			t.Errorf("%+v, want %+v", back.Steps, one.Steps)
		}
		parts = append(parts, report.Part{Name: w, Report: back})
	}
	sum, err := report.Combine(parts)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%+v", sum.Steps), fmt.Sprintf("%+v", both.Steps); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A section of a run is judged by its steps too.
func TestStepsOfSections(t *testing.T) {
	in := stepped(t, "a")
	s := report.Section{Asked: 105, Length: 10 * time.Second, Workers: []*record.Snapshot{in.Workers[0].Total}}
	for i, want := range []string{threshold.Passed, threshold.Passed, threshold.Undecided, threshold.Failed, threshold.Passed, threshold.Passed, threshold.Undecided} {
		if got := s.Judge(in.Thresholds[i]); got.Result != want {
			t.Errorf("%s: %s %s, want %s", got.Threshold, got.Result, got.Text, want)
		}
	}
}

// TestCombinedStepsBeyondTheLimit: which steps are counted together does not change from one merge to the next, and
// their pool is marked as they are.
func TestCombinedStepsBeyondTheLimit(t *testing.T) {
	part := func(prefix string) report.Part {
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprintf("%s%02d", prefix, i))
		}
		rec, total := record.NewRecorder(names...), record.NewSnapshot(prefix, "1")
		for i := range names {
			rec.Sent()
			rec.StepSent(i)
			rec.Done(record.Finished{Step: i, Done: 1_000_000, Status: 200})
		}
		total.Record(rec)
		total.Final = true
		return report.Part{Name: prefix, Report: report.Build(report.Input{
			Run: "r", StartedAt: time.Unix(1, 0), Duration: time.Second, Budget: report.Budget{Issued: 20}, FromAnswer: []string{prefix + "19"},
			Workers: []report.WorkerInput{{ID: prefix, State: "left", Incarnation: prefix, Gone: true, Leased: 20, Total: total}},
		})}
	}
	for range 20 {
		sum, err := report.Combine([]report.Part{part("a"), part("b")})
		if err != nil {
			t.Fatal(err)
		}
		pool := sum.Steps[len(sum.Steps)-1]
		if len(sum.Steps) != 33 || sum.Steps[31].Name != "b11" || pool.Name != "other" || pool.Sent != 8 || !pool.FromAnswer || sum.Steps[31].FromAnswer || !sum.Steps[19].FromAnswer {
			t.Fatalf("%+v", sum.Steps)
		}
	}
}
