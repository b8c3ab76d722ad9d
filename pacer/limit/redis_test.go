package limit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer/limit"
)

// must makes a limiter.
func must(t testing.TB, name string, client redis.Cmdable, key string, l limit.Limit, options ...limit.Option) *limit.Limiter {
	t.Helper()
	r, err := limit.New(name, limit.Redis(client), key, l, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mustSet makes a set of token buckets.
func mustSet(t testing.TB, store limit.Store, l limit.Limit, options ...limit.Option) *limit.Set {
	t.Helper()
	s, err := limit.NewSet("token-bucket", store, "set", l, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestConcurrent: concurrent clients get no more than the bound for the time that passed on the clock of Redis.
// Meanwhile Redis forgets the scripts now and then.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		for _, name := range limit.Names() {
			l := limit.PerWindow(50, 100*time.Millisecond)
			from := client.Time(t.Context()).Val()
			var total atomic.Int64
			var clients sync.WaitGroup
			for i := range 8 {
				r := must(t, name, client, "shared", l)
				clients.Go(func() {
					for k := range 40 {
						a, err := r.TakeUpTo(t.Context(), int64(1+k%3))
						if err != nil {
							t.Errorf("%s: %v", name, err)
							return
						}
						total.Add(a.Granted)
						if i == 0 && k%10 == 0 {
							client.ScriptFlush(t.Context())
						}
					}
				})
			}
			clients.Wait()
			passed := client.Time(t.Context()).Val().Sub(from)
			// The fixed window has the largest x of all. A leaky bucket has granted calls that go later, up to its burst.
			if most := int64(passed.Seconds()*500) + 101; total.Load() > most || total.Load() < 50 {
				t.Errorf("%s: %d granted in %v, want 50 to %d", name, total.Load(), passed, most)
			}
		}
	})
}

// TestWait: all waiting callers are served, not sooner than the limit allows.
func TestWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		for _, name := range limit.Names() {
			r := must(t, name, client, "shared", limit.PerWindow(5, 50*time.Millisecond))
			start := time.Now()
			var waiting sync.WaitGroup
			for range 16 {
				waiting.Go(func() {
					if err := r.Wait(t.Context(), 1); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			waiting.Wait()
			if passed := time.Since(start); 16 > 10+5*float64(passed)/float64(50*time.Millisecond) {
				t.Errorf("%s: 16 were granted in %v", name, passed)
			}
		}
	})
}

// TestWaitEnds: Wait ends with the context, and at once if n can never be granted. A leaky bucket then gets its place
// back.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		for _, name := range limit.Names() {
			r := must(t, name, client, "ends", limit.PerWindow(3, time.Hour))
			if err := r.Wait(t.Context(), 4); !errors.Is(err, limit.ErrNever) {
				t.Errorf("%s: 4 of 3: %v", name, err)
			}
			a, err := r.Take(t.Context(), 2)
			if err != nil || a.Granted != 2 {
				t.Fatalf("%s: %+v, %v", name, a, err)
			}
			for range 2 { // the second try succeeds only if the first has given back
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- r.Wait(ctx, 1+a.Remaining) }()
				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v, want to be cancelled", name, err)
				}
			}
			if b, err := r.TakeUpTo(t.Context(), 3); err != nil || b.Granted != 1 {
				t.Errorf("%s: after two who gave up %+v, %v; want 1", name, b, err)
			}
		}
	})
}

// TestGiveUp: a caller that gives up leaves the queue of a leaky bucket.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		r := must(t, "leaky-bucket", client, "queue", limit.PerWindow(1, time.Hour), limit.Burst(3))
		if err := r.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		before := redistest.Contents(t, client)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Wait(ctx, 2) }()
		for len(ended) == 0 && redistest.Contents(t, client)["limit:{queue}:leaky-bucket:state"] == before["limit:{queue}:leaky-bucket:state"] {
			time.Sleep(time.Millisecond) // until the caller has its place
		}
		if a, err := r.Take(t.Context(), 1); err != nil || a.Granted != 0 {
			t.Errorf("while both places are taken: %+v, %v", a, err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		a, err := r.Take(t.Context(), 2)
		if err != nil || a.Granted != 2 {
			t.Fatalf("after who waited gave up: %+v, %v", a, err)
		}
		if err := r.GiveBack(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if a, err := r.Take(t.Context(), 2); err != nil || a.Granted != 2 {
			t.Errorf("after two were given back: %+v, %v", a, err)
		}
	})
}

// TestSetLimit: all users of a limiter follow a new limit from their next call on. Callers that are waiting do so too.
func TestSetLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		for _, name := range limit.Names() {
			one, other := must(t, name, client, "live", limit.PerWindow(1, time.Hour)), must(t, name, client, "live", limit.PerWindow(1, time.Hour))
			if a, err := one.Take(t.Context(), 1); err != nil || a.Granted != 1 {
				t.Fatalf("%s: %+v, %v", name, a, err)
			}
			waited := make(chan error, 1)
			go func() { waited <- other.Wait(t.Context(), 1) }()
			if err := one.SetLimit(t.Context(), limit.PerWindow(1000, 10*time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if err := <-waited; err != nil {
				t.Errorf("%s: who waited under the old limit: %v", name, err)
			}
			if err := other.Wait(t.Context(), 1000); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if life := client.PTTL(t.Context(), "limit:{live}:"+name+":limit").Val(); life <= 6*24*time.Hour {
				t.Errorf("%s: the limit is kept for %v", name, life)
			}
			if err := one.SetLimit(t.Context(), limit.Limit{}); err == nil {
				t.Errorf("%s: no limit at all is no error", name)
			}
		}
	})
}

// TestRefusals: a wrong setting is an error of one line that says what to give, and makes no call.
func TestRefusals(t *testing.T) {
	t.Parallel()
	l := limit.PerWindow(10, time.Second)
	none := limit.PerKey(func(string) limit.Limit { return limit.Limit{} })
	for want, got := range map[string]func() error{
		"take one of fixed-window": func() error { _, err := limit.New("bucket", nil, "k", l); return err },
		"1 to 256 bytes":           func() error { _, err := limit.New("gcra", nil, "", l); return err },
		"without { and }":          func() error { _, err := limit.New("gcra", nil, "a{b", l); return err },
		"give 1 to 1000000000":     func() error { _, err := limit.New("gcra", nil, "k", limit.PerWindow(0, time.Second)); return err },
		"whole microseconds":       func() error { _, err := limit.New("gcra", nil, "k", limit.PerWindow(1, 1500)); return err },
		"up to 366 days":           func() error { _, err := limit.New("gcra", nil, "k", limit.PerWindow(1, 9000*time.Hour)); return err },
		"has no burst":             func() error { _, err := limit.New("sliding-log", nil, "k", l, limit.Burst(3)); return err },
		"burst of 0 permits":       func() error { _, err := limit.New("gcra", nil, "k", l, limit.Burst(0)); return err },
		"no option Debt":           func() error { _, err := limit.New("gcra", nil, "k", l, limit.Debt()); return err },
		"Parts of 1001":            func() error { _, err := limit.New("sliding-window", nil, "k", l, limit.Parts(1001)); return err },
		"at least 1 permit":        func() error { _, err := must(t, "gcra", nil, "k", l).Take(t.Context(), -1); return err },
		"1 to 1000000":             func() error { _, err := limit.New("gcra", nil, "k", l, limit.FailShare(0)); return err },
		"choose one of": func() error {
			_, err := limit.New("gcra", nil, "k", l, limit.FailOpen(), limit.FailClosed())
			return err
		},
		"give 1ms to 1m":     func() error { _, err := limit.New("gcra", nil, "k", l, limit.Batch(0)); return err },
		"leave Batch out":    func() error { _, err := limit.New("leaky-bucket", nil, "k", l, limit.Batch(time.Second)); return err },
		"give 1 to 64 bytes": func() error { _, err := limit.NewSet("gcra", nil, "{", l); return err },
		"key \"\": give":     func() error { _, err := mustSet(t, nil, l).Take(t.Context(), "", 1); return err },
		"limit of key \"x\"": func() error { _, err := mustSet(t, limit.Memory(0), l, none).Take(t.Context(), "x", 1); return err },
		"give one at least":  func() error { _, err := limit.All(nil); return err },
		"PerKey is an option of one set": func() error {
			_, err := limit.All([]*limit.Set{mustSet(t, nil, l)}, limit.PerKey(func(string) limit.Limit { return l }))
			return err
		},
		"another prefix": func() error { s := mustSet(t, nil, l); _, err := limit.All([]*limit.Set{s, s}); return err },
		"the same store": func() error {
			_, err := limit.All([]*limit.Set{mustSet(t, limit.Memory(0), l), mustSet(t, limit.Memory(0), l)})
			return err
		},
	} {
		err := got()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
}
