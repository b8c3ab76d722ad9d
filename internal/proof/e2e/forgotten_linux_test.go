package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report/record"
)

// TestForgottenProcess: a worker joins, sends, and ends after the last state that Redis has saved. After a crash Redis
// does not know it. The worker has saved no file, because its counts were published. Other workers know it,
// so the report says that it is missing.
func TestForgottenProcess(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.redis = redistest.Start(t, "--dbfilename", "saved.rdb")
	fleet := b.fleet(2, "x", append(patient(), "--qps", "200")...)
	b.started(100)
	b.members("x", 2)
	if err := b.redis.Client().Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	late := b.worker("x", "--allow-any", "--id", "late")
	await.True(t, "the late worker's snapshots", func() bool {
		for _, w := range b.report("x").Workers {
			if w.ID == "late" && w.Sent >= 50 {
				return true
			}
		}
		return false
	})
	b.know("x", 3)
	late.signal(syscall.SIGTERM)
	late.wait(105)
	b.redis.Kill()
	b.redis.Restart()
	b.started(b.web.Count() + 200)
	b.loadctl("stop", "x")
	for _, p := range fleet {
		p.wait(0)
	}
	r := b.report("x")
	const says = "Redis has forgotten 1 of the 3 processes that took part"
	if notes := strings.Join(r.Notes, "\n"); r.Complete || r.Audit.Sent >= b.web.Count() || !strings.Contains(notes, says) || strings.Contains(notes, "would have been late") {
		t.Errorf("%d arrived, %d were sent, complete %v, %s", b.web.Count(), r.Audit.Sent, r.Complete, notes)
	}
}

// TestOldState: after a worker has joined, or left, Redis crashes and comes back with a state of before. The audit then
// counts each slot once: asked is what the rate asked for, and what was sent is not counted as lost too.
func TestOldState(t *testing.T) {
	besides(t)
	for _, c := range []struct {
		name   string
		change func(*bed, []*process)
		gone   int // workers that have left
	}{
		{"joined", func(b *bed, _ []*process) {
			b.worker("x", "--allow-any", "--id", "late")
			// Ranges that are on their way when Redis crashes have no owner for a while.
			await.True(b.t, "slots of the joiner", func() bool {
				return slices.ContainsFunc(b.read("x").Workers, func(w run.Worker) bool { return w.ID == "late" && w.Owned > 0 })
			})
		}, 0},
		{"left", func(_ *bed, ps []*process) {
			ps[0].signal(syscall.SIGTERM)
			ps[0].wait(105)
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			nightly(t)
			t.Parallel()
			b := newBed(t)
			b.redis = redistest.Start(t, "--dbfilename", "saved.rdb")
			fleet := b.fleet(3, "x", append(patient(), "--qps", "600")...)
			b.started(300)
			b.members("x", 3)
			if err := b.redis.Client().Save(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			c.change(b, fleet)
			b.started(b.web.Count() + 600)
			b.redis.Kill()
			b.redis.Restart()
			b.started(b.web.Count() + 600)
			b.loadctl("stop", "x")
			for _, p := range fleet[c.gone:] {
				p.wait(0)
			}
			r := b.report("x")
			series := int64(0)
			for _, p := range r.Series {
				series += p.Asked
			}
			if a := r.Audit; a.Check() != nil || a.Asked != series || r.Complete && (a.Sent != b.web.Count() || a.Lost > 0) || c.gone == 0 && !r.Complete {
				t.Errorf("%d arrived, %d asked for in the series, complete %v %q, %v %+v", b.web.Count(), series, r.Complete, r.Notes, a.Check(), a)
			}
		})
	}
}

// know waits until each worker of a run has published that it knows n processes.
func (b *bed) know(name string, n int64) {
	b.t.Helper()
	await.True(b.t, "word of all processes", func() bool {
		knowing := int64(0)
		for name, text := range b.redis.Client().HGetAll(b.t.Context(), run.KeysOf(name).Totals).Val() {
			var total record.Snapshot
			if strings.Contains(name, ":") {
				continue // a number beside the snapshots
			}
			if err := total.UnmarshalBinary([]byte(text)); err != nil {
				b.t.Fatal(err)
			}
			if total.Processes >= n {
				knowing++
			}
		}
		return knowing == n
	})
}
