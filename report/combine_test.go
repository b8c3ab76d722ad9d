package report_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
)

// machine returns the report of a machine with its own Redis: n requests per second for this many seconds, each
// answered after latency.
func machine(t *testing.T, worker string, n, seconds int64, latency time.Duration, final bool) report.Report {
	t.Helper()
	series, total := new(record.Series), record.NewSnapshot(worker, "i")
	for s := range seconds {
		rec, beat := record.NewRecorder(), record.NewSnapshot(worker, "i")
		for i := range n {
			rec.Sent()
			sample := record.Finished{Done: int64(latency), Status: 200, BytesIn: 10, BytesOut: 5}
			if i == 0 {
				sample.Status, sample.Class = 500, "status"
			}
			rec.Done(sample)
		}
		beat.Record(rec)
		series.Add(s*1_000_000+500_000, beat)
		total.Merge(beat)
	}
	total.Final = final
	points := series.Points()
	r := report.Build(report.Input{
		Run: "checkout", StartedAt: time.Date(2026, 1, 2, 3, 4, int(n%60), 0, time.UTC), Duration: time.Duration(seconds) * time.Second, TargetRate: float64(n),
		Budget:  report.Budget{Issued: n * seconds},
		Workers: []report.WorkerInput{{ID: worker, Incarnation: worker + "-i", State: "left", Gone: true, Leased: n * seconds, Total: total, Series: points}},
		AskedBy: func(from, to int64) int64 { return (to - from) * n / 1_000_000 },
	})
	return reporttest.Reread(t, r)
}

// TestCombine: sums, percentiles of all requests, and seconds counted from each start.
func TestCombine(t *testing.T) {
	a, b := machine(t, "berlin", 100, 10, 10*time.Millisecond, true), machine(t, "paris", 300, 4, 30*time.Millisecond, true)
	r, err := report.Combine([]report.Part{{Name: "a.loadctl", Report: a}, {Name: "b.loadctl", Report: b}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Audit.Check(); err != nil {
		t.Error(err)
	}
	if r.Run != "checkout" || r.Asked != 2_200 || r.Audit.Sent != 2_200 || r.TargetRate != 400 || r.DurationS != 10 || r.Rate != 220 || !r.Complete ||
		!r.StartedAt.Equal(b.StartedAt) || r.Errors["status"] != 14 || r.StatusCodes["200"] != 2_186 || r.BytesIn != 22_000 || len(r.Workers) != 2 {
		t.Errorf("%+v", r)
	}
	// 1,000 of 2,200 took 10 ms.
	if r.Latency.Min != a.Latency.Min || r.Latency.P50 != b.Latency.P50 || r.Latency.Max != b.Latency.Max || r.Histograms.Latency.Quantile(0.45) != a.Latency.P50 {
		t.Errorf("latency %+v", r.Latency)
	}
	for i, s := range r.Series {
		want := int64(100)
		if i < 4 {
			want = 400
		}
		if s.Asked != want || s.Sent != want || s.OK+s.Failed != want || s.T != int64(i) {
			t.Errorf("second %d: %+v, want %d", i, s, want)
		}
	}
	if notes := strings.Join(r.Notes, "; "); !strings.Contains(notes, "combined from 2 reports without a Redis in common, aligned by the time since each start: a.loadctl + b.loadctl") {
		t.Errorf("notes %q", notes)
	}
	reporttest.SameFormats(t, "in an archive", reporttest.Reread(t, r), r)
	// Combine does not change its input.
	reporttest.SameFormats(t, "a", a, machine(t, "berlin", 100, 10, 10*time.Millisecond, true))
	if one, err := report.Combine([]report.Part{{Name: "a", Report: a}}); err != nil || one.Run != a.Run || len(one.Notes) != len(a.Notes) {
		t.Errorf("one: %v, %+v", err, one)
	}
}

// TestCombineKeepsAll: the sum has every member that a report has. A member that Combine does not know yet fails here.
func TestCombineKeepsAll(t *testing.T) {
	whole := report.Build(reporttest.Sampled(reporttest.Run(t)))
	whole.Complete, whole.Limiter, whole.OutOfRange = true, "token-bucket", 3
	other := machine(t, "paris", 10, 2, time.Millisecond, true)
	r, err := report.Combine([]report.Part{{Name: "a", Report: whole}, {Name: "b", Report: other}})
	if err != nil {
		t.Fatal(err)
	}
	from, to := reflect.ValueOf(whole), reflect.ValueOf(r)
	for i := range from.NumField() {
		if !from.Field(i).IsZero() && to.Field(i).IsZero() {
			t.Errorf("%s is lost", from.Type().Field(i).Name)
		}
	}
}

// TestCombineForgetsTheKey: each run makes its trace ids of another key, so the sum has none.
func TestCombineForgetsTheKey(t *testing.T) {
	a, b := machine(t, "berlin", 10, 2, time.Millisecond, true), machine(t, "paris", 10, 2, time.Millisecond, true)
	a.Described.Trace, a.Described.TraceURL = &report.Trace{Key: "uid"}, "https://h/${trace_id}"
	r, err := report.Combine([]report.Part{{Name: "a", Report: a}, {Name: "b", Report: b}})
	if err != nil || r.Described.Trace != nil || r.Described.TraceURL != a.Described.TraceURL || a.Described.Trace == nil {
		t.Errorf("%+v, %v", r.Described, err)
	}
}

// TestCombineLong: points of different widths.
func TestCombineLong(t *testing.T) {
	a, b := machine(t, "berlin", 10, 3_000, time.Millisecond, true), machine(t, "paris", 10, 20, time.Millisecond, true)
	r, err := report.Combine([]report.Part{{Name: "a", Report: a}, {Name: "b", Report: b}})
	if err != nil {
		t.Fatal(err)
	}
	asked, sent := int64(0), int64(0)
	for _, s := range r.Series {
		asked, sent = asked+s.Asked, sent+s.Sent
	}
	if r.SeriesWidthS != 4 || len(r.Series) != 750 || asked != 30_200 || sent != 30_200 || r.Series[0].Sent != 80 || r.Series[5].Sent != 40 {
		t.Errorf("%d points of %d s, %d asked, %d sent, %+v", len(r.Series), r.SeriesWidthS, asked, sent, r.Series[:6])
	}
}

// TestCombineIncomplete: one incomplete part makes the sum incomplete, and is named.
func TestCombineIncomplete(t *testing.T) {
	a, b := machine(t, "berlin", 10, 2, time.Millisecond, true), machine(t, "paris", 10, 2, time.Millisecond, false)
	r, err := report.Combine([]report.Part{{Name: "a.loadctl", Report: a}, {Name: "b.loadctl", Report: b}})
	notes := strings.Join(r.Notes, "; ")
	if err != nil || r.Complete || !strings.Contains(notes, "b.loadctl is not complete") || strings.Contains(notes, "a.loadctl is not complete") ||
		!strings.Contains(notes, "b.loadctl: worker paris: its final snapshot is missing") {
		t.Errorf("%v, complete %v, %s", err, r.Complete, notes)
	}
}

// TestCombineRefuses: parts that would count something twice, or have figures of different meaning.
func TestCombineRefuses(t *testing.T) {
	a, b := machine(t, "berlin", 10, 2, time.Millisecond, true), machine(t, "paris", 10, 2, time.Millisecond, true)
	closed, bare := b, b
	closed.ClosedLoop, bare.Histograms = true, nil
	for says, parts := range map[string][]report.Part{
		"combine a and b: both contain the same process of worker \"berlin\"; leave one of them out": {{Name: "a", Report: a}, {Name: "b", Report: a}},
		"combine a and b: only one is a closed loop":                                                 {{Name: "a", Report: a}, {Name: "b", Report: closed}},
		"combine b: it has no histograms; give an archive":                                           {{Name: "a", Report: a}, {Name: "b", Report: bare}},
		"combine 0 reports":    {},
		"combine 1001 reports": make([]report.Part, 1001),
	} {
		if _, err := report.Combine(parts); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
