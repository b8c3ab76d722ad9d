package metrics

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// began is when the runs of these tests started.
var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// look returns a run that has sent n requests of 1 ms, and of which as many have failed as these classes say.
func look(name string, started time.Time, n int64, errors ...string) results.Look {
	total := record.NewSnapshot("w", "1")
	total.Counts = record.Counts{Sent: n, Completed: n - int64(len(errors)), Failed: int64(len(errors))}
	for range n {
		total.Latency.Record(int64(time.Millisecond))
	}
	rep := report.Build(report.Input{Run: name, StartedAt: started, Running: true, Budget: report.Budget{Issued: n},
		Workers: []report.WorkerInput{{ID: "w", Incarnation: "1", State: "active", Leased: n, Total: total}}})
	for _, class := range errors {
		rep.Errors[class]++
	}
	return results.Look{Progress: results.Progress{State: &run.State{Run: name, Phase: "running", StartedAt: started}}, Report: rep}
}

// sample returns the sample of the run with this name and these labels.
func sample(t *testing.T, all []Sample, name string, labels ...string) (found Sample, ok bool) {
	t.Helper()
	for _, s := range all {
		if s.Metric.Name == name && strings.Join(s.Labels, ",") == strings.Join(labels, ",") {
			return s, true
		}
	}
	return found, false
}

// TestNoCounterGoesBack: neither when the run comes to know less, nor when it was away; a run that started anew is
// another one.
func TestNoCounterGoesBack(t *testing.T) {
	var m Memory
	second := 0
	for _, step := range []struct {
		what  string
		after time.Duration
		looks []results.Look
		err   error
		want  int64 // sent, and values of the histogram; −1 = absent
		now   bool  // gauges are there
	}{
		{"first", 0, []results.Look{look("x", time.Time{}, 0)}, nil, 0, true},
		{"started", time.Second, []results.Look{look("x", began, 100)}, nil, 100, true},
		{"known to fewer", time.Second, []results.Look{look("x", began, 40)}, nil, 100, true},
		{"more", time.Second, []results.Look{look("x", began, 120)}, nil, 120, true},
		{"Redis silent", time.Hour, nil, errors.New("no answer"), 120, false},
		{"Redis empty", time.Second, nil, nil, 120, false},
		{"lost for long", 2 * time.Minute, nil, nil, -1, false},
		{"back", time.Second, []results.Look{look("x", began, 60)}, nil, 120, true},
		{"made up for", time.Second, []results.Look{look("x", began, 130)}, nil, 130, true},
		{"another run of this name", time.Second, []results.Look{look("x", began.Add(time.Minute), 5)}, nil, 5, true},
	} {
		second += int(step.after / time.Second)
		all := m.Read(step.looks, step.err, began.Add(time.Duration(second)*time.Second))
		sent, ok := sample(t, all, "loadctl_requests_sent_total", "x")
		latency, _ := sample(t, all, "loadctl_latency_seconds", "x")
		_, now := sample(t, all, "loadctl_rate_asked", "x")
		up, _ := sample(t, all, Up)
		switch {
		case ok != (step.want >= 0), now != step.now, up.Number != isTrue(step.err == nil).number:
			t.Errorf("%s: counters %v, gauges %v, up %g", step.what, ok, now, up.Number)
		case ok && (int64(sent.Number) != step.want || latency.Histogram.Count() != step.want):
			t.Errorf("%s: %g sent, %d latencies, want %d", step.what, sent.Number, latency.Histogram.Count(), step.want)
		}
	}
}

// TestBucketsNeverGoBack: neither do the classic ones, and none has more values than the whole histogram.
func TestBucketsNeverGoBack(t *testing.T) {
	of := func(all ...time.Duration) *Exponential {
		h := record.NewHistogram()
		for _, one := range all {
			h.Record(int64(one))
		}
		return FromRecord(h)
	}
	before, now := of(time.Millisecond, time.Second, time.Second), of(time.Microsecond, time.Minute)
	high := now.raise(before)
	for i, n := range high.AtMost {
		if n < before.AtMost[i] || n < now.AtMost[i] || i > 0 && n < high.AtMost[i-1] || n > high.Count() {
			t.Errorf("bucket %d of %v, before %v, now %v, %d in all", i, high.AtMost, before.AtMost, now.AtMost, high.Count())
		}
	}
}

// TestNativeOnly: in the text format a histogram has classic buckets, unless they are left out.
func TestNativeOnly(t *testing.T) {
	page := &Page{Source: func(context.Context) ([]results.Look, error) { return []results.Look{look("x", began, 20)}, nil }}
	const sum, all = `loadctl_latency_seconds_count{run="x"} 20`, `loadctl_latency_seconds_bucket{run="x",le="+Inf"} 20`
	below, above := `loadctl_latency_seconds_bucket{run="x",le="0.001"} 0`, `loadctl_latency_seconds_bucket{run="x",le="0.0025"} 20`
	text := served(t, page)
	for _, line := range []string{sum, all, below, above} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("%s is missing:\n%s", line, text)
		}
	}
	page.NativeOnly = true
	if text := served(t, page); !strings.Contains(text, "\n"+sum+"\n") || strings.Contains(text, `le="0.`) {
		t.Errorf("with classic buckets:\n%s", text)
	}
}

// TestHostileLabels: names of steps and classes of errors may be any text.
func TestHostileLabels(t *testing.T) {
	hostile := []string{"quote\" back\\slash\nline", "\xff\xfe", "{}", "\x1b[31m", "<script>"}
	l := look("x", began, 20, hostile...)
	for _, text := range hostile {
		l.Report.Steps = append(l.Report.Steps, report.StepReport{Name: text, Sent: 1})
	}
	page := scrape(t, func(context.Context) ([]results.Look, error) { return []results.Look{l}, nil })
	if n := strings.Count(page, "\nloadctl_errors_total{"); n != len(hostile) {
		t.Errorf("%d classes, want %d:\n%s", n, len(hostile), page)
	}
	if n := strings.Count(page, "\nloadctl_step_requests_sent_total{"); n != len(hostile) {
		t.Errorf("%d steps, want %d", n, len(hostile))
	}
}

// scrape returns the page of a source in the text format.
func scrape(t *testing.T, source Source) string {
	t.Helper()
	return served(t, &Page{Source: source})
}

// served returns the page in the text format.
func served(t *testing.T, page *Page) string {
	t.Helper()
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}
