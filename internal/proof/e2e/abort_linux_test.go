package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/doctor"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report/threshold"
)

// TestAbortNeedsNoLoadctl: three workers stop a run whose requests begin to fail, on a quiet machine within five seconds
// of the second failed window in a row. This works with every loadctl killed, and if the judging worker is killed just
// before the first request fails.
func TestAbortNeedsNoLoadctl(t *testing.T) {
	besides(t)
	for name, kill := range map[string]bool{"loadctl killed": false, "judge killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, web := newBed(t), serve(t, arrivals.Options{})
			var fleet []*process
			for _, id := range []string{"w1", "w2", "w3"} {
				fleet = append(fleet, b.worker("x", "--wait", "--allow-any", "--id", id))
			}
			conditions := []string{"errors:rate<10% over 1s abort after 2", "latency:p(50)<1h over 5s abort after 1"}
			if acceptance() { // a slow machine may send too little
				conditions = append(conditions, "rate:rate>200 over 2s abort after 2", "latency:p(50)<5s over 5s abort after 1")
			}
			control := b.operator(append([]string{"run", "x", "--url", web.URL(), "--qps", "300", "--min-workers", "3"}, thresholds(conditions...)...)...)
			await.True(t, "the run", func() bool { return web.Count() >= scale[int64](300, 900) })
			control.Kill()
			await.True(t, "more requests", func() bool { return web.Count() >= scale[int64](600, 1500) }) // nothing is wrong yet
			stopped := func() bool { return b.phase("x") == "stopped" }
			if stopped() {
				t.Fatal(b.loadctl("events", "x"))
			}
			if kill {
				judge := ""
				await.True(t, "a judge", func() bool {
					judge, _, _ = strings.Cut(b.redis.Client().Get(t.Context(), run.KeysOf("x").Judge).Val(), "/")
					return judge != ""
				})
				fleet[judge[1]-'1'].Kill()
				fleet = append(fleet[:judge[1]-'1'], fleet[judge[1]-'0':]...)
			}
			closed := time.Now()
			web.Close()
			await.True(t, "the stop", stopped)
			for _, p := range fleet {
				p.wait(99)
			}
			// A second fails if a tenth of its requests do. The condition is met when the second such second ends.
			judged, _, _ := b.judged("x")
			at, start := b.stoppedAt("x"), judged.StartedAt
			condition := start.Add((closed.Sub(start) + 100*time.Millisecond).Truncate(time.Second) + 2*time.Second)
			took := at.Sub(condition)
			t.Logf("the target was gone at %v, the condition was met at %v, the run was stopped %v later", closed.Sub(start), condition.Sub(start), took)
			if took < -time.Second || acceptance() && took > 5*time.Second {
				t.Errorf("stopped %v after the condition", took)
			}
			b.gate("x", 99).are(t, threshold.Failed, "errors:rate<10% over 1s abort after 2")
			if _, code, says := b.judged("x"); code != 99 || !strings.Contains(says, "errors:rate<10% over 1s abort after 2: 100.00 %") {
				t.Errorf("exit code %d: %s", code, says)
			}
			if events := b.loadctl("events", "x"); strings.Count(events, "  stop  ") != 1 || !strings.Contains(events, "threshold errors:rate<10% over 1s abort after 2 failed at second ") {
				t.Error(events)
			}
		})
	}
}

// stoppedAt returns when the run was stopped, by Redis' clock.
func (b *bed) stoppedAt(name string) time.Time {
	b.t.Helper()
	var events []run.Event
	if err := json.Unmarshal([]byte(b.loadctl("events", name, "-o", "json")), &events); err != nil {
		b.t.Fatal(err)
	}
	i := slices.IndexFunc(events, func(e run.Event) bool { return e.Kind == "stop" })
	if i < 0 {
		b.t.Fatalf("no stop in %v", events)
	}
	return events[i].At
}

// TestAbortNeedsProof: it is unknown what a killed worker had sent, so the rate may have been right. The warm-up aborts
// nothing either.
func TestAbortNeedsProof(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.web = serve(t, arrivals.Options{ErrorShare: 0.2})
	conditions := []string{"errors:rate<10% over 1s abort after 1"}
	if acceptance() { // a slow machine may send too little
		conditions = append(conditions, "rate:rate>290 over 1s abort after 1")
	}
	fleet := b.fleet(3, "x", append(thresholds(conditions...), "--qps", "300", "--warmup", "8s", "--permit-for", "2s")...)
	b.started(300)
	fleet[0].Cmd.Process.Signal(syscall.SIGKILL)
	await.True(t, "the stop", func() bool { return b.phase("x") == "stopped" })
	for _, p := range fleet[1:] {
		p.wait(99)
	}
	b.gate("x", 99).are(t, threshold.Failed, "errors:rate<10% over 1s abort after 1")
	events := b.loadctl("events", "x")
	second := -1
	if _, after, ok := strings.Cut(events, "threshold errors:rate<10% over 1s abort after 1 failed at second "); ok {
		fmt.Sscan(after, &second)
	}
	if second < 9 || acceptance() && second > 9 {
		t.Error(events)
	}
}

// TestNoAbortOfARateThatMayBeRight: a threshold `rate>250` does not fail while the share of a killed worker may still have
// been sent.
func TestNoAbortOfARateThatMayBeRight(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	const qps = 300
	// The two that remain send 200/s, which is below the limit. The third part may have been sent.
	args := append(thresholds("rate:rate>250 over 2s abort after 1"), "--qps", fmt.Sprint(qps), "--min-workers", "0", "--permit-for", scale("10m", "2s"))
	fleet := b.fleet(3, "x", append(unhurried(), args...)...)
	b.members("x", 3)
	fleet[0].Kill() // a slow machine may send less than the limit while all are there, so the run has not begun
	b.change("start", "x")
	await.True(t, "more seconds than the judge lags behind", func() bool { s := b.read("x"); return s.Asked >= 10*qps || s.Phase == "stopped" })
	if events := b.loadctl("events", "x"); strings.Contains(events, "threshold") {
		t.Error(events)
	}
	for _, p := range fleet[1:] {
		p.Kill() // a stop would wait for what the killed one may send
	}
}

// TestAbortElsewhere: with the least permissions of a worker, and with the embedded Redis.
func TestAbortElsewhere(t *testing.T) {
	nightly(t)
	t.Parallel()
	b, web := newBed(t), serve(t, arrivals.Options{ErrorShare: 1})
	args := append(thresholds("errors:rate<10% over 1s abort after 1"), "--url", web.URL(), "--qps", "100")
	alone := b.worker("alone", append(args, "--redis", "embedded:0")...)
	b.enter("worker", doctor.WorkerPermissions)
	b.worker("x", args...).wait(99)
	if refused := b.refused(); len(refused) > 0 {
		t.Errorf("refused: %q", refused)
	}
	alone.wait(99)
	if says := alone.Stderr.String(); !strings.Contains(says, "threshold errors:rate<10% over 1s abort after 1 failed at second ") {
		t.Error(says)
	}
}
