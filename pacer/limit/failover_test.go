package limit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer/limit"
)

// gone is a shared limiter that cannot be reached.
type gone struct{}

var errGone = errors.New("connection refused")

func (gone) Take(context.Context, int64) (limit.Answer, error) { return limit.Answer{}, errGone }
func (gone) Wait(context.Context, int64) error                 { return errGone }

// members returns how many permits a fleet grants itself while Redis is away for a time. Each member has this permit.
func members(t *testing.T, n int, permit float64, away time.Duration) int64 {
	var total atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), away)
		defer cancel()
		var fleet sync.WaitGroup
		for range n {
			f, err := limit.NewFailover(gone{}, permit)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // callers of one member share its permit
				fleet.Go(func() {
					for f.Wait(ctx, 1) == nil {
						total.Add(1)
					}
				})
			}
		}
		fleet.Wait()
	})
	return total.Load()
}

// TestFailoverRate: during an outage a fleet stays at the shared rate if each member has its part of it. With the full
// rate on every machine it would get that rate times the number of machines.
func TestFailoverRate(t *testing.T) {
	const n, rate, away = 4, 100, 10 * time.Second
	if got := members(t, n, rate/n, away); got > rate*10+n || got < rate*10-n {
		t.Errorf("%d permits in %v, want %d", got, away, rate*10)
	}
	if naive := members(t, n, rate, away); naive < n*(rate*10-1) {
		t.Errorf("the naive fleet has only %d permits in %v: this test would not see %d × the rate", naive, away, n)
	}
}

// alone makes a Failover.
func alone(t *testing.T, shared limit.Limiter, permit float64) *limit.Failover {
	t.Helper()
	f, err := limit.NewFailover(shared, permit)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFailoverBatch: during an outage it grants one permit at a time. A call for many gets none, a call for up to many
// gets one, and a caller that waits gets one after the other.
func TestFailoverBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, gone{}, 10)
		take, upTo := f.Take, f.TakeUpTo
		for i, step := range []struct {
			sleep   time.Duration
			call    func(context.Context, int64) (limit.Answer, error)
			n, want int64
			retry   time.Duration
		}{
			{0, take, 5, 0, 400 * time.Millisecond},
			{0, upTo, 5, 1, 100 * time.Millisecond},
			{0, upTo, 5, 0, 100 * time.Millisecond},
			{0, take, 5, 0, 500 * time.Millisecond},
			{40 * time.Millisecond, take, 1, 0, 60 * time.Millisecond},
			{60 * time.Millisecond, take, 1, 1, 0},
			{time.Hour, take, 2, 0, 100 * time.Millisecond},
			{0, take, 1, 1, 0},
			{0, take, 1, 0, 100 * time.Millisecond},
		} {
			time.Sleep(step.sleep)
			a, err := step.call(t.Context(), step.n)
			if err != nil || a.Granted != step.want || (a.RetryAfter-step.retry).Abs() > time.Microsecond {
				t.Errorf("step %d: %+v, %v; want %d and %v", i, a, err, step.want, step.retry)
			}
		}
		start := time.Now()
		if err := f.Wait(t.Context(), 25); err != nil {
			t.Error(err)
		}
		if passed := time.Since(start); (passed - 2500*time.Millisecond).Abs() > time.Microsecond {
			t.Errorf("25 permits at 10/s came in %v", passed)
		}
		for _, n := range []int64{0, -1} {
			if _, err := f.Take(t.Context(), n); err == nil {
				t.Errorf("%d permits are no error", n)
			}
			if err := f.Wait(t.Context(), n); err == nil {
				t.Errorf("to wait for %d permits is no error", n)
			}
		}
	})
}

// TestFailoverRedis uses a real server that dies and comes back. Only in between does the Failover grant without it.
func TestFailoverRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { client.Close() })
	f, err := limit.NewFailover(must(t, "gcra", client, "k", limit.PerWindow(1000, time.Hour)), 1e6)
	if err != nil {
		t.Fatal(err)
	}
	shared := func() bool { // only the shared limiter knows what remains
		t.Helper()
		a, err := f.Take(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return a.Remaining > 0
	}
	if !shared() {
		t.Error("the shared limiter is not asked")
	}
	if _, err := f.Take(t.Context(), 1001); !errors.Is(err, limit.ErrNever) {
		t.Errorf("more than can ever be granted: %v", err)
	}
	if !shared() {
		t.Error("a question that cannot be answered is taken for an outage")
	}
	server.Kill()
	if err := f.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if shared() {
		t.Error("a dead server has answered")
	}
	server.Restart()
	for !shared() {
		time.Sleep(time.Millisecond)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Take(ended, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("who has given up gets %v", err)
	}
	if !shared() {
		t.Error("a caller that gave up is taken for an outage")
	}
}
