package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// acceptance tells whether this is the acceptance run (make acceptance): full size, on a quiet machine, with bounds on
// time. In daily runs the same tests are small and check what holds on a busy machine too: counts, sums, states.
func acceptance() bool { return os.Getenv("LOADCTL_E2E") == "full" }

// scale returns the daily size or the size of the acceptance run.
func scale[T any](short, full T) T {
	if acceptance() {
		return full
	}
	return short
}

// besides lets a test run beside others, but not in the acceptance run: there it has the machine to itself. A test that
// says when requests arrive does not call it.
func besides(t *testing.T) {
	t.Helper()
	if !acceptance() {
		t.Parallel()
	}
}

// nightly leaves a test to make test-all.
func nightly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
}

// patient makes workers send late instead of dropping, so that counts are exact on a busy machine too.
func patient() []string {
	if acceptance() {
		return nil
	}
	return []string{"--catch-up", "20s", "--max-lag", "20s"}
}

func TestCountIsExact(t *testing.T) {
	besides(t)
	b := newBed(t)
	duration := scale("3s", "20s")
	seconds := scale[int64](3, 20)
	for _, c := range []struct {
		workers int
		args    []string
		want    int64
		within  int64
	}{
		{4, []string{"--qps", "4000", "--duration", duration}, 4000 * seconds, 0},
		{3, []string{"--qps", "1", "--duration", duration}, seconds, 0},
		{20, []string{"--qps", "50", "--duration", duration}, 50 * seconds, 0},
		{2, []string{"--qps", scale("3000", "20000"), "--duration", duration}, scale[int64](3000, 20_000) * seconds, 0},
		{2, fiveStages(), 2889, 0}, // 1.111 s · (50 + 200 + 300 + 1100 + 950) = 2888.6
		{3, []string{"--stage", scale("2s:2000", "10s:5000")}, scale[int64](2000, 25_000), 1},
		{2, []string{"--qps", "30/1m", "-n", "2"}, 2, 0},
	} {
		name := fmt.Sprintf("exact-%d-%d", c.workers, c.want)
		t.Run(name, func(t *testing.T) {
			b := &bed{t: t, redis: b.redis, web: b.web}
			b.web.Reset()
			for _, p := range b.fleet(c.workers, name, append(patient(), c.args...)...) {
				p.wait(0)
			}
			arrived := b.web.Count()
			r := b.report(name)
			if d := arrived - c.want; d < -c.within || d > c.within || r.Audit.Sent != arrived || r.Audit.Asked != arrived || !r.Complete {
				t.Errorf("%d arrived, want %d; %+v, complete %v %v", arrived, c.want, r.Audit, r.Complete, r.Notes)
			}
			if r.Audit.Completed != arrived || r.StatusCodes["200"] != arrived {
				t.Errorf("completed %d of %d, status %v, errors %v", r.Audit.Completed, arrived, r.StatusCodes, r.Errors)
			}
			var asked, sent int64
			for _, p := range r.Series {
				asked, sent = asked+p.Asked, sent+p.Sent
			}
			if asked != arrived || sent != arrived {
				t.Errorf("the series adds up to %d asked and %d sent of %d", asked, sent, arrived)
			}
			t.Logf("%d arrived, %d asked; lag p99 %v, max %v", arrived, c.want, time.Duration(r.Lag.P99), time.Duration(r.Lag.Max))
		})
	}
}

func fiveStages() []string {
	args := []string{"--qps", "0"}
	for _, rate := range []int{100, 300, 300, 1900, 0} {
		args = append(args, "--stage", fmt.Sprintf("1111ms:%d", rate))
	}
	return args
}
