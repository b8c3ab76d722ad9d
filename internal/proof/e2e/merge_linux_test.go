package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/engine/blocking"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	requests "github.com/loadctl/loadctl/targets/client"
)

// witness is a client that also keeps every sample in one histogram.
type witness struct {
	worker.Client
	mu  *sync.Mutex
	all *record.Histogram
}

func (w witness) Poll(until int64, done func(targets.Result)) error {
	return w.Client.Poll(until, func(r targets.Result) {
		w.mu.Lock()
		w.all.Record(r.Done - r.Due)
		w.mu.Unlock()
		done(r)
	})
}

// TestMergeIsExact (I11): the merge of what four workers publish through Redis equals one histogram of all samples. The
// workers are in this process, so that their samples are visible.
func TestMergeIsExact(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.redis.Client()
	const patience = 5 * time.Minute // nothing is dropped, and no request is cut off, however busy the machine is
	spec := spec.Spec{
		Target: targets.Spec{URL: b.web.URL()}, QPS: pacer.PerSecond(scale[int64](1000, 4000)), Duration: time.Duration(scale(1, 20)) * time.Second,
		MaxLag: patience, CatchUp: patience, PermitFor: patience, MinWorkers: 4,
	}
	r, _, err := run.Create(t.Context(), client, "merge", spec, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	target, err := requests.New(spec.Target, targets.Local{MaxConnections: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	seen := witness{mu: &sync.Mutex{}, all: record.NewHistogram()}
	var fleet sync.WaitGroup
	for i := range 4 {
		fleet.Go(func() {
			clock, id, incarnation := pacer.NewClock(), fmt.Sprint("w", i), run.NewID()
			w := worker.Worker{
				ID: id, Incarnation: incarnation, Server: r.Leases(b.redis.Client()), Clock: clock, Journal: results.NewJournal(r, id, incarnation),
				NewClient: func(int) (worker.Client, error) {
					return witness{Client: blocking.New(clock, target, 50), mu: seen.mu, all: seen.all}, nil
				},
				Shards: 2, MaxLag: spec.MaxLag, CatchUp: spec.CatchUp, DrainTimeout: patience,
			}
			if _, err := w.Run(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	fleet.Wait()
	rep, err := results.Report(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int64{
		"count": {rep.Audit.Completed, seen.all.Count()},
		"p50":   {rep.Latency.P50, seen.all.Quantile(0.5)},
		"p99":   {rep.Latency.P99, seen.all.Quantile(0.99)},
		"p99.9": {rep.Latency.P999, seen.all.Quantile(0.999)},
		"max":   {rep.Latency.Max, seen.all.Max()},
	}
	for name, v := range want {
		if v[0] != v[1] {
			t.Errorf("%s: merged %d, of all samples %d", name, v[0], v[1])
		}
	}
	if !rep.Complete || rep.Audit.Sent != b.web.Count() {
		t.Errorf("%d arrived, %+v %v", b.web.Count(), rep.Audit, rep.Notes)
	}
	t.Logf("%d samples: %v", seen.all.Count(), want)
}
