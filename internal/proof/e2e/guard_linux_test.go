package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
)

// weak is a server that serves so many requests in each second of the clock, and answers 503 to all others.
type weak struct {
	sync.Mutex
	capacity, served, arrived int64
	second                    int64
}

func (w *weak) ServeHTTP(out http.ResponseWriter, _ *http.Request) {
	w.Lock()
	defer w.Unlock()
	if now := time.Now().Unix(); now != w.second {
		w.second, w.served = now, 0
	}
	w.arrived++
	if w.served++; w.served > w.capacity {
		out.WriteHeader(http.StatusServiceUnavailable)
	}
}

// serves makes it serve so many requests a second.
func (w *weak) serves(capacity int64) {
	w.Lock()
	defer w.Unlock()
	w.capacity = capacity
}

// count returns how many requests have arrived.
func (w *weak) count() int64 {
	w.Lock()
	defer w.Unlock()
	return w.arrived
}

// weakServer starts one.
func weakServer(t *testing.T, capacity int64) (w *weak, url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w = &weak{capacity: capacity}
	server := &http.Server{Handler: w}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return w, "http://" + listener.Addr().String()
}

// eventsOf returns the events of a run; none before there is one.
func (b *bed) eventsOf(name string) (all []run.Event) {
	b.t.Helper()
	if out, says, code := b.try("events", name, "-o", "json"); code == 0 {
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			b.t.Fatal(err, says)
		}
	}
	return all
}

// steps returns the steps of the guards of a run, as its events name them: "60 % of the plan, threshold …".
func (b *bed) steps(name string) (all []string) {
	b.t.Helper()
	for _, e := range b.eventsOf(name) {
		if e.Kind == "scale" {
			all = append(all, e.What)
		}
	}
	return all
}

// stepped waits for a step that begins so, after the first n ones.
func (b *bed) stepped(name string, n int, begin string) {
	b.t.Helper()
	await.True(b.t, "the step to "+begin, func() bool {
		all := b.steps(name)
		for _, what := range all[min(n, len(all)):] {
			if strings.HasPrefix(what, begin) {
				return true
			}
		}
		return false
	})
}

// lead returns the worker that judges a run.
func (b *bed) lead(name string) (id string) {
	b.t.Helper()
	await.True(b.t, "a judge", func() bool {
		id, _, _ = strings.Cut(b.redis.Client().Get(b.t.Context(), run.KeysOf(name).Judge).Val(), "/")
		return id != ""
	})
	return id
}

// TestGuardNeedsNoLoadctl: three workers send 2,000/s to a server that can take 1,000/s. They step down until it can take what
// they send, although every loadctl is killed, and so are two workers, each while it judges.
func TestGuardNeedsNoLoadctl(t *testing.T) {
	besides(t)
	b := newBed(t)
	server, url := weakServer(t, 1000)
	fleet := map[string]*process{}
	for _, id := range []string{"w1", "w2", "w3"} {
		fleet[id] = b.worker("x", "--wait", "--allow-any", "--id", id)
	}
	const guard = "errors:rate<1% over 1s reduce by 40% after 1"
	control := b.operator(append(thresholds(guard), "run", "x", "--url", url, "--qps", "2000", "--min-workers", "3", "--timeout", "900ms", "--permit-for", "2s")...)
	await.True(t, "the run", func() bool { return server.count() > 0 })
	control.Kill()
	for i, share := range []string{"60 %", "36 %"} {
		judge := b.lead("x")
		fleet[judge].Kill()
		delete(fleet, judge)
		b.stepped("x", i, share+" of the plan, threshold "+guard+" failed at second ")
	}
	was := server.count()
	await.True(t, "some seconds without a step", func() bool { return server.count() >= was+5*720 })
	if all := b.steps("x"); len(all) != 2 && (acceptance() || len(all) != 3) { // a slow machine sends late, all at once
		t.Errorf("%d steps: %q", len(all), all)
	}
	b.loadctl("stop", "x")
	r, code, says := b.judged("x")
	if err := r.CheckAudit(); err != nil || code != 99 || !strings.Contains(says, guard) {
		t.Errorf("exit code %d, %v: %s", code, err, says)
	}
}

// TestGuardFollowsTheServer: the fleet steps down to what a server can take, and up again when that doubles. set-rate ends
// the factor. The report, its files and the events say each step and why. The audit goes by the rates in force.
func TestGuardFollowsTheServer(t *testing.T) {
	besides(t)
	b := newBed(t)
	server, url := weakServer(t, 800)
	const guard = "errors:rate<1% over 1s reduce by 40% after 1 restore after 3s"
	worker := b.worker("x", append(thresholds(guard), "--url", url, "--qps", "2000", "--timeout", "900ms", "--id", "w1")...)
	b.stepped("x", 0, "60 %")
	b.stepped("x", 1, "36 %")
	await.True(t, "the rate", func() bool { s := b.status("x"); return s.Factor == 0.36 && s.Rate == 720 })
	server.serves(1600)
	b.stepped("x", 2, "60 % of the plan, all guards held for ")
	b.loadctl("set-rate", "x", "500")
	await.True(t, "the rate", func() bool { s := b.status("x"); return s.Rate == 500 && s.Factor == 0 })
	b.loadctl("stop", "x")
	worker.wait(99)

	r, code, says := b.judged("x")
	if err := r.CheckAudit(); err != nil || !r.Complete || code != 99 {
		t.Errorf("exit code %d, complete %v, %v: %s", code, r.Complete, err, says)
	}
	b.scaled(r, guard)
	files := b.gate("x", 99)
	files.are(t, threshold.Failed, "reduced", guard)
	if _, says, code := b.try("report", "x", "--guard-ok", "-o", "json"); code != unless(r, 0) {
		t.Errorf("with --guard-ok: exit code %d: %s", code, says)
	}
	text := b.loadctlFails(99, "report", "x")
	for _, want := range []string{", less than its plan, see the notes", "guards reduced it ", "; it lowered the rate "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	archive := filepath.Join(t.TempDir(), "x.loadctl")
	b.loadctlFails(99, "report", "x", "--out", archive)
	var again report.Report
	out, _, _ := b.try("report", archive, "-o", "json")
	if err := json.Unmarshal([]byte(out), &again); err != nil || len(again.Scalings) != len(r.Scalings) {
		t.Errorf("the archive has %d steps, %v", len(again.Scalings), err)
	}
}

// TestGuardSettles: within 30 s a fleet of 2,000/s is at what a server of 800/s can take, or up to a fifth below, and stays there.
func TestGuardSettles(t *testing.T) {
	if !acceptance() {
		t.Skip("make acceptance runs it: it measures time, and stands for no other promise")
	}
	b := newBed(t)
	server, url := weakServer(t, 800)
	const guard = "errors:rate<1% over 1s reduce by 20% after 1"
	for range 3 {
		b.worker("x", append(thresholds(guard), "--url", url, "--qps", "2000", "--min-workers", "3", "--timeout", "900ms")...)
	}
	await.True(t, "the run", func() bool { return server.count() > 0 })
	began := time.Now()
	await.True(t, "a rate that the server can take", func() bool { return b.status("x").Rate <= 800 })
	took, steps := time.Since(began), len(b.steps("x"))
	time.Sleep(20 * time.Second)
	if rate := b.status("x").Rate; took > 30*time.Second || rate < 640 || len(b.steps("x")) != steps {
		t.Errorf("after %v and %d steps it is at %v/s, %d steps later", took, steps, rate, len(b.steps("x"))-steps)
	}
	t.Logf("%v and %d steps to %v/s", took, steps, b.status("x").Rate)
	b.loadctl("stop", "x")
	r, _, _ := b.judged("x")
	if err := r.CheckAudit(); err != nil {
		t.Error(err)
	}
}

// scaled checks that a report has these steps, among others: down twice, up, and set.
func (b *bed) scaled(r report.Report, guard string) {
	b.t.Helper()
	want := []struct {
		what, why string
		factor    float64
	}{{report.Reduced, "threshold " + guard + " failed at second ", 0.6}, {report.Reduced, "threshold " + guard + " failed at second ", 0.36}, {report.Restored, "all guards held for ", 0.6}}
	found := 0
	for _, x := range r.Scalings { // a slow machine needs more of them
		if found < len(want) && x.What == want[found].what && x.Factor == want[found].factor && strings.HasPrefix(x.Why, want[found].why) {
			found++
		}
	}
	if found < len(want) {
		b.t.Fatalf("%+v is missing in %+v", want[found], r.Scalings)
	}
	if !strings.Contains(r.Scalings[0].Why, " %") {
		b.t.Errorf("the measured value is missing: %q", r.Scalings[0].Why)
	}
	if last := r.Scalings[len(r.Scalings)-1]; last.What != "set" || last.Factor != 1 {
		b.t.Errorf("the last one is %+v", last)
	}
	if r.ScaledS <= 0 || r.ScaledS >= r.DurationS {
		b.t.Errorf("less than the plan for %v s of %v", r.ScaledS, r.DurationS)
	}
	asked := int64(0)
	for _, s := range r.Series {
		asked += s.Asked
	}
	if asked != r.Asked || r.Asked >= int64(2000*r.DurationS) {
		b.t.Errorf("asked %d, in the series %d, in %v s", r.Asked, asked, r.DurationS)
	}
}

// loadctlFails is loadctl of a command that must end with this exit code.
func (b *bed) loadctlFails(want int, args ...string) string {
	b.t.Helper()
	out, says, code := b.try(args...)
	if code != want {
		b.t.Fatalf("exit code %d, want %d: %s", code, want, says)
	}
	return out
}
