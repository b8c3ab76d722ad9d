package metrics

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
)

// asks starts a run of two workers that asks a real Prometheus how many requests it sees sent, and returns loadctl run.
func (b *bed) asks(name string, p *scraper, condition string) *child.Process {
	b.Helper()
	command := b.begin("loadctl", nil, "run", name, "--url", "http://"+b.target+"/", "--qps", "100", "--min-workers", "2", "-o", "json", "--prometheus", "http://"+p.address,
		"--query", `sent=loadctl_requests_sent_total{run="`+name+`"}`, "--query", "free=vector(-2.5)", "--query-stale", "10s", "--threshold", condition)
	for range 2 {
		b.begin("loadworker", nil, "run", "--run", name, "--wait", "--allow-hosts", b.target+","+p.address)
	}
	return command
}

// stopped returns the report of a run that its threshold has stopped.
func (b *bed) stopped(command *child.Process) (rep report.Report, stop report.Event) {
	b.Helper()
	rep = b.ended(command, 99)
	for _, e := range rep.Events {
		if e.Kind == "stop" {
			stop = e
		}
	}
	if c := rep.Thresholds[0]; c.Result != threshold.Failed || !strings.HasPrefix(stop.What, "threshold "+c.Threshold+" failed at second ") {
		b.Errorf("%+v, %+v", c, stop)
	}
	if len(rep.Queries) != 2 || rep.Queries[1].Min != -2.5 || rep.Queries[1].Max != -2.5 {
		b.Fatalf("%+v", rep.Queries)
	}
	return rep, stop
}

// lowered waits until the guard of a run has lowered its rate, stops it, and returns the report.
func (b *bed) lowered(name string, command *child.Process) (rep report.Report) {
	b.Helper()
	b.until("the guard of "+name+" to lower the rate", func() bool { return b.page()[`loadctl_plan_factor{run="`+name+`"}`] == 0.5 })
	if stderr, code := b.try(nil, "stop", name); code != 0 {
		b.Fatalf("stop %s: exit code %d: %s", name, code, stderr)
	}
	rep = b.ended(command, 99)
	if len(rep.Scalings) != 1 || rep.Scalings[0].What != report.Reduced || !strings.HasPrefix(rep.Scalings[0].Why, "threshold "+rep.Thresholds[0].Threshold+" failed at second ") {
		b.Errorf("%s: %+v", name, rep.Scalings)
	}
	return rep
}

// TestQueryOfPrometheus: a run is stopped, or its rate lowered, when a real Prometheus says that a limit is crossed, and once it
// is gone for --query-stale.
func TestQueryOfPrometheus(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs Prometheus")
	}
	t.Parallel()
	b := newBed(t)
	p := b.prometheus(false)
	crossed := b.asks("crossed", p, "query{sent}:value<=1500 over 10s abort after 1")
	blind := b.asks("blind", p, "query{sent}:value<1G over 10s abort after 1")
	slowed := b.asks("slowed", p, "query{sent}:value<=1500 over 10s reduce to 50% after 1")
	careful := b.asks("careful", p, "query{sent}:value<1G over 10s reduce to 50% after 1")
	rep, _ := b.stopped(crossed)
	if sent := rep.Queries[0]; sent.Max <= 1500 || sent.N < 3 || *rep.Thresholds[0].Value != sent.Max || rep.Sent < 1500 {
		t.Errorf("%+v of %d requests, %+v", sent, rep.Sent, rep.Thresholds[0])
	}
	if sent := b.lowered("slowed", slowed).Queries[0]; sent.Max <= 1500 {
		t.Errorf("%+v", sent)
	}
	b.until("an answer in the other run", func() bool { return b.page()[`loadctl_requests_sent_total{run="blind"}`] > 1000 })
	killed := time.Now()
	p.server.Kill()
	rep, stop := b.stopped(blind)
	if after := stop.At.Sub(killed); after < 3*time.Second || rep.Queries[0].N < 1 || rep.Queries[0].Missed < 2 { // the last answer was up to 7 s before
		t.Errorf("stopped %v after the Prometheus was killed: %+v", after, rep.Queries[0])
	}
	if text := rep.Thresholds[0].Text; !strings.HasPrefix(text, "no answer to the query for longer than --query-stale in seconds ") {
		t.Error(text)
	}
	if sent := b.lowered("careful", careful).Queries[0]; sent.Missed < 2 {
		t.Errorf("%+v", sent)
	}
	file := filepath.Join(t.TempDir(), "blind.html")
	if stderr, code := b.try(nil, "report", "blind", "--out", file); code != 99 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
