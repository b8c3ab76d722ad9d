package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
)

var nan = math.NaN()

// flows has steps, and errors in one of them.
const flows = `base: http://TARGET
mix: {shop: 4, broken: 1}
flows:
  shop:
    - list: {get: /list}
    - pay: {get: /pay}
  broken:
    - broken: {get: /broken}
`

// run starts a run of flows, with thresholds and two workers. It returns loadctl run and the second worker.
func (b *bed) run(name string, env []string) (command, second *child.Process) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "flows.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(flows, "TARGET", b.target)), 0o600); err != nil {
		b.Fatal(err)
	}
	command = b.begin("loadctl", env, "run", name, "--workload", file, "--qps", "300", "--min-workers", "2",
		"--threshold", "errors:rate<90%", "--threshold", "latency:p(50)<1ms", "-o", "json")
	b.worker(name)
	return command, b.worker(name)
}

// worker starts a worker of a run that is created by somebody else.
func (b *bed) worker(name string) *child.Process {
	b.Helper()
	return b.begin("loadworker", nil, "run", "--run", name, "--wait", "--allow-any")
}

// ended waits for loadctl run, and returns its report.
func (b *bed) ended(command *child.Process, codes ...int) (rep report.Report) {
	b.Helper()
	if got := b.ends(command); !slices.Contains(codes, got) {
		b.Fatalf("exit code %d\n%s", got, command.Stderr.String())
	}
	if err := json.Unmarshal([]byte(command.Stdout.String()), &rep); err != nil {
		b.Fatal(err)
	}
	return rep
}

// TestPrometheus: two real Prometheus scrape a run of which a worker is killed, one with native histograms, and one without
// any setting. Both have what the report has.
func TestPrometheus(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs Prometheus")
	}
	b := newBed(t)
	p, plain := b.prometheus(true), b.prometheus(false)
	to := receive(t, http.StatusServiceUnavailable)
	from := time.Now()
	command, second := b.run("first", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + to.URL, "OTEL_METRIC_EXPORT_INTERVAL=1000"})
	secure := httptest.NewTLSServer(http.HandlerFunc(inLines))
	defer secure.Close()
	named := strings.Replace(secure.URL, "127.0.0.1", "localhost", 1) // its name is looked up, and each request opens a connection with TLS
	limited := b.begin("loadworker", nil, "run", "--run", "limited", "--url", named, "--stream", "lines", "--insecure", "--no-keep-alive", "--qps", "1000", "--duration", "6s", "--max-connections", "1")
	b.until("500 requests", func() bool { return p.now(`loadctl_requests_sent_total{run="first"}`) > 500 })
	second.Kill()
	b.until("its loss", func() bool { return p.now(`loadctl_workers{run="first",state="lost"}`) == 1 })
	b.until("some pushes", func() bool { return to.count() >= 8 })
	if stderr, code := b.try(nil, "stop", "first"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	rep := b.ended(command, 98, 99)
	if code := b.ends(limited); code != 0 {
		t.Fatalf("exit code %d\n%s", code, limited.Stderr.String())
	}
	for _, p := range []*scraper{p, plain} {
		b.until("the final report", func() bool {
			return p.now(`loadctl_requests_sent_total{run="first"}`) == float64(rep.Sent) && p.now(`sum(loadctl_run_phase{run="first",phase="stopped"})`) == 1
		})
	}
	until := time.Now()
	p.counts(rep)
	p.neverBack(from, until)
	p.quantiles(rep)
	plain.quantiles(rep)
	p.dashboard(from, until)
	plain.dashboard(from, until)
	checkExports(t, to, rep, b.histograms("first"))
	b.promtool()
	b.nativeOnly()
}

// inLines answers with two lines, one after the other.
func inLines(w http.ResponseWriter, _ *http.Request) {
	for range 2 {
		_, _ = io.WriteString(w, "line\n")
		http.NewResponseController(w).Flush()
	}
}

// counts compares counters with the report.
func (p *scraper) counts(rep report.Report) {
	p.Helper()
	if rep.Audit.Failed == 0 || rep.Audit.Followed == 0 || rep.Audit.Lost+rep.Audit.Skipped == 0 {
		p.Errorf("the run proves little: %+v", rep.Audit)
	}
	for query, want := range map[string]int64{
		"loadctl_requests_asked_total": rep.Asked, "loadctl_requests_ok_total": rep.Audit.Completed, "loadctl_requests_failed_total": rep.Audit.Failed,
		"loadctl_requests_followed_total": rep.Audit.Followed, "loadctl_received_bytes_total": rep.BytesIn, "loadctl_sent_bytes_total": rep.BytesOut,
		"sum(loadctl_errors_total{RUN})": rep.Audit.Failed, "sum(loadctl_step_requests_sent_total{RUN})": rep.Audit.Requests(),
		"sum(loadctl_step_requests_ok_total{RUN})": rep.Audit.Completed, "histogram_count(loadctl_latency_seconds{RUN})": rep.Audit.Completed + rep.Audit.Failed,
		`loadctl_audit_slots{RUN,term="lost"}`: rep.Audit.Lost, `loadctl_workers{RUN,state="lost"}`: 1,
	} {
		if !strings.Contains(query, "RUN") {
			query += "{RUN}"
		}
		if got := p.now(strings.ReplaceAll(query, "RUN", `run="first"`)); got != float64(want) {
			p.Errorf("%s is %g, want %d", query, got, want)
		}
	}
}

// neverBack checks that no counter has gone back or has a hole, in any second.
func (p *scraper) neverBack(from, until time.Time) {
	p.Helper()
	all := append(p.span(`{__name__=~"loadctl_.+_total"}`, from, until), p.span(`histogram_count({__name__="loadctl_latency_seconds"})`, from, until)...)
	found := map[string]bool{}
	for _, s := range all {
		found[s.Metric["__name__"]] = true
		for i, pair := range s.Values[1:] {
			before := s.Values[i]
			if float(pair) < float(before) || pair[0].(float64)-before[0].(float64) != 1 {
				p.Errorf("%v: after %v comes %v", s.Metric, before, pair)
			}
		}
		if last := s.Values[len(s.Values)-1][0].(float64); last < float64(until.Unix())-2 {
			p.Errorf("%v ends early", s.Metric)
		}
	}
	for _, m := range List() {
		if m.Kind == Counter && !found[m.Name] {
			p.Errorf("%s was not scraped", m.Name)
		}
	}
}

// histograms returns those of the report of a run.
func (b *bed) histograms(name string) *report.Histograms {
	b.Helper()
	r, err := run.Open(context.Background(), b.redis.Client(), name)
	if err != nil {
		b.Fatal(err)
	}
	rep, err := results.Report(context.Background(), r)
	if err != nil {
		b.Fatal(err)
	}
	return rep.Histograms
}

// quantiles compares histogram_quantile of the fleet with the report. A Prometheus has one kind of buckets, not both.
func (p *scraper) quantiles(rep report.Report) {
	p.Helper()
	h := p.histograms("first")
	own, other, check := "", "_bucket", near
	if !p.native {
		own, other, check = other, own, classic
	}
	ask := func(q float64, metric string) float64 {
		return p.now(fmt.Sprintf(`histogram_quantile(%g, %s{run="first"})`, q, metric))
	}
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		check(p.T, h.Latency, q, ask(q, "loadctl_latency_seconds"+own))
		check(p.T, h.Service, q, ask(q, "loadctl_service_time_seconds"+own))
		check(p.T, h.Lag, q, ask(q, "loadctl_lag_seconds"+own))
	}
	if all := p.ask("query", url.Values{"query": {"loadctl_latency_seconds" + other}}); len(all) > 0 {
		p.Errorf("native %v: it has loadctl_latency_seconds%s too", p.native, other)
	}
	p.Logf("native %v: p99 of latency: Prometheus %.2f ms, report %.2f ms", p.native, 1000*ask(0.99, "loadctl_latency_seconds"+own), float64(rep.Latency.P99)/1e6)
}

// dashboard checks that every query of the dashboard returns data, and those of the documentation that are for this kind of
// Prometheus.
func (p *scraper) dashboard(from, until time.Time) {
	p.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct {
				Expr    string
				Instant bool
			}
		}
	}
	text, err := os.ReadFile(dashboardFile)
	if err == nil {
		err = json.Unmarshal(text, &board)
	}
	if err != nil {
		p.Fatal(err)
	}
	queries := 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			queries++
			if strings.Contains(target.Expr, "loadctl_dns_seconds") { // a name is looked up once: that is no rate
				count := map[bool]string{true: `histogram_count(loadctl_dns_seconds{run="limited"})`, false: `loadctl_dns_seconds_count{run="limited"}`}[p.native]
				if n := p.now(count); !(n >= 1) {
					p.Errorf("%v lookups", n)
				}
				continue
			}
			query := strings.NewReplacer("$run", "first|limited", "$__rate_interval", "5s").Replace(target.Expr)
			if !hasData(p.span(query, from, until)) {
				p.Errorf("%s: no data: %s", panel.Title, query)
			}
			if target.Instant && !hasData(p.span(query, until, until)) {
				p.Errorf("%s: no data now: %s", panel.Title, query)
			}
		}
	}
	if queries < 30 {
		p.Errorf("%d queries", queries)
	}
	for _, query := range examples(p.T) {
		native, buckets := nativeQuery(query), strings.Contains(query, "_bucket")
		if native != buckets && native != p.native {
			continue
		}
		if !hasData(p.span(query, until, until)) {
			p.Errorf("docs/metrics.md: native %v: no data: %s", p.native, query)
		}
	}
}

// nativeQuery reports whether a query takes a whole histogram.
func nativeQuery(query string) bool {
	return regexp.MustCompile(`loadctl_\w*(latency|time|lag)_seconds[\[){]`).MatchString(query)
}

func hasData(all []series) bool {
	for _, s := range all {
		for _, pair := range s.Values {
			if !math.IsNaN(float(pair)) {
				return true
			}
		}
	}
	return false
}

// checkExports compares what loadctl run has pushed with its report: the last push, and that none went back.
func checkExports(t *testing.T, to *receiver, rep report.Report, h *report.Histograms) {
	t.Helper()
	to.mu.Lock()
	defer to.mu.Unlock()
	if len(to.taken) < 5 {
		t.Fatalf("%d pushes", len(to.taken))
	}
	var before int64
	for _, data := range to.taken {
		n := metric(t, data, "loadctl_requests_sent").GetSum().DataPoints[0].GetAsInt()
		if n < before {
			t.Errorf("after %d comes %d", before, n)
		}
		before = n
	}
	last := to.taken[len(to.taken)-1]
	for name, want := range map[string]int64{"loadctl_requests_sent": rep.Sent, "loadctl_requests_ok": rep.Audit.Completed, "loadctl_requests_failed": rep.Audit.Failed} {
		if got := metric(t, last, name).GetSum().DataPoints[0].GetAsInt(); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	point := metric(t, last, "loadctl_latency").GetExponentialHistogram().DataPoints[0]
	e := &Exponential{Buckets: map[int]int64{}}
	for i, n := range point.Positive.BucketCounts {
		e.Buckets[int(point.Positive.Offset)+i+1] = int64(n)
	}
	if e.Count() != h.Latency.Count() || math.Abs(point.GetSum()/float64(e.Count())*1e9/h.Latency.Mean()-1) > 1e-6 {
		t.Errorf("%d values, sum %g; want %d, mean %g ns", e.Count(), point.GetSum(), h.Latency.Count(), h.Latency.Mean())
	}
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		near(t, h.Latency, q, quantile(e, q))
	}
}

// promtool checks the page and the files of the example.
func (b *bed) promtool() {
	b.Helper()
	page, err := b.get("http://"+b.ui+"/metrics", nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "metrics"}, {"check", "config", "../../../examples/grafana/prometheus.yml"}, {"check", "rules", "../../../examples/grafana/rules.yml"},
	} {
		cmd := exec.Command("promtool", args...)
		cmd.Stdin = strings.NewReader(page)
		if out, err := cmd.CombinedOutput(); err != nil || args[1] == "metrics" && len(out) > 0 {
			b.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// nativeOnly checks that loadctl ui --native-only leaves the classic buckets out.
func (b *bed) nativeOnly() {
	b.Helper()
	listen := address(b.T)
	b.begin("loadctl", nil, "ui", "--listen", listen, "--native-only", "--session-key", filepath.Join(b.TempDir(), "key"))
	var page string
	b.until("loadctl ui --native-only", func() bool {
		text, err := b.get("http://"+listen+"/metrics", nil)
		page = text
		return err == nil && strings.Contains(page, "\nloadctl_latency_seconds_count{")
	})
	if strings.Contains(page, `le="0.`) {
		b.Errorf("with classic buckets:\n%s", page)
	}
}

// TestReceiverThatHangs: a receiver that never answers changes neither the report of a run nor its exit code. loadctl
// run prints one warning, without secrets.
func TestReceiverThatHangs(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	command := b.begin("loadctl", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://a:hunter2@" + l.Addr().String(), "OTEL_METRIC_EXPORT_INTERVAL=200"},
		"run", "hangs", "--url", "http://"+b.target+"/", "--qps", "50", "--duration", "3s", "--catch-up", "1h", "--max-lag", "1h", "-o", "json")
	b.worker("hangs")
	b.until("the report", func() bool { return strings.HasSuffix(command.Stdout.String(), "}\n") })
	printed := time.Now()
	rep := b.ended(command, 0)
	if took := time.Since(printed); took > 5*time.Second && os.Getenv("LOADCTL_E2E") == "full" {
		t.Errorf("loadctl run ended %v after its report", took)
	}
	if rep.Sent != 150 || rep.DurationS != 3 {
		t.Errorf("%d requests in %g s", rep.Sent, rep.DurationS)
	}
	if text := command.Stderr.String(); strings.Count(text, "warning: push metrics to 127.0.0.1:") != 1 || strings.Contains(text, "hunter2") {
		t.Error(text)
	}
	grpc := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://a", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}
	stderr, code := b.try(grpc, "run", "grpc", "--url", "http://a/", "--qps", "1")
	if code != 104 || !strings.Contains(stderr, "set it to http/protobuf") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// try runs loadctl to its end.
func (b *bed) try(env []string, args ...string) (stderr string, code int) {
	b.Helper()
	p := b.begin("loadctl", env, args...)
	code = b.ends(p)
	return p.Stderr.String(), code
}

// TestRedisRestartedEmpty: a worker is killed, and Redis forgets everything. No counter goes back, nor any bucket; the
// run continues on the page.
func TestRedisRestartedEmpty(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	worker := func() *child.Process { // only a worker that has the description can restore the run
		return b.begin("loadworker", nil, "run", "--run", "first", "--url", "http://"+b.target+"/", "--qps", "200", "--min-workers", "2")
	}
	first, second := worker(), worker()
	const sent = `loadctl_requests_sent_total{run="first"}`
	b.until("500 requests", func() bool { return b.page()[sent] > 500 })
	second.Kill()
	b.until("the loss", func() bool { return b.page()[`loadctl_workers{run="first",state="lost"}`] == 1 })
	before := b.page()
	b.redis.Kill()
	b.until("silence", func() bool { before = b.higher(before); return before[Up] == 0 })
	b.redis.Restart()
	lost := before[sent]
	b.until("the run to come back, and to count more", func() bool {
		before = b.higher(before)
		return before[Up] == 1 && before[sent] > lost
	})
	if first.Kill(); b.histograms("first").Latency.Count() >= int64(before[`loadctl_latency_seconds_count{run="first"}`]) {
		t.Error("Redis has forgotten nothing, so this test proves nothing")
	}
}

// page returns the samples of /metrics in the text format.
func (b *bed) page() map[string]float64 {
	b.Helper()
	text, err := b.get("http://"+b.ui+"/metrics", nil)
	if err != nil {
		b.Fatal(err)
	}
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok {
			all[name+"}"] = float([]any{0.0, value})
		} else if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			all[name] = float([]any{0.0, value})
		}
	}
	return all
}

// higher returns the page now, on which no counter may be lower than before, or be missing.
func (b *bed) higher(before map[string]float64) map[string]float64 {
	b.Helper()
	now := b.page()
	for name, n := range before {
		counter := strings.Contains(name, "_total") || strings.Contains(name, "_count") || strings.Contains(name, "_sum")
		if later, ok := now[name]; counter && (!ok || later < n) {
			b.Fatalf("%s was %g, and is %g (present: %v)", name, n, later, ok)
		}
	}
	return now
}
