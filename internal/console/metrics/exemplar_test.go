package metrics

import (
	"context"
	"fmt"
	"math"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/targets/trace"
)

// traceID returns that of a request of a run.
func traceID(n uint64) string { return trace.New("uid").Text(n) }

// slow returns a sample that was due so many seconds after the begin.
func slow(n uint64, second int, latency time.Duration) samples.Sample {
	return samples.Sample{Ordinal: n, Due: began.Add(time.Duration(second) * time.Second), Latency: int64(latency), TraceID: traceID(n)}
}

// TestExemplars: each bucket has its newest sample with a trace; a bound belongs to the bucket below it.
func TestExemplars(t *testing.T) {
	untraced, wrong, other := slow(9, 90, time.Millisecond), slow(9, 90, time.Millisecond), slow(5, 50, 3*time.Millisecond)
	untraced.TraceID, wrong.TraceID, other.Step = "", "x\"} 1\n", "pay"
	all := []samples.Sample{slow(1, 1, time.Millisecond), slow(3, 3, time.Millisecond), slow(2, 2, time.Millisecond), slow(4, 4, 2*time.Minute), untraced, wrong, other}
	for step, want := range map[string]map[int]uint64{"": {3: 3, 5: 5, 18: 4}, "pay": {5: 5}} {
		got := exemplars(all, step)
		for i, e := range got {
			if n, is := want[i]; is != (e.TraceID != "") || is && e.TraceID != traceID(n) {
				t.Errorf("%s: bucket %d has %+v, want that of %d", step, i, e, n)
			}
		}
		if len(got) != len(Bounds())+1 {
			t.Errorf("%s: %d buckets", step, len(got))
		}
	}
	if got := exemplars(all[4:6], ""); got != nil {
		t.Errorf("without traces: %v", got)
	}
	if e := exemplars(all, "")[18]; e.Seconds != 120 || !e.At.Equal(began.Add(4*time.Second+2*time.Minute)) {
		t.Errorf("%+v", e)
	}
}

// TestExemplarsNeverGoBack: Prometheus refuses one that is older than the last one.
func TestExemplarsNeverGoBack(t *testing.T) {
	var m Memory
	for i, step := range []struct {
		of   []samples.Sample
		want uint64
	}{
		{[]samples.Sample{slow(5, 5, time.Millisecond)}, 5},
		{[]samples.Sample{slow(4, 4, time.Millisecond)}, 5}, // it pushed 5 out
		{nil, 5},
		{[]samples.Sample{slow(6, 6, time.Millisecond)}, 6},
	} {
		l := look("x", began, 10)
		l.Report.Samples = step.of
		s, _ := sample(t, m.Read([]results.Look{l}, nil, began.Add(time.Duration(i)*time.Second)), "loadctl_latency_seconds", "x")
		if got := s.Histogram.Exemplars[3].TraceID; got != traceID(step.want) {
			t.Errorf("%d: %s, want that of %d", i, got, step.want)
		}
	}
}

// page returns what the page answers a client that accepts a format.
func page(t *testing.T, accept string, nativeOnly bool) (kind, text string) {
	t.Helper()
	l := look("x", began, 10)
	l.Report.Samples = []samples.Sample{slow(1, 1, time.Millisecond), slow(2, 2, 2*time.Minute)}
	p := &Page{Source: func(context.Context) ([]results.Look, error) { return []results.Look{l}, nil }, NativeOnly: nativeOnly}
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", accept)
	p.ServeHTTP(w, r)
	return w.Header().Get("Content-Type"), w.Body.String()
}

// TestFormats: who accepts OpenMetrics gets exemplars. All others get the text without them, as before.
func TestFormats(t *testing.T) {
	const open = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	kind, text := page(t, open, false)
	want := fmt.Sprintf("loadctl_latency_seconds_bucket{run=%q,le=\"0.001\"} 0 # {trace_id=%q} 0.001 1.767323046001e+09\n", "x", traceID(1))
	if !strings.HasPrefix(kind, "application/openmetrics-text") || !strings.HasSuffix(text, "\n# EOF\n") || !strings.Contains(text, "\n"+want) ||
		!regexp.MustCompile(`loadctl_latency_seconds_bucket\{run="x",le="\+Inf"\} 10 # \{trace_id="`+traceID(2)+`"\} 120`).MatchString(text) ||
		!strings.Contains(text, "# TYPE loadctl_requests_sent counter\n") || !strings.Contains(text, "\nloadctl_requests_sent_total{") {
		t.Errorf("%s: no %s in\n%s", kind, want, text)
	}
	for _, accept := range []string{"", "*/*", "text/plain", "text/plain;version=0.0.4"} {
		if kind, text := page(t, accept, false); !strings.HasPrefix(kind, "text/plain; version=0.0.4") || strings.Contains(text, "trace_id") || strings.Contains(text, "EOF") {
			t.Errorf("%q: %s\n%s", accept, kind, text)
		}
	}
	if _, text := page(t, open, true); strings.Contains(text, `le="0.001"`) {
		t.Errorf("with classic buckets:\n%s", text)
	}
}

// TestNativeExemplars: without classic buckets exemplars are those of the whole histogram.
func TestNativeExemplars(t *testing.T) {
	all := exemplars([]samples.Sample{slow(1, 1, time.Millisecond), slow(2, 2, 2*time.Minute)}, "")
	bare := &dto.Histogram{SampleCount: new(uint64(2))}
	exemplify(bare, all)
	if len(bare.Exemplars) != 2 || len(bare.Bucket) > 0 {
		t.Errorf("%v", bare)
	}
	classic := &dto.Histogram{SampleCount: new(uint64(2))}
	for _, bound := range Bounds() {
		classic.Bucket = append(classic.Bucket, &dto.Bucket{UpperBound: new(bound)})
	}
	exemplify(classic, all)
	has := func(b *dto.Bucket) bool { return b.Exemplar != nil }
	if i := slices.IndexFunc(classic.Bucket, has); i != 3 || len(classic.Bucket) != 19 || !has(classic.Bucket[18]) || classic.Bucket[18].GetUpperBound() != math.Inf(1) {
		t.Errorf("%v", classic)
	}
}

// TestExemplarOfANativeHistogram: it is the slowest of the newest 15 s, so its time never goes back while requests get slower.
func TestExemplarOfANativeHistogram(t *testing.T) {
	at := func(second int64, seconds float64) Exemplar {
		return Exemplar{TraceID: "x", Seconds: seconds, At: time.Unix(second, 0)}
	}
	for _, c := range []struct {
		all  []Exemplar
		want int
	}{
		{[]Exemplar{at(30, 1), at(44, 2), at(31, 3)}, 2}, {[]Exemplar{at(45, 1), at(44, 9)}, 0}, {[]Exemplar{{}, at(44, 9), {}}, 1},
	} {
		for i, e := range slowestOf(c.all) {
			if (e.TraceID != "") != (i == c.want) {
				t.Errorf("%v: %v", c.all, e)
			}
		}
	}
	if one := slowestOf(nil); len(one) != 0 {
		t.Error(one)
	}
}
