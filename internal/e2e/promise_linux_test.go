package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/spec"
)

// TestRunsOutliveTheirState: Redis loses the state under load. Workers go on with what they were promised, one of them
// restores the run, and each slot is sent once. The report mentions the loss.
func TestRunsOutliveTheirState(t *testing.T) {
	t.Parallel()
	for name, profile := range map[string][]string{
		"constant": {"--qps", "600", "--duration", "16s"}, "stages": {"--qps", "0", "--stage", "4s:1200", "--stage", "0s:300", "--stage", "12s:900"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			ps := b.fleet(3, "lost", append(patient(), profile...)...)
			b.started(3000) // the first stage is over
			before := b.status("lost")
			if err := b.redis.Client().FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			for _, p := range ps {
				p.wait(0)
			}
			r := b.report("lost")
			if n := b.web.Count(); n < 9600 || n > 9601 || r.Audit.Sent != n || r.Audit.Asked != n || r.Audit.Skipped+r.Audit.LateDropped+r.Audit.Lost > 0 {
				t.Errorf("%d arrived, want 9600; %+v", n, r.Audit)
			}
			if r.Complete || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "the run's state was lost from Redis and restored at ") {
				t.Errorf("complete %v, notes %q", r.Complete, r.Notes)
			}
			if !r.StartedAt.Equal(before.StartedAt) || r.DurationS < 15.9 {
				t.Errorf("it began at %v and took %v s; it did at %v", r.StartedAt, r.DurationS, before.StartedAt)
			}
		})
	}
}

// TestStopOfALostRun: a worker that restores a lost run stops it, and all workers confirm.
func TestStopOfALostRun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ps := b.fleet(3, "lost", append(patient(), "--qps", "600")...)
	b.started(600)
	if err := b.redis.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	b.loadctl("stop", "lost")
	took, count := time.Since(began), b.web.Count()
	for _, p := range ps {
		p.wait(0)
	}
	if n := b.web.Count(); n != count || took > 12*time.Second {
		t.Errorf("stop returned after %v, and %d arrived later", took, n-count)
	}
	t.Logf("stop returned after %v", took)
}

// TestStopWaitsForAPromise: stop waits for a silent worker until its promise ends, and no longer. Nothing is sent
// after that, even if the worker wakes up.
func TestStopWaitsForAPromise(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ps := b.fleet(2, "x", "--qps", "200", "--permit-for", "4s", "--max-lag", "1s")
	b.started(200)
	ps[0].signal(syscall.SIGSTOP)
	silent := time.Now()
	await.True(t, "a while of silence", func() bool { return time.Since(silent) > time.Second })
	stdout, stderr, code := b.try("stop", "x")
	took, count := time.Since(silent), b.web.Count()
	if code != 0 || !strings.Contains(stdout, "x: stop in force from ") || !strings.Contains(stderr, ": silent, ") || took < 4*time.Second || took > 6500*time.Millisecond {
		t.Errorf("exit code %d, %q, %q; %v after the last call or thereabouts", code, stdout, stderr, took)
	}
	ps[0].signal(syscall.SIGCONT)
	for _, p := range ps {
		p.wait(0)
	}
	if n := b.web.Count(); n != count {
		t.Errorf("%d arrived after stop had returned", n-count)
	}
}

// TestOnRedisLoss: without Redis a worker goes on for as long as --on-redis-loss says: for two seconds, or without
// end. The report has what it did not send.
func TestOnRedisLoss(t *testing.T) {
	t.Parallel()
	for loss, missing := range map[string]time.Duration{"stop": 10 * time.Second, "hold": 0} {
		t.Run(loss, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			ps := b.fleet(2, "x", append(patient(), "--catch-up", "100ms", "--qps", "200", "--duration", "17s", "--on-redis-loss", loss)...)
			b.started(200)
			if w := b.status("x").Workers[0]; w.PromisedUntil.Sub(w.LastSeen) != map[string]time.Duration{"stop": spec.StopPromise, "hold": 10 * 365 * 24 * time.Hour}[loss] {
				t.Errorf("%+v", w)
			}
			b.redis.Pause()
			frozen := time.Now()
			await.True(t, "an outage", func() bool { return time.Since(frozen) > 12*time.Second })
			b.redis.Resume()
			for _, p := range ps {
				p.wait(0)
			}
			r := b.report("x")
			n, asked := b.web.Count(), int64(17*200)
			if r.Audit.Sent != n || r.Audit.Asked != asked {
				t.Errorf("%d arrived, %+v", n, r.Audit)
			}
			lost := time.Duration(asked-n) * time.Second / 200
			if lost < missing-time.Second || lost > missing+2*time.Second || missing == 0 && lost > 0 {
				t.Errorf("what was due in %v was not sent, want %v", lost, missing)
			}
		})
	}
}

// TestWorkersCommand: `workers` shows until when each worker may go on without a reply, and when departed workers last
// called.
func TestWorkersCommand(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	args := append(patient(), "--qps", "200", "--url", b.web.URL(), "--permit-for", "2s")
	stays := b.worker("x", append(args, "--id", "stays")...)
	b.started(50)
	leaves, dies := b.worker("x", append(args, "--id", "leaves")...), b.worker("x", append(args, "--id", "dead")...)
	b.members("x", 3)
	b.started(b.web.Count() + 200)
	leaves.signal(syscall.SIGINT)
	dies.signal(syscall.SIGKILL)
	gone := time.Now()
	leaves.wait(105)
	await.True(t, "the end of its promise", func() bool { return b.dead("x").State == "lost" })
	for _, w := range b.status("x").Workers {
		since := w.LastSeen.Sub(gone)
		switch {
		case w.ID == "stays" && (w.State != "active" || w.PromisedUntil.Sub(w.LastSeen) != 2*time.Second),
			w.ID == "leaves" && (w.State != "left" || since < 0 || since > 4*time.Second || !w.PromisedUntil.IsZero()),
			w.ID == "dead" && (since > 100*time.Millisecond || since < -time.Second || !w.PromisedUntil.IsZero() && w.PromisedUntil.After(gone.Add(2*time.Second))):
			t.Errorf("%+v, %v after the signals", w, since)
		}
	}
	out := b.loadctl("workers", "x")
	if !strings.HasPrefix(out, "WORKER  STATE   WEIGHT  OWNED  UNTIL                 LAST SEEN\n") || strings.Contains(out, "0001-") || strings.Count(out, "\n") != 4 {
		t.Error(out)
	}
	b.loadctl("stop", "x")
	stays.wait(0)
}
