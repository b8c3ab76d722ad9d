package metrics

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/loadctl/loadctl/internal/fleet/results"
)

// A receiver takes exports. It answers with the given statuses first, then with 200.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	requests []*http.Request
	taken    []*otlp.MetricsData
}

func receive(t *testing.T, statuses ...int) *receiver {
	r := &receiver{statuses: statuses}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests = append(r.requests, q)
		if len(r.statuses) > 0 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(r.statuses[0])
			r.statuses = r.statuses[1:]
			return
		}
		r.taken = append(r.taken, decode(t, q))
	}))
	t.Cleanup(r.Close)
	return r
}

// count returns how many exports were taken.
func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.taken)
}

// decode reads the body of an export. The request of the service has the same bytes as MetricsData.
func decode(t *testing.T, q *http.Request) *otlp.MetricsData {
	t.Helper()
	var data otlp.MetricsData
	unpacked, err := gzip.NewReader(q.Body)
	if err != nil {
		t.Error(err)
		return &data
	}
	body, err := io.ReadAll(unpacked)
	if err == nil {
		err = proto.Unmarshal(body, &data)
	}
	if err != nil {
		t.Error(err)
	}
	return &data
}

// metric returns a metric of an export.
func metric(t *testing.T, data *otlp.MetricsData, name string) *otlp.Metric {
	t.Helper()
	for _, r := range data.ResourceMetrics {
		for _, s := range r.ScopeMetrics {
			for _, m := range s.Metrics {
				if m.Name == name {
					return m
				}
			}
		}
	}
	t.Fatalf("there is no metric %s", name)
	return nil
}

// pusher returns a Push for an environment.
func pusher(t *testing.T, env map[string]string) *Push {
	t.Helper()
	p, err := NewPush(func(name string) string { return env[name] }, "v1")
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	return p
}

// TestPush: the last push has the run as it is, packed, with the headers and the attributes, after a 503.
func TestPush(t *testing.T) {
	to := receive(t, http.StatusServiceUnavailable, http.StatusTooManyRequests)
	p := pusher(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL + "/base/", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%2Cb, y=z",
		"OTEL_RESOURCE_ATTRIBUTES": "team=shop", "OTEL_SERVICE_NAME": "checkout"})
	l := look("x", began, 100, "status 500")
	last := p.Start(func(context.Context) ([]results.Look, error) { return []results.Look{l}, nil }, nil)
	if err := last(); err != nil {
		t.Fatal(err)
	}
	if len(to.requests) != 3 || len(to.taken) != 1 {
		t.Fatalf("%d requests, %d taken", len(to.requests), len(to.taken))
	}
	q := to.requests[2]
	if q.URL.Path != "/base/v1/metrics" || q.Header.Get("X-Key") != "a,b" || q.Header.Get("Y") != "z" || q.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s %v", q.URL, q.Header)
	}
	if text := to.taken[0].ResourceMetrics[0].Resource.String(); !strings.Contains(text, "checkout") || !strings.Contains(text, "shop") {
		t.Error(text)
	}
	sent := metric(t, to.taken[0], "loadctl_requests_sent").GetSum()
	if n := sent.DataPoints[0]; !sent.IsMonotonic || n.GetAsInt() != 100 || n.StartTimeUnixNano != uint64(began.UnixNano()) {
		t.Error(sent)
	}
	h := metric(t, to.taken[0], "loadctl_latency").GetExponentialHistogram().DataPoints[0]
	if h.Count != 100 || h.Scale != 5 {
		t.Error(h)
	}
	e := &Exponential{Buckets: map[int]int64{}}
	for i, n := range h.Positive.BucketCounts {
		e.Buckets[int(h.Positive.Offset)+i+1] = int64(n)
	}
	for _, quant := range []float64{0.5, 0.9, 0.99, 0.999} {
		near(t, l.Report.Histograms.Latency, quant, quantile(e, quant))
	}
}

// TestPushThatHangs: a receiver that never answers costs three seconds at the end, and a warning without secrets.
func TestPushThatHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := pusher(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://user:hunter2@" + l.Addr().String() + "/hunter3", "OTEL_METRIC_EXPORT_INTERVAL": "10"})
	last := p.Start(func(context.Context) ([]results.Look, error) { return nil, nil }, nil)
	started := time.Now()
	err = last() // it ends
	if took := time.Since(started); took > lastPush+2*time.Second && os.Getenv("LOADCTL_E2E") == "full" {
		t.Errorf("the end took %v", took)
	}
	if err == nil || strings.Contains(err.Error(), "hunter") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

// TestPushRefused: a status that a repetition does not help, a redirect among them, ends the push at once.
func TestPushRefused(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusTemporaryRedirect, http.StatusUnauthorized} {
		to := receive(t, status)
		p := pusher(t, map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": to.URL})
		err := p.Start(func(context.Context) ([]results.Look, error) { return nil, nil }, nil)()
		if err == nil || len(to.requests) != 1 {
			t.Errorf("%d: %v after %d requests", status, err, len(to.requests))
		}
	}
}

// TestPartlyRefused: the receiver says how many samples it did not take.
func TestPartlyRefused(t *testing.T) {
	if err := partly([]byte{0x0a, 2, 0x08, 7}); err == nil || !strings.Contains(err.Error(), "7 samples") {
		t.Error(err)
	}
	for _, fine := range [][]byte{nil, {0x0a, 0}, {0x0a, 2, 0x08, 0}, {0xff}, []byte("{}")} {
		if err := partly(fine); err != nil {
			t.Errorf("%v: %v", fine, err)
		}
	}
}

// TestPushEnvironment: wrong variables are errors that name them and show no value that may be secret.
func TestPushEnvironment(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, wrong := range []map[string]string{
		{endpoint: "hunter2"}, {endpoint: "grpc://a:4317"}, {endpoint: "http://a", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
		{endpoint: "http://a", "OTEL_EXPORTER_OTLP_HEADERS": "hunter2"}, {endpoint: "http://a", "OTEL_RESOURCE_ATTRIBUTES": "=x"},
		{endpoint: "http://a", "OTEL_METRIC_EXPORT_INTERVAL": "10s"}, {endpoint: "http://a", "OTEL_EXPORTER_OTLP_TIMEOUT": "-1"},
	} {
		_, err := NewPush(func(name string) string { return wrong[name] }, "v1")
		if err == nil || !strings.Contains(err.Error(), "OTEL_") || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	for _, off := range []map[string]string{{}, {endpoint: "http://a", "OTEL_SDK_DISABLED": "true"}, {endpoint: "http://a", "OTEL_METRICS_EXPORTER": "none"}} {
		if p, err := NewPush(func(name string) string { return off[name] }, "v1"); p != nil || err != nil {
			t.Errorf("%v: %v, %v", off, p, err)
		}
	}
}
