package report_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// queried returns a run of 60 s that asked the query cpu every 5 s, and what it answered; NaN = nothing.
func queried(t *testing.T, conditions []string, answers ...float64) report.Input {
	t.Helper()
	in := reporttest.Run(t)
	in.Duration, in.AskedBy = time.Minute, func(from, to int64) int64 { return (to - from) * 200 / 1_000_000 }
	in.Queries, in.QueryStale = []report.Query{{Name: "cpu", PromQL: "max(cpu)"}}, 10*time.Second
	for i, v := range answers {
		p, value := record.ValuePointAt(int64(i)*5), record.Answer(v)
		if v != v {
			value = record.Value{Missed: 1}
		}
		p.Add(map[string]record.Value{"cpu": value})
		in.Values = append(in.Values, p)
	}
	for _, text := range conditions {
		c, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Thresholds = append(in.Thresholds, c)
	}
	return in
}

// TestQueryThresholds: the report judges every window of a run. Windows without an answer are passed over, until the query was
// silent for too long.
func TestQueryThresholds(t *testing.T) {
	nan := func() float64 { var zero float64; return zero / zero }()
	none := slices.Repeat([]float64{nan}, 12)
	for _, c := range []struct {
		name, condition string
		answers         []float64
		result, text    string
	}{
		{"holds", "value<0.8", []float64{0.1, 0.2, 0.7, 0.2, 0.3, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1}, threshold.Passed, "0.7 in seconds "},
		{"one bad", "value<0.8", []float64{0.1, 0.2, 0.9, 0.2, 0.3, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1}, threshold.Failed, "0.9 in seconds 1 to 11, 10 of "},
		{"too low", "value>0.2", []float64{0.3, 0.3, 0.1, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3}, threshold.Failed, "0.1 in seconds 1 to 11, 10 of "},
		{"negative", "value<-1", []float64{-3, -3, -3, -3, -2, -3, -3, -3, -3, -3, -3, -3}, threshold.Passed, "-2 in seconds "},
		{"a gap", "value<0.8", []float64{0.1, nan, 0.1, nan, 0.1, 0.1, 0.1, 0.1, nan, 0.1, 0.1, 0.1}, threshold.Passed, "0.1 in seconds "},
		{"blind", "value<0.8", []float64{0.1, nan, nan, nan, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, threshold.Failed, "no answer to the query for longer than --query-stale in seconds "},
		{"never", "value<0.8", none, threshold.Failed, "no answer to the query for longer than --query-stale"},
		{"not asked", "value<0.8", nil, threshold.Undecided, "the query gave no answer"},
	} {
		in := queried(t, []string{"query{cpu}:" + c.condition + " over 10s"}, c.answers...)
		in.Workers = in.Workers[:1] // of the other one the generator was a limit
		in.Budget = report.Budget{Issued: in.Workers[0].Leased}
		r := report.Build(in)
		got := r.Thresholds[0]
		if got.Result != c.result || !strings.HasPrefix(got.Text, c.text) || got.Unit != threshold.ValueKind {
			t.Errorf("%s: %+v, want %s, %s", c.name, got, c.result, c.text)
		}
		if c.result != threshold.Undecided && (got.Value == nil) != strings.HasPrefix(c.text, "no answer") {
			t.Errorf("%s: value %v", c.name, got.Value)
		}
	}
}

// TestQueryStands: a bad answer is the endpoint's, even if the generator was a limit: the endpoint had the load that was asked for, or less.
func TestQueryStands(t *testing.T) {
	r := report.Build(queried(t, []string{"query{cpu}:value<0.8 over 10s", "latency:p(99)<1ns"}, 0.9, 0.9, 0.9))
	if got := r.Thresholds; got[0].Result != threshold.Failed || got[1].Result != threshold.Undecided {
		t.Errorf("%+v; a failed latency must be in doubt here, else this proves nothing", got)
	}
}

// TestQueriesAreSummedUp: the report has the answers over time, and their sum. Wide points keep minimum, mean and maximum.
func TestQueriesAreSummedUp(t *testing.T) {
	in := queried(t, nil, 1, 2, 6)
	in.Values = append(in.Values, record.ValuePoint{Index: 1000, Width: 1, Of: map[string]record.Value{"cpu": record.Answer(100)}}, // after the end
		record.ValuePoint{Index: 3, Width: 1, Of: map[string]record.Value{"unknown": record.Answer(5)}})
	r := report.Build(in)
	if want := (record.Value{N: 3, Min: 1, Avg: 3, Max: 6}); len(r.Queries) != 1 || r.Queries[0].Value != want || r.Queries[0].PromQL != "max(cpu)" {
		t.Errorf("%+v", r.Queries)
	}
	for _, s := range r.Series {
		if has := s.Queries["cpu"].N > 0; has != (s.T%5 == 0 && s.T < 15) || s.Queries["unknown"].N > 0 {
			t.Errorf("%d s: %+v", s.T, s.Queries)
		}
	}
	in.Duration = 3 * time.Hour
	wide := report.Build(in)
	if want := (record.Value{N: 3, Min: 1, Avg: 3, Max: 6}); wide.SeriesWidthS != 16 || wide.Series[0].Queries["cpu"] != want {
		t.Errorf("%d s wide: %+v", wide.SeriesWidthS, wide.Series[0].Queries)
	}
	back := reporttest.Reread(t, r)
	if !reflect.DeepEqual(back.Queries, r.Queries) || !reflect.DeepEqual(back.Series, r.Series) {
		t.Error("an archive keeps other answers")
	}
	text, err := json.Marshal(report.Build(reporttest.Run(t)))
	if err != nil || strings.Contains(string(text), "quer") {
		t.Errorf("a run without queries speaks of them: %v", err)
	}
}

// TestCombineQueries: the answers of several runs are added up. Queries that ask for different things keep apart, and each part keeps
// its own results.
func TestCombineQueries(t *testing.T) {
	condition := []string{"query{cpu}:value<5 over 10s"}
	first, second := queried(t, condition, 1, 2), queried(t, condition, 9, 8)
	for i := range second.Workers {
		second.Workers[i].Incarnation = "other"
	}
	parts := func() []report.Part {
		return []report.Part{{Name: "a", Report: report.Build(first)}, {Name: "b", Report: report.Build(second)}}
	}
	r, err := report.Combine(parts())
	if err != nil {
		t.Fatal(err)
	}
	if want := (record.Value{N: 4, Min: 1, Avg: 5, Max: 9}); len(r.Queries) != 1 || r.Queries[0].Value != want || r.Series[0].Queries["cpu"].Max != 9 || r.Series[0].Queries["cpu"].N != 2 {
		t.Errorf("%+v", r.Queries)
	}
	if len(r.Thresholds) != 2 || r.Thresholds[0].Threshold != "a: "+condition[0] || r.Thresholds[1].Result != threshold.Failed {
		t.Errorf("%+v", r.Thresholds)
	}
	second.Queries[0].PromQL = "min(cpu)"
	if r, err = report.Combine(parts()); err != nil {
		t.Fatal(err)
	}
	if len(r.Queries) != 2 || r.Queries[0].Name != "a: cpu" || r.Queries[0].Max != 2 || r.Queries[1].Name != "b: cpu" || r.Queries[1].Min != 8 || r.Series[0].Queries["b: cpu"].Max != 9 {
		t.Errorf("%+v", r.Queries)
	}
}
