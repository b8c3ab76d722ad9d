package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// A gauge counts requests in flight at each moment, as a server sees them.
type gauge struct {
	mu               sync.Mutex
	now, most, ended int
}

// newGauge starts a server whose requests take some time each.
func newGauge(t *testing.T, takes time.Duration) (*gauge, string) {
	g := &gauge{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.now++
		g.most = max(g.most, g.now)
		g.mu.Unlock()
		select {
		case <-time.After(takes):
		case <-r.Context().Done(): // the worker was killed
		}
		g.mu.Lock() // before the answer, so the worker cannot have sent the next request yet
		g.now--
		g.ended++
		g.mu.Unlock()
	}))
	t.Cleanup(server.Close)
	return g, server.URL
}

// again begins a new count of the most, from what is in flight.
func (g *gauge) again() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most, g.ended = g.now, 0
}

// read returns how many are in flight, the most that were, and how many have ended, since again.
func (g *gauge) read() (now, most, ended int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now, g.most, g.ended
}

// keeps waits until those of before have ended and n requests are in flight, and checks that there are never more while many
// others end.
func (g *gauge) keeps(t *testing.T, why string, n int) {
	t.Helper()
	_, before, _ := g.read()
	g.again()
	await.True(t, "the end of requests of before", func() bool { _, _, ended := g.read(); return ended > 2*before })
	await.True(t, why, func() bool { now, _, _ := g.read(); return now == n })
	g.again()
	await.True(t, "requests after "+why, func() bool { _, _, ended := g.read(); return ended > 3*n })
	await.True(t, why+" again", func() bool { now, _, _ := g.read(); return now == n })
	if _, most, _ := g.read(); most != n {
		t.Errorf("%s: %d requests are in flight at once, want %d", why, most, n)
	}
}

// TestConcurrency: the whole fleet has as many requests in flight as --concurrency and set-rate say, and never more: with three
// workers, one that joins, one that is killed, one that leaves, and after changes.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	g, url := newGauge(t, 50*time.Millisecond)
	b := &bed{t: t, redis: redistest.Start(t)}
	args := []string{"--url", url, "--concurrency", "8", "--min-workers", "3", "--permit-for", "3s", "--no-check"}
	var ps []*process
	for _, id := range []string{"a", "b", "c"} {
		ps = append(ps, b.worker("x", append(args, "--id", id)...))
	}
	g.keeps(t, "three workers", 8)
	ps = append(ps, b.worker("x", append(args, "--id", "d")...))
	await.True(t, "the fourth", func() bool { return b.status("x").Members == 4 })
	g.keeps(t, "four workers", 8)
	b.loadctl("set-rate", "x", "c=16")
	g.keeps(t, "a higher number", 16)
	ps[2].signal(syscall.SIGKILL)
	<-ps[2].Exited
	await.True(t, "the end of its lease", func() bool { return b.status("x").Members == 3 })
	g.keeps(t, "a killed worker", 16)
	ps[3].signal(syscall.SIGTERM)
	ps[3].wait(105)
	g.keeps(t, "a worker that left", 16)
	b.loadctl("set-rate", "x", "c=3")
	g.keeps(t, "a lower number", 3)
	if s := b.status("x"); s.Concurrency != 3 || s.Rate != 0 || s.Asked != 0 {
		t.Errorf("%+v", s)
	}
	b.loadctl("stop", "x")
	for _, p := range ps[:2] {
		p.wait(0)
	}
	if r := b.report("x"); !r.ClosedLoop || fmt.Sprint(r.Concurrency) != "[8 16 3]" || r.Asked != 0 || r.TargetRate != 0 || r.Audit.Completed == 0 || r.Audit.LateDropped+r.Audit.Overrun != 0 {
		t.Errorf("%+v, %v in flight", r.Audit, r.Concurrency)
	}
}

// TestConcurrencyInStages: stages have the numbers that they say, the highest is reached and not exceeded, and the run ends with the
// last.
func TestConcurrencyInStages(t *testing.T) {
	t.Parallel()
	g, url := newGauge(t, 100*time.Millisecond)
	b := &bed{t: t, redis: redistest.Start(t)}
	args := []string{"--url", url, "--stage", "2s:c=2", "--stage", "2s:c=7", "--stage", "2s:c=3", "--min-workers", "2", "--no-check"}
	ps := []*process{b.worker("x", args...), b.worker("x", args...)}
	for _, p := range ps {
		p.wait(0)
	}
	if _, most, ended := g.read(); most != 7 || ended == 0 {
		t.Errorf("the most in flight are %d, of %d", most, ended)
	}
	r := b.report("x")
	if sent := int64(g.ended); r.Audit.Sent != sent || fmt.Sprint(r.Concurrency) != "[2 7 3]" || !r.Complete || len(r.Notes) != 1 {
		t.Errorf("%d arrived, %+v %q", sent, r.Audit, r.Notes)
	}
}

// TestMoreWorkersThanConcurrency: some workers wait, and say so.
func TestMoreWorkersThanConcurrency(t *testing.T) {
	t.Parallel()
	g, url := newGauge(t, 50*time.Millisecond)
	b := &bed{t: t, redis: redistest.Start(t)}
	args := []string{"--url", url, "--concurrency", "1", "--min-workers", "3", "--no-check"}
	ps := []*process{b.worker("x", args...), b.worker("x", args...), b.worker("x", args...)}
	g.keeps(t, "three workers", 1)
	await.True(t, "two workers that say that they wait", func() bool {
		waiting := 0
		for _, p := range ps {
			if strings.Contains(p.Stderr.String(), "waiting: the run has so few requests in flight that none is this worker's") {
				waiting++
			}
		}
		return waiting == 2
	})
	for _, p := range ps {
		p.signal(syscall.SIGTERM)
		p.wait(105)
		if b.status("x").Members > 0 {
			g.keeps(t, "a worker less", 1)
		}
	}
}
