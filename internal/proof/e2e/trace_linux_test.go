package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets/trace"
)

// startTraced is a server that keeps how often each trace context came.
func startTraced(t *testing.T) (url string, came *tally) {
	t.Helper()
	came = &tally{seen: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came.mu.Lock()
		defer came.mu.Unlock()
		came.seen[strings.Join(r.Header.Values(trace.Header), "+")]++
	}))
	t.Cleanup(server.Close)
	return server.URL + "/", came
}

// computed checks that each trace context that came can be computed from the report, and that each came once. of returns the
// requests of a worker.
func computed(t *testing.T, r report.Report, came *tally, key func(report.WorkerReport) string, of func(report.WorkerReport) int64) {
	t.Helper()
	const share = 10_000
	want, sampled := map[string]bool{}, 0
	for _, w := range r.Workers {
		for n := range uint64(of(w)) {
			want[string(trace.New(key(w)).Append(nil, n, 0, share))] = true
		}
	}
	for header, n := range came.seen {
		if !want[header] || n != 1 {
			t.Errorf("%d times %q, which cannot be computed: %v", n, header, !want[header])
		}
		if strings.HasSuffix(header, "-01") {
			sampled++
		}
	}
	if len(came.seen) != int(r.Sent) || r.Sent == 0 {
		t.Errorf("%d trace contexts, %d requests", len(came.seen), r.Sent)
	}
	if r.Described.Trace == nil || r.Described.Trace.Sampled != 0.01 || r.Described.TraceURL != "https://grafana.test/${trace_id}" {
		t.Errorf("%+v", r.Described)
	}
	t.Logf("%d of %d are sampled", sampled, r.Sent)
}

// TestTraceIDsFromTheReport: the ids that a fleet sends are those that a report gives: each ordinal of the run has one.
func TestTraceIDsFromTheReport(t *testing.T) {
	besides(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	url, came := startTraced(t)
	flags := []string{"--url", url, "--trace", "--trace-sampled", "1%", "--trace-url", "https://grafana.test/${trace_id}", "--min-workers", "2"}
	const n = 400
	for _, p := range []*process{b.worker("even", append(flags, "--qps", "400", "-n", "400")...), b.worker("even", append(flags, "--qps", "400", "-n", "400")...)} {
		p.wait(0)
	}
	r := b.report("even")
	first := r.Workers[0].ID
	computed(t, r, came, func(report.WorkerReport) string { return r.Described.Trace.Key }, func(w report.WorkerReport) int64 {
		if w.ID != first {
			return 0
		}
		return n
	})

	// In a closed loop each worker counts its own requests.
	url, came = startTraced(t)
	flags[1] = url
	flags = append(flags, "--qps", "max", "--duration", "1s", "--max-connections", "1")
	for _, p := range []*process{b.worker("loop", flags...), b.worker("loop", flags...)} {
		p.wait(0)
	}
	r = b.report("loop")
	computed(t, r, came, func(w report.WorkerReport) string { return trace.Key(r.Described.Trace.Key, w.ID) }, func(w report.WorkerReport) int64 { return w.Sent })
}
