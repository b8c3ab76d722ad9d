package worker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/engine/blocking"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
)

// server is the model of the scripts in real time.
type server struct {
	mu sync.Mutex
	*model.Run
}

func (s *server) Renew(_ context.Context, c lease.Call) (lease.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Run.Renew(time.Now().UnixMicro(), c), nil
}

func (s *server) started() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.Laws().All(); len(all) > 0 {
		return all[0].T0
	}
	return 0
}

type noJournal struct{}

func (noJournal) Publish(context.Context, *record.Snapshot, *record.Snapshot, *record.Series) error {
	return nil
}

// TestOverSockets runs the whole engine over real sockets: the server gets exactly what was asked for. The bounds on
// lateness are wide, because the machine may be busy. A late request must still arrive.
func TestOverSockets(t *testing.T) {
	endpoint, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer endpoint.Close()
	target, err := client.New(targets.Spec{URL: endpoint.URL()}, targets.Local{MaxConnections: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	pieces, err := pacer.Constant(pacer.PerSecond(500), 0).Pieces()
	if err != nil {
		t.Fatal(err)
	}
	b := &server{Run: model.New(model.Options{Pieces: pieces, Span: 2_000_000, Min: 1, Hold: 10_000_000}, "server")}
	clock := pacer.NewClock()
	w := worker.Worker{
		ID: "w1", Incarnation: "1", Server: b, Clock: clock, Journal: noJournal{}, Started: b.started, Shards: 2,
		CatchUp: 10 * time.Second, MaxLag: 10 * time.Second,
		NewClient: func(int) (worker.Client, error) { return blocking.New(clock, target, 16), nil },
	}
	total, err := w.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := total.Counts
	if n.Sent != 1000 || n.Completed != n.Sent || n.LateDropped != 0 {
		t.Errorf("%+v; want 1000 sent and completed", n)
	}
	if endpoint.Count() != n.Sent {
		t.Errorf("%d requests arrived, %d were sent", endpoint.Count(), n.Sent)
	}
	t.Logf("lag p50 %v, p99 %v", time.Duration(total.Lag.Quantile(0.5)), time.Duration(total.Lag.Quantile(0.99)))
}
