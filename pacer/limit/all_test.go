package limit_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer/limit"
)

// TestAll asserts that all limits grant or none does, that the answer says which refused, and that what is given back
// comes back to all.
func TestAll(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, store limit.Store) {
		for _, name := range limit.Names() {
			few, err := limit.NewSet(name, store, "few", limit.PerWindow(4, time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			many := mustSet(t, store, limit.PerWindow(6, time.Hour))
			both, err := limit.All([]*limit.Set{few, many})
			if err != nil {
				t.Fatal(err)
			}
			remain := func(want ...int64) {
				t.Helper()
				for i, set := range []*limit.Set{few, many, both} {
					if a, err := set.Key(name).Peek(t.Context()); err != nil || a.Remaining != want[i] {
						t.Errorf("%s: set %d: %+v, %v; want %v", name, i, a, err, want)
					}
				}
			}
			take := func(n, want int64, refused ...string) limit.Answer {
				t.Helper()
				a, err := both.Take(t.Context(), name, n)
				if err != nil || a.Granted != want || !slices.Equal(a.Refused(), refused) || want == 0 && a.RetryAfter == 0 {
					t.Errorf("%s: %d: %+v, %v refused, %v; want %d, %v", name, n, a, a.Refused(), err, want, refused)
				}
				return a
			}
			last := take(3, 3)
			remain(1, 3, 1)
			take(2, 0, "few")
			take(4, 0, "few", "set")
			remain(1, 3, 1)
			if err := both.Key(name).GiveBack(t.Context(), last); err != nil {
				t.Error(err)
			}
			remain(4, 6, 4)
			if a, err := many.Take(t.Context(), name, 4); err != nil || a.Granted != 4 {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
			take(3, 0, "set")
			if a, err := both.Key(name).TakeUpTo(t.Context(), 3); err != nil || a.Granted != 2 || a.RetryAfter == 0 || a.Remaining != 0 {
				t.Errorf("%s: up to three: %+v, %v", name, a, err)
			}
			remain(2, 0, 0)
			if err := both.Key(name).SetLimit(t.Context(), limit.PerWindow(1, time.Hour)); err == nil {
				t.Error("a limit is set for several at once")
			}
			if err := both.Key(name).Reset(t.Context()); err != nil {
				t.Error(err)
			}
			remain(4, 6, 4)
			both.Key(name).Reset(t.Context())
		}
	})
}

// TestAllAtOnce asserts that many callers of both limits together get what the smaller one has, and that the larger one
// has lost no more than that.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, store limit.Store) {
		few, err := limit.NewSet("sliding-log", store, "few", limit.PerWindow(101, time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		many := mustSet(t, store, limit.PerWindow(1000, time.Hour*24*365))
		both, err := limit.All([]*limit.Set{few, many})
		if err != nil {
			t.Fatal(err)
		}
		var total atomic.Int64
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for range 30 {
					a, err := both.Take(t.Context(), "k", 2)
					if err != nil {
						t.Error(err)
						return
					}
					total.Add(a.Granted)
				}
			})
		}
		callers.Wait()
		a, err := many.Key("k").Peek(t.Context())
		if err != nil || total.Load() != 100 || a.Remaining != 900 {
			t.Errorf("%d granted, of the larger limit %d remain, %v", total.Load(), a.Remaining, err)
		}
	})
}
