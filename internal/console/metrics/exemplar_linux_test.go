package metrics

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/targets/trace"
)

// TestExemplarsInPrometheus: two real Prometheus with a store of exemplars, with native histograms and without, show the
// traces of slow requests. promtool takes the page that has them.
func TestExemplarsInPrometheus(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs Prometheus")
	}
	t.Parallel()
	b := newBed(t)
	scrapers := []*scraper{b.prometheus(true, "exemplar-storage"), b.prometheus(false, "exemplar-storage")}
	b.begin("loadworker", nil, "run", "--run", "traced", "--url", "http://"+b.target+"/", "--qps", "100", "--duration", "5m", "--trace")
	b.until("some requests", func() bool { return scrapers[0].now(`loadctl_requests_sent_total{run="traced"}`) > 50 })
	id := b.keep("traced")
	for _, p := range scrapers {
		b.until("its exemplar", func() bool {
			return p.exemplar(`loadctl_latency_seconds_bucket{run="traced"}`, id) || p.exemplar(`loadctl_latency_seconds{run="traced"}`, id)
		})
	}
	b.opensMetrics(id)
}

// keep stores a sample of a run, as a worker does, and returns its trace id.
func (b *bed) keep(name string) (traceID string) {
	b.Helper()
	r, err := run.Open(context.Background(), b.redis.Client(), name)
	if err != nil {
		b.Fatal(err)
	}
	rep, err := results.Report(context.Background(), r)
	if err != nil || rep.Described.Trace == nil {
		b.Fatalf("%+v, %v", rep.Described, err)
	}
	id := trace.New(rep.Described.Trace.Key).Text(7)
	s := samples.Sample{Ordinal: 7, Worker: "w", Due: time.Now(), Latency: int64(3 * time.Second), TraceID: id}
	if err := results.NewJournal(r, "w", "1").PublishSamples(context.Background(), samples.Set{Samples: []samples.Sample{s}}, 1, 1); err != nil {
		b.Fatal(err)
	}
	return id
}

// exemplar reports whether Prometheus has an exemplar of a series with this trace.
func (p *scraper) exemplar(series, traceID string) bool {
	p.Helper()
	text, err := p.get("http://"+p.address+"/api/v1/query_exemplars", url.Values{
		"query": {series}, "start": {time.Now().Add(-time.Hour).Format(time.RFC3339)}, "end": {time.Now().Add(time.Hour).Format(time.RFC3339)},
	})
	if err != nil {
		p.Fatal(err)
	}
	var answer struct {
		Data []struct {
			Exemplars []struct {
				Labels map[string]string
				Value  string
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		p.Fatal(err)
	}
	for _, s := range answer.Data {
		for _, e := range s.Exemplars {
			if e.Labels["trace_id"] == traceID && e.Value == "3" {
				return true
			}
		}
	}
	return false
}

// opensMetrics checks that promtool takes the page in OpenMetrics. It needs a time of each sample, which Prometheus itself adds.
func (b *bed) opensMetrics(traceID string) {
	b.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+b.ui+"/metrics", nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	page := string(text)
	if !strings.Contains(page, `# {trace_id="`+traceID+`"} 3.0 `) || !strings.HasSuffix(page, "\n# EOF\n") {
		b.Fatalf("no exemplar:\n%s", page)
	}
	stamped := regexp.MustCompile(`(?m)^([^#\s]\S* \S+)`).ReplaceAllString(page, "$1 1767323045")
	file := filepath.Join(b.TempDir(), "page")
	if err := os.WriteFile(file, []byte(stamped), 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", file, b.TempDir()).CombinedOutput(); err != nil {
		b.Errorf("promtool: %v\n%s", err, out)
	}
	wrong := strings.Replace(stamped, `# {trace_id="`, `# {trace_id=`, 1)
	if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
		b.Fatal(err)
	}
	if exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", file, b.TempDir()).Run() == nil {
		b.Error("promtool takes a wrong exemplar too: it proves nothing")
	}
}
