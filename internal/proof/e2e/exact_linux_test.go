package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/server/arrivals"
)

// acceptance reports whether this is the acceptance run (make acceptance): full size, on a quiet machine, with bounds
// on time. In daily runs the same tests are small and check what holds on a busy machine too: counts, sums, states.
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
		t.Skip("make test-all runs it: it stands for no promise of its own")
	}
}

// patient makes workers send late instead of dropping, so that counts are exact on a busy machine too.
func patient() []string {
	if acceptance() {
		return nil
	}
	return []string{"--catch-up", "20s", "--max-lag", "20s"}
}

// unhurried is patient without a bound that a slow machine can reach. It is not for runs with a killed worker: a stop
// waits that long for what such a worker may still send.
func unhurried() []string {
	if acceptance() {
		return nil
	}
	return []string{"--catch-up", "1h", "--max-lag", "1h", "--timeout", "1h"}
}

// TestCountIsExact: whatever the rate and the number of workers, as many requests arrive as were asked for, and all
// figures of the report agree.
func TestCountIsExact(t *testing.T) {
	besides(t)
	b := newBed(t)
	duration := scale("1s", "20s")
	seconds := scale[int64](1, 20)
	for _, c := range []struct {
		workers int
		args    []string
		want    int64
		within  int64
		nightly bool // its like is among the others
	}{
		{4, []string{"--qps", "4000", "--duration", duration}, 4000 * seconds, 0, false},
		{3, []string{"--qps", "1", "--duration", scale("3s", "20s")}, scale[int64](3, 20), 0, false},
		{scale(10, 20), []string{"--qps", "50", "--duration", duration}, 50 * seconds, 0, true},
		{2, []string{"--qps", scale("3000", "20000"), "--duration", scale("3s", "20s")}, scale[int64](9000, 400_000), 0, true},
		{2, fiveStages(), 2889, 0, true}, // 1.111 s · (50 + 200 + 300 + 1100 + 950) = 2888.6
		{3, []string{"--stage", scale("2s:2000", "10s:5000")}, scale[int64](2000, 25_000), 1, false},
		{2, []string{"--qps", "30/1m", "-n", "2"}, 2, 0, true},
	} {
		if c.nightly && testing.Short() {
			continue
		}
		name := fmt.Sprintf("exact-%d-%d", c.workers, c.want)
		t.Run(name, func(t *testing.T) {
			besides(t)
			b := &bed{t: t, redis: b.redis, web: serve(t, arrivals.Options{})}
			for _, p := range b.fleet(c.workers, name, append(unhurried(), c.args...)...) {
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
