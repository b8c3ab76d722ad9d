package e2e

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// lose makes Redis forget everything, and waits until the workers have restored a run, and have a new lease.
func (b *bed) lose(name string, workers int64) (before, after run.State) {
	b.t.Helper()
	before = b.read(name)
	if err := b.redis.Client().FlushAll(b.t.Context()).Err(); err != nil {
		b.t.Fatal(err)
	}
	await.True(b.t, "the run is restored, and each worker has a new lease", func() bool {
		if after = b.read(name); after.Members != workers {
			return false
		}
		for _, w := range after.Workers {
			if !w.LeaseUntil.After(before.Workers[0].LeaseUntil) {
				return false
			}
		}
		return true
	})
	return before, after
}

// TestRunsOutliveTheirState: Redis loses the state under load. Workers go on with what they were leased, one of them
// restores the run with the same laws, and each slot is sent once. The report mentions the loss.
func TestRunsOutliveTheirState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		profile []string
		asked   func(seconds float64) float64
	}{
		"constant": {[]string{"--qps", "200", "--duration", "1h"}, func(s float64) float64 { return 200 * s }},
		"stages": {[]string{"--qps", "0", "--stage", "1s:400", "--stage", "0s:100", "--stage", "1h:3700"}, // 1/s more each second
			func(s float64) float64 { return 200 + 100*(s-1) + (s-1)*(s-1)/2 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o ordinals
			b := &bed{t: t, redis: redistest.Start(t)}
			args := append(patient(), append(c.profile, "--url", "http://"+o.serve(t)+"/${ordinal}", "--min-workers", "3")...)
			if !acceptance() {
				args = append(args, "--permit-for", "1m", "--timeout", "10m") // no worker and no server is too slow for these
			}
			ps := []*process{b.worker("lost", args...), b.worker("lost", args...), b.worker("lost", args...)}
			o.more(t, 250) // the first stage is over
			before, after := b.lose("lost", 3)
			if !after.StartedAt.Equal(before.StartedAt) || !after.EndsAt.Equal(before.EndsAt) || after.Phase != "running" {
				t.Errorf("before %+v\nafter %+v", before, after)
			}
			o.more(t, 200)
			if acceptance() { // the grace period passes too, and nothing is dropped before the stop
				o.more(t, 2500)
				if a := b.report("lost").Audit; a.LateDropped > 0 {
					t.Errorf("%+v", a)
				}
			}
			b.loadctl("stop", "lost")
			for _, p := range ps {
				p.wait(0)
			}
			r, end := b.report("lost"), b.status("lost").EndedAt
			twice, beyond := o.again(r.Asked)
			if n := o.count(); twice > 0 || beyond > r.Audit.Overrun || n != written(r) || r.Audit.Skipped+r.Audit.Lost > 0 {
				t.Errorf("%d arrived, %d of them again, %d were not asked for; %+v", n, twice, beyond, r.Audit)
			}
			if want := c.asked(end.Sub(before.StartedAt).Seconds()); math.Abs(float64(r.Asked)-want) > 2 {
				t.Errorf("asked %d, want %.1f", r.Asked, want)
			}
			if r.Complete || len(r.Notes) != 2 || !strings.HasPrefix(r.Notes[0], "the run's state was lost from Redis and restored at ") || !strings.HasSuffix(r.Notes[1], ": stop by "+run.Who()) {
				t.Errorf("complete %v, notes %q", r.Complete, r.Notes)
			}
			if !r.StartedAt.Equal(before.StartedAt) {
				t.Errorf("it began at %v; it did at %v", r.StartedAt, before.StartedAt)
			}
		})
	}
}

// TestStopOfALostRun: a worker that restores a lost run stops it, and all workers confirm. If no worker is there in
// time, stop says so, and the next stop finds the run.
func TestStopOfALostRun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ps := b.fleet(3, "lost", append(patient(), "--qps", "300")...)
	b.started(300)
	if err := b.redis.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	stop := func() bool {
		_, stderr, code := b.try("stop", "lost")
		if code != 0 && (acceptance() || code != 104 || !strings.Contains(stderr, "that worker ends as soon as it reaches Redis within an hour")) {
			t.Fatalf("exit code %d, %s", code, stderr)
		}
		return code == 0
	}
	await.True(t, "a stop that finds the run", stop)
	took, count := time.Since(began), b.sent(ps...)
	for _, p := range ps {
		p.wait(0)
	}
	if n := b.web.Count(); n != count || acceptance() && took > 12*time.Second {
		t.Errorf("stop returned after %v, and %d arrived later", took, n-count)
	}
	if s := b.status("lost"); s.Phase != "stopped" || len(s.Workers) != 3 {
		t.Errorf("%+v", s)
	}
	t.Logf("stop returned after %v", took)
}

// TestStopWaitsForALease: stop waits for a silent worker until its lease ends, and no longer, as the worker never
// answers. Nothing is sent after that, even if the worker wakes up.
func TestStopWaitsForALease(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	permitFor, lag := scale(2*time.Second, 4*time.Second), time.Second
	// The requests are few. A worker that is frozen between its look at the clock and its write sends when it wakes up.
	args := []string{"--url", b.web.URL(), "--qps", "20", "--permit-for", permitFor.String(), "--max-lag", lag.String(), "--min-workers", "2"}
	frozen, other := b.worker("x", append(args, "--id", "frozen")...), b.worker("x", append(args, "--id", "other")...)
	b.started(20)
	b.started(b.web.Count() + 1) // the next one is not due yet
	if err := await.Frozen(frozen.Cmd.Process); err != nil {
		t.Fatal(err)
	}
	silent := time.Now()
	stdout, stderr, code := b.try("stop", "x")
	returned, count := time.Now(), b.sent(other)
	if code != 0 || !strings.Contains(stdout, "x: stop in force from ") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	// A machine may be too slow to give the command before the lease ends. Then nobody is waited for.
	if took := returned.Sub(silent); acceptance() && (took > 6500*time.Millisecond || !strings.Contains(stderr, ": silent, ")) {
		t.Errorf("%v after the last call or thereabouts: %q", took, stderr)
	}
	for _, w := range b.status("x").Workers {
		if w.ID == "frozen" && returned.Before(w.LastSeen.Add(permitFor+lag)) {
			t.Errorf("stop returned %v after the last call, and %+v may still send", returned.Sub(w.LastSeen), w)
		}
	}
	frozen.signal(syscall.SIGCONT)
	for _, p := range []*process{frozen, other} {
		p.wait(0)
	}
	if n := b.web.Count(); n != count {
		t.Errorf("%d arrived after stop had returned", n-count)
	}
}

// TestOnRedisLoss: without Redis a worker goes on for as long as --on-redis-loss says: for two seconds, or without
// end. What is due while it may not send counts in the report.
func TestOnRedisLoss(t *testing.T) {
	t.Parallel()
	for loss, permitFor := range map[string]time.Duration{"stop": spec.StopLease, "hold": spec.HoldLease} {
		t.Run(loss, func(t *testing.T) {
			t.Parallel()
			var o ordinals
			b := &bed{t: t, redis: redistest.Start(t)}
			args := append(patient(), "--url", "http://"+o.serve(t)+"/${ordinal}", "--qps", "200", "--min-workers", "2", "--on-redis-loss", loss, "--timeout", "10m")
			ps := []*process{b.worker("x", args...), b.worker("x", args...)}
			o.more(t, 100)
			until := b.leaseEnd("x", permitFor)
			asked := func(at time.Time) int64 { return b.askedAt("x", at) }
			now := time.Now()
			from, within, beyond := asked(now), asked(now.Add(spec.StopLease+2*time.Second)), asked(until)
			b.redis.Pause()
			frozen := time.Now()
			end := frozen.Add(spec.StopLease) // of all leases that are not without end
			if permitFor == spec.StopLease {
				await.True(t, "all that is due while leases last", func() bool { return o.has(from, beyond) })
				await.True(t, "a second in which nothing may be sent", func() bool { return time.Now().After(end.Add(time.Second)) })
			} else {
				await.True(t, "what is due two seconds later", func() bool { return o.has(from, within) })
			}
			highest, resumed := o.highest(), time.Now()
			b.redis.Resume()
			if most := asked(end); permitFor == spec.StopLease && highest > most {
				t.Errorf("number %d was sent in the outage, and the last one that is due in the leases is %d", highest, most)
			}
			next := asked(resumed)
			await.True(t, "requests that are due after the outage", func() bool { return o.highest() > next })
			b.loadctl("stop", "x")
			for _, p := range ps {
				p.wait(0)
			}
			r := b.report("x")
			missing := asked(resumed) - asked(end)
			if n := o.count(); n != written(r) || loss == "hold" && r.Audit.Skipped+r.Audit.Lost > 0 || acceptance() && loss == "stop" && r.Audit.LateDropped+r.Audit.Skipped < missing*8/10 {
				t.Errorf("%d arrived, %d were due when nobody might send; %+v", n, missing, r.Audit)
			}
		})
	}
}

// leaseEnd waits until each worker has this lease, all of them at once, and returns when the first one ends.
func (b *bed) leaseEnd(name string, permitFor time.Duration) (until time.Time) {
	b.t.Helper()
	await.True(b.t, fmt.Sprintf("leases of %v", permitFor), func() bool {
		s := b.read(name)
		for i, w := range s.Workers {
			if w.LeaseUntil.IsZero() || !w.LeaseUntil.After(time.Now()) {
				return false
			}
			if got := w.LeaseUntil.Sub(w.LastSeen); got != permitFor {
				b.t.Fatalf("a lease of %v, want %v", got, permitFor)
			}
			if i == 0 || w.LeaseUntil.Before(until) {
				until = w.LeaseUntil
			}
		}
		return len(s.Workers) > 0
	})
	return until
}

// TestWorkersCommand: `workers` shows until when each worker may go on without a reply, and when departed workers last
// called.
func TestWorkersCommand(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const permitFor = 2 * time.Second
	args := []string{"--qps", "200", "--url", b.web.URL(), "--permit-for", permitFor.String()} // not patient: stop would wait as long for the dead worker
	stays := b.worker("x", append(args, "--id", "stays")...)
	b.started(50)
	leaves, dies := b.worker("x", append(args, "--id", "leaves")...), b.worker("x", append(args, "--id", "dead")...)
	b.members("x", 3)
	b.renewed("x")
	called, gone := b.incarnation("x", "dead").LastSeen, time.Now()
	leaves.signal(syscall.SIGINT)
	dies.Kill()
	leaves.wait(105)
	left := time.Now()
	b.lost("x", "dead")
	lost := time.Now()
	var all []run.Worker
	await.True(t, "a worker that stays", func() bool {
		all = b.read("x").Workers
		return slices.ContainsFunc(all, func(w run.Worker) bool { return w.ID == "stays" && w.State == "active" && !w.LeaseUntil.IsZero() })
	})
	for _, w := range all {
		switch {
		case w.ID == "stays" && w.LeaseUntil.Sub(w.LastSeen) != permitFor,
			w.ID == "leaves" && (w.State != "left" || w.LastSeen.Before(gone) || w.LastSeen.After(left) || !w.LeaseUntil.IsZero()),
			w.ID == "dead" && (w.State != "lost" || w.LastSeen.Before(called) || lost.Before(w.LastSeen.Add(permitFor)) || w.LeaseUntil.After(w.LastSeen.Add(permitFor))):
			t.Errorf("%+v; the signals were sent at %v", w, gone)
		}
	}
	out := b.loadctl("workers", "x")
	if !strings.HasPrefix(out, "WORKER  STATE   WEIGHT  OWNED  UNTIL                 LAST SEEN\n") || strings.Contains(out, "0001-") || strings.Count(out, "\n") != 4 {
		t.Error(out)
	}
	b.loadctl("stop", "x")
	stays.wait(0)
}
