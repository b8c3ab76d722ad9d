package worker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/internal/worker"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets"
)

// budget is the model as a Limiter in real time.
type budget struct {
	mu sync.Mutex
	*model.Budget
}

func (b *budget) Lease(_ context.Context, ask pacer.Ask) (pacer.Reply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Budget.Lease(time.Now().UnixMicro(), ask), nil
}

func (b *budget) started() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Started
}

type noJournal struct{}

func (noJournal) Publish(context.Context, *report.Snapshot, *report.Snapshot, *report.Series) error {
	return nil
}
func (noJournal) Leave(context.Context, string) error { return nil }

// The whole engine over real sockets: the server sees exactly what was asked for. The bounds on lateness are wide,
// because the machine may be busy; what is late is sent late and must still arrive.
func TestOverSockets(t *testing.T) {
	server, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	target, err := targets.New(targets.Spec{URL: server.URL()}, targets.Local{MaxConnections: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	pieces, err := pacer.Constant(pacer.PerSecond(500), 0).Pieces()
	if err != nil {
		t.Fatal(err)
	}
	b := &budget{Budget: model.New(model.Options{Pieces: pieces, Span: 2_000_000, Horizon: 1_500_000})}
	clock := pacer.NewClock()
	w := worker.Worker{
		ID: "w1", Incarnation: "1", Limiter: b, Clock: clock, Journal: noJournal{}, Started: b.started, Shards: 2,
		CatchUp: 10 * time.Second, MaxLag: 10 * time.Second, Horizon: 1500 * time.Millisecond,
		NewClient: func(int) (worker.Client, error) { return worker.NewAdapter(clock, target, 16), nil },
	}
	total, err := w.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := total.Counts
	if n.Sent+b.Skipped != 1000 || n.Completed != n.Sent || n.LateDropped != 0 {
		t.Errorf("%+v, skipped %d; want 1000 sent and completed", n, b.Skipped)
	}
	if server.Count() != n.Sent {
		t.Errorf("%d requests arrived, %d were sent", server.Count(), n.Sent)
	}
	t.Logf("lag p50 %v, p99 %v", time.Duration(total.Lag.Quantile(0.5)), time.Duration(total.Lag.Quantile(0.99)))
}
