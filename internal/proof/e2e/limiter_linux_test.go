package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/evenness"
	"github.com/loadctl/loadctl/report"
)

// limiterCase is a run of two workers with a limiter, at 500/s.
type limiterCase struct {
	args   []string
	extra  int64 // at most R·W + extra are granted in any time W
	within int64 // how many of the slots asked for may be ungranted
}

const limitedRate = 500

func limiterCases() map[string]limiterCase {
	const window, half, percent = limitedRate, limitedRate / 2, 25
	return map[string]limiterCase{
		"fixed-window":    {[]string{"--limiter", "fixed-window"}, 2 * window, window},
		"expire-nx":       {[]string{"--limiter", "fixed-window", "--expire", "nx", "--window", "500ms"}, window, window / 2},
		"sliding-log":     {[]string{"--limiter", "sliding-log"}, window, window},
		"sliding-list":    {[]string{"--limiter", "sliding-list"}, window, window},
		"sliding-window":  {[]string{"--limiter", "sliding-window"}, window * 12 / 10, window},
		"leaky-bucket":    {[]string{"--limiter", "leaky-bucket"}, half, percent},
		"token-bucket":    {[]string{"--limiter", "token-bucket"}, half, percent},
		"debt":            {[]string{"--limiter", "token-bucket", "--debt", "--burst", "50"}, 50 + half, percent},
		"gcra":            {[]string{"--limiter", "gcra", "--burst", "100"}, 100, percent},
		"together":        {[]string{"--limiter", "token-bucket", "--spread=false"}, half, percent},
		"together-window": {[]string{"--limiter", "sliding-log", "--spread=false"}, window, window},
	}
}

// horizon is how long before its due time a slot may be granted. A worker on a quiet machine may be late by as much
// again.
const horizon = time.Second

// bounded checks that no window has more arrivals than the limiter allows. A slot is granted at most horizon before it
// is due, and arrives within its latency. So grants of a time W arrive in
//
//	W + horizon + largest latency
func (b *bed) bounded(r report.Report, extra int64) {
	b.t.Helper()
	times, late := b.web.Arrivals(), time.Duration(r.Latency.Max)
	if acceptance() {
		late = 0
	}
	for w := 10 * time.Millisecond; w <= 2*time.Second; w = w * 3 / 2 {
		bound := extra + int64(limitedRate*(w+horizon+late).Seconds())
		if got := int64(evenness.MaxInWindow(times, w)); got > bound {
			b.t.Errorf("%d arrived within %v, at most %d may", got, w, bound)
		}
	}
}

// TestLimiters: each limiter lets the rate of a run pass, and no more than it promises. How much of what was asked for
// it lets pass in time is a question of time, and belongs to a quiet machine.
func TestLimiters(t *testing.T) {
	besides(t)
	for name, c := range limiterCases() {
		if testing.Short() && name != "token-bucket" && name != "together-window" {
			continue // make test-all has them all
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			ps := b.fleet(2, name, slices.Concat(steadfast(), []string{"--qps", fmt.Sprint(limitedRate), "--duration", scale("0s", "5s")}, c.args)...)
			if !acceptance() {
				await.True(t, "requests of both workers", func() bool {
					r := b.soFar(name)
					return r.Audit.Sent > 3*limitedRate/2 && len(r.Workers) == 2 && min(r.Workers[0].Sent, r.Workers[1].Sent) >= limitedRate/4
				})
				b.loadctl("stop", name)
			}
			for _, p := range ps {
				p.wait(0)
			}
			r, arrived := b.report(name), b.web.Count()
			if arrived != written(r) || !r.Complete || r.Audit.Skipped > 0 {
				t.Errorf("%d arrived; %+v, complete %v %v", arrived, r.Audit, r.Complete, r.Notes)
			}
			if arrived > r.Asked+r.Audit.Overrun {
				t.Errorf("%d of %d asked for arrived; %+v", arrived, r.Asked, r.Audit)
			}
			if !strings.HasPrefix(r.Limiter, c.args[1]) {
				t.Errorf("the report names the limiter %q", r.Limiter)
			}
			if acceptance() {
				b.wholly(r, 5*limitedRate, c.within)
			}
			b.bounded(r, c.extra)
			t.Logf("%d arrived, %d ungranted; most in 10 ms: %d", arrived, r.Audit.Ungranted, evenness.MaxInWindow(b.web.Arrivals(), 10*time.Millisecond))
		})
	}
}

// wholly checks that nearly all that was asked for was granted in time, and that both workers sent their part.
func (b *bed) wholly(r report.Report, asked, within int64) {
	b.t.Helper()
	if d := b.web.Count() - asked; d > 0 || d < -within || r.Asked != asked || r.Audit.Ungranted > within {
		b.t.Errorf("%d of %d asked for arrived; %+v", b.web.Count(), r.Asked, r.Audit)
	}
	for _, w := range r.Workers {
		if w.Sent < asked/10 {
			b.t.Errorf("worker %s sent %d of %d", w.ID, w.Sent, asked)
		}
	}
}

// TestLimiterLive: burst, rate and pauses change while the run goes on.
func TestLimiterLive(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	ps := b.fleet(2, "live", append(steadfast(), "--qps", fmt.Sprint(limitedRate), "--limiter", "token-bucket", "--burst", "100")...)
	b.started(200)
	b.change("pause", "live")
	b.change("resume", "live")
	if c := b.change("set-burst", "live", "1"); !c.Changed || c.At.IsZero() {
		t.Errorf("set-burst: %+v", c)
	}
	if c := b.change("set-burst", "live", "1"); c.Changed {
		t.Errorf("set-burst again: %+v", c)
	}
	if s := b.status("live"); s.Limiter != "token-bucket, burst 1" {
		t.Errorf("status says %q", s.Limiter)
	}
	before := b.report("live").Audit.Ungranted
	// A call gets one permit, and two workers make at most about 400 calls a second. So they cannot fetch 500 permits a
	// second.
	await.True(t, "slots that are not granted", func() bool { return b.report("live").Audit.Ungranted > before+100 })
	b.change("set-rate", "live", "50")
	sent := b.web.Count()
	await.True(t, "requests at the new rate", func() bool { return b.web.Count() > sent+50 })
	b.loadctl("stop", "live")
	for _, p := range ps {
		p.wait(0)
	}
	r := b.report("live")
	if written(r) != b.web.Count() || !r.Complete || r.Limiter != "token-bucket, burst 1" {
		t.Errorf("%d arrived; %+v, complete %v %v, limiter %q", b.web.Count(), r.Audit, r.Complete, r.Notes, r.Limiter)
	}
	if out, _, _ := b.try("events", "live"); !strings.Contains(out, "set-burst") {
		t.Errorf("no event: %s", out)
	}
	b.bounded(r, 100)
}

// TestLimiterOutage: while Redis stands still, and after it has lost everything, arrivals stay within the limiter's
// bound. Members go on with their own slots, together at most at the rate, and are not compensated for that later.
func TestLimiterOutage(t *testing.T) {
	besides(t)
	pause := func(b *bed, name string) {
		b.redis.Pause()
		b.started(b.web.Count() + limitedRate) // without Redis, since grants last for less
		b.redis.Resume()
	}
	flush := func(b *bed, name string) {
		if err := b.redis.Client().FlushAll(b.t.Context()).Err(); err != nil {
			b.t.Fatal(err)
		}
		await.True(b.t, "the run, restored with its workers", func() bool {
			r, err := run.Open(b.t.Context(), b.redis.Client(), name)
			if err != nil {
				return false
			}
			s, err := r.State(b.t.Context())
			return err == nil && s.Phase == "running" && s.Members == 2
		})
	}
	for name, c := range map[string]struct {
		harm  func(b *bed, name string)
		extra int64 // in a window
		more  int64 // excess over what was asked for, in all: one a lease, or what a fresh limiter lets pass again
		args  []string
	}{
		"fixed-window-pause": {pause, 2 * limitedRate, 2, []string{"--limiter", "fixed-window"}},
		"token-bucket-pause": {pause, 50, 2, []string{"--limiter", "token-bucket", "--burst", "50"}},
		"token-bucket-flush": {flush, 50, 50, []string{"--limiter", "token-bucket", "--burst", "50"}},
		"together-pause":     {pause, limitedRate, 2, []string{"--limiter", "sliding-log", "--spread=false"}},
	} {
		if testing.Short() && !strings.HasPrefix(name, "token-bucket") {
			continue // make test-all has them all
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			ps := b.fleet(2, name, slices.Concat(patient(), []string{"--qps", fmt.Sprint(limitedRate), "--permit-for", "1m"}, c.args)...)
			b.started(limitedRate)
			began := b.status(name).StartedAt
			c.harm(b, name)
			b.started(b.web.Count() + limitedRate)
			stopped := b.change("stop", name).At
			for _, p := range ps {
				p.wait(0)
			}
			r, arrived := b.report(name), b.web.Count()
			most := int64(limitedRate*stopped.Sub(began).Seconds()) + 1 + c.more + r.Audit.Overrun
			if arrived > most {
				t.Errorf("%d arrived in %v, at most %d may; %+v", arrived, stopped.Sub(began), most, r.Audit)
			}
			b.bounded(r, c.extra)
			t.Logf("%d arrived, at most %d may; %+v", arrived, most, r.Audit)
		})
	}
}
