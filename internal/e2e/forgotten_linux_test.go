package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/report/record"
)

// TestForgottenProcess: a worker joins, sends, and ends after the last state that Redis has saved. After a crash Redis
// does not know it. The worker has saved no file, because its counts were published. Other workers have heard of it,
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
	b.heardOf("x", 3)
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

// heardOf waits until each worker of a run has published that it has heard of n processes.
func (b *bed) heardOf(name string, n int64) {
	b.t.Helper()
	await.True(b.t, "word of all processes", func() bool {
		told := int64(0)
		for name, text := range b.redis.Client().HGetAll(b.t.Context(), run.KeysOf(name).Totals).Val() {
			var total record.Snapshot
			if strings.Contains(name, ":") {
				continue // a number beside the snapshots
			}
			if err := total.UnmarshalBinary([]byte(text)); err != nil {
				b.t.Fatal(err)
			}
			if total.Processes >= n {
				told++
			}
		}
		return told == n
	})
}
