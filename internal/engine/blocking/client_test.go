package blocking_test

import (
	"context"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/engine/blocking"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/engine/worker/clienttest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
)

func TestClientRules(t *testing.T) {
	clienttest.TestClient(t, func(t *testing.T, o clienttest.Options) worker.Client {
		target, err := client.New(targets.Spec{URL: o.URL, UnixSocket: o.UnixSocket, Insecure: true, Timeout: o.Timeout}, targets.Local{MaxConnections: o.Connections})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { target.Close() })
		return blocking.New(pacer.NewClock(), target, o.Connections)
	})
}

// echo is a target that answers at once, with the request's index as its status. With block it waits for the end of
// ctx.
type echo struct {
	block bool
	ended chan struct{}
}

func (e *echo) Do(ctx context.Context, c targets.Call) targets.Outcome {
	if e.block {
		<-ctx.Done()
		e.ended <- struct{}{}
	}
	return targets.Outcome{Status: int(c.Number)}
}

func (e *echo) Close() error { return nil }

// TestClientResults checks that each result belongs to its request.
func TestClientResults(t *testing.T) {
	a := blocking.New(pacer.NewClock(), &echo{}, 5)
	defer a.Close()
	var sent uint64
	seen := map[uint64]bool{}
	for len(seen) < 2000 {
		now := a.Now()
		for sent < 2000 && a.Send(now, now-int64(sent), targets.Call{Number: sent}) {
			sent++
		}
		err := a.Poll(now+int64(time.Second), func(r targets.Result) {
			if uint64(r.Outcome.Status) != r.Call.Number || seen[r.Call.Number] {
				t.Fatalf("request %d came to %d", r.Call.Number, r.Outcome.Status)
			}
			seen[r.Call.Number] = true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestClientCloseCancels checks that Close cancels the context of requests in flight.
func TestClientCloseCancels(t *testing.T) {
	e := &echo{block: true, ended: make(chan struct{}, 3)}
	a := blocking.New(pacer.NewClock(), e, 3)
	for i := range 3 {
		a.Send(a.Now(), a.Now(), targets.Call{Number: uint64(i)})
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-e.ended
	}
}

func TestClientAllocatesNothing(t *testing.T) {
	a := blocking.New(pacer.NewClock(), &echo{}, 4)
	defer a.Close()
	done := 0
	count := func(targets.Result) { done++ }
	n := testing.AllocsPerRun(1000, func() {
		want := done + 4
		for i := range uint64(4) {
			a.Send(a.Now(), a.Now(), targets.Call{Number: i})
		}
		for done < want {
			_ = a.Poll(a.Now()+int64(time.Second), count)
		}
	})
	if n > 0.1 { // the runtime itself allocates sometimes, when goroutines block
		t.Errorf("%v allocations for 4 requests", n)
	}
}

func BenchmarkClient(b *testing.B) {
	a := blocking.New(pacer.NewClock(), &echo{}, 16)
	defer a.Close()
	done := 0
	count := func(targets.Result) { done++ }
	for n := 0; b.Loop(); n++ {
		for !a.Send(0, 0, targets.Call{Number: uint64(n)}) {
			_ = a.Poll(a.Now()+int64(time.Second), count)
		}
	}
}
