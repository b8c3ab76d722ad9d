package run_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// BenchmarkSnapshot measures one snapshot of one of 100 workers, with the round trip. Workers send 10 or 1,000
// requests a second. µs-redis and µs-cpu are as in BenchmarkRenew.
func BenchmarkSnapshot(b *testing.B) {
	for _, rate := range []int{10, 1000} {
		b.Run(fmt.Sprint(rate), func(b *testing.B) {
			server := redistest.Start(b)
			measure(b, server, snapshots(b, server.Client(), rate))
		})
	}
}

// snapshots publishes for 100 workers in turn, each time a second with this many requests.
func snapshots(b *testing.B, client rdb.Client, rate int) (call func()) {
	b.Helper()
	spec := spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(20_000), MaxLag: time.Second, CatchUp: time.Second, MinWorkers: 1}
	r, _, err := run.Create(context.Background(), client, "bench", spec, run.Options{})
	if err != nil {
		b.Fatal(err)
	}
	type worker struct {
		journal *results.Journal
		total   *record.Snapshot
		series  record.Series
	}
	var workers [100]worker
	for i := range workers {
		name := fmt.Sprint("w", i)
		workers[i].journal, workers[i].total = results.NewJournal(r, name, processID), record.NewSnapshot(name, processID)
	}
	recorder := record.NewRecorder()
	i := 0
	return func() {
		w := &workers[i%len(workers)]
		i++
		interval := second(recorder, w.total, rate)
		w.total.Merge(interval)
		w.total.Seq = interval.Seq
		w.series.Add(interval.Start, interval)
		if err := w.journal.Publish(context.Background(), interval, w.total, &w.series); err != nil {
			b.Fatal(err)
		}
	}
}

// second returns the interval that follows a cumulative snapshot. Its latencies spread over some hundred µs.
func second(recorder *record.Recorder, total *record.Snapshot, rate int) *record.Snapshot {
	s := record.NewSnapshot(total.Worker, total.Incarnation)
	s.Seq, s.Start, s.End = total.Seq+1, total.End, total.End+1e6
	recorder.Reset()
	for j := range int64(rate) {
		lag, service := 20_000+j*7919%80_000, 100_000+j*j*7919%400_000
		recorder.Sent()
		recorder.Done(record.Finished{Sent: lag, Done: lag + service, Status: 200, BytesIn: 120, BytesOut: 60})
	}
	s.Record(recorder)
	return s
}
