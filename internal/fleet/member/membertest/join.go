// Package membertest lets a worker take part in a run without sending anything, for tests of commands.
//
//	membertest.Join(t, r, "w1", pacer.PerSecond(800))
package membertest

import (
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
)

// Join makes a worker join the run once, and publish its counts with its --max-qps; zero = none.
func Join(t testing.TB, r *run.Run, id string, most pacer.Rate) *lease.Holder {
	t.Helper()
	holder := lease.NewHolder(id, "i", 1)
	reply, err := r.Leases(r.Client).Renew(t.Context(), holder.Call())
	if err != nil {
		t.Fatal(err)
	}
	holder.Receive(reply.Now, reply)
	journal, interval, total := results.NewJournal(r, id, "i"), record.NewSnapshot(id, "i"), record.NewSnapshot(id, "i")
	journal.MaxRate = most
	interval.Seq, interval.Start, interval.End = 1, 1, time.Now().UnixMicro()
	total.Merge(interval)
	total.Seq = 1
	if err := journal.Publish(t.Context(), interval, total, nil); err != nil {
		t.Fatal(err)
	}
	return holder
}
