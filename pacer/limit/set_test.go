package limit_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer/limit"
)

// trips counts the round trips of a client, and the commands in them.
type trips struct{ trips, commands int }

func (c *trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.trips++
		c.commands++
		return next(ctx, cmd)
	}
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.trips++
		c.commands += len(cmds)
		return next(ctx, cmds)
	}
}

// stores runs a test on a real server, on an embedded one, on a cluster, on the master of Sentinels, and in memory.
func stores(t *testing.T, test func(t *testing.T, store limit.Store)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, client rdb.Client) { test(t, limit.Redis(client)) })
	t.Run("cluster", func(t *testing.T) { test(t, limit.Redis(redistest.StartCluster(t, 3).Client())) })
	t.Run("sentinel", func(t *testing.T) {
		watched := redistest.StartWatched(t, redistest.WatchedOptions{})
		client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: redistest.MasterName, SentinelAddrs: watched.Addrs()})
		t.Cleanup(func() { client.Close() })
		test(t, limit.Redis(client))
	})
	t.Run("memory", func(t *testing.T) { test(t, limit.Memory(0)) })
}

// TestSet asserts that each key of a set has a limit of its own, by PerKey, in each store, one by one and many at once.
func TestSet(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, store limit.Store) {
		for _, name := range limit.Names() {
			set, err := limit.NewSet(name, store, "users", limit.PerWindow(1, time.Second),
				limit.PerKey(func(key string) limit.Limit { return limit.PerWindow(int64(len(key)), time.Hour) }))
			if err != nil {
				t.Fatal(err)
			}
			for key, want := range map[string]int64{"a": 1, "bbbb": 4, "[::1]:80 ": 9} {
				if a, err := set.Key(key).TakeUpTo(t.Context(), 100); err != nil || a.Granted != want || a.Remaining != 0 {
					t.Errorf("%s %s: %+v, %v; want %d", name, key, a, err, want)
				}
			}
			many, err := set.TakeMany(t.Context(), 2, "cc", "dd", "cc", "bbbb")
			if err != nil || len(many) != 4 {
				t.Fatalf("%s: %+v, %v", name, many, err)
			}
			for i, want := range []int64{2, 2, 0, 0} {
				if many[i].Granted != want {
					t.Errorf("%s: key %d of many: %+v, want %d", name, i, many[i], want)
				}
			}
			many, err = set.TakeMany(t.Context(), 2, "ee", "f", "gg")
			if err == nil || !strings.Contains(err.Error(), `key "f": more permits`) || many[0].Granted != 2 || many[1].Granted != 0 || many[2].Granted != 2 {
				t.Errorf("%s: one of many asks for too much: %+v, %v", name, many, err)
			}
		}
	})
}

// TestManyInOneTrip asserts that TakeMany is one round trip, also to a server that has lost its scripts (then two), and
// that Take is one EVALSHA.
func TestManyInOneTrip(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 1})
	t.Cleanup(func() { client.Close() })
	count := &trips{}
	client.AddHook(count)
	set := mustSet(t, limit.Redis(client), limit.PerWindow(100, time.Hour))
	for range 2 { // it is connected
		if _, err := set.TakeMany(t.Context(), 3, "other"); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	keys := make([]string, 500)
	for i := range keys {
		keys[i] = fmt.Sprint("user", i)
	}
	for i, want := range []trips{{2, 1000}, {1, 500}} {
		*count = trips{}
		if many, err := set.TakeMany(t.Context(), 3, keys...); err != nil || many[499].Remaining != 100-3*int64(i+1) {
			t.Errorf("%+v, %v", many[499], err)
		}
		if *count != want {
			t.Errorf("time %d: %+v, want %+v", i, *count, want)
		}
	}
	*count = trips{}
	if _, err := set.Take(t.Context(), "user1", 1); err != nil || *count != (trips{1, 1}) {
		t.Errorf("one: %+v, %v", *count, err)
	}
}

// TestAllocations asserts that Take of a set makes at most two allocations more than the same command by go-redis alone,
// also with limits by PerKey.
func TestAllocations(t *testing.T) {
	client := redistest.Start(t).Client()
	l := limit.PerWindow(1_000_000, 3*time.Second)
	keys := []string{"set:{user}:token-bucket:state", "set:{user}:token-bucket:limit"}
	args := []any{1, 1, l.Count, l.Window.Microseconds(), l.Count, 0, 0}
	script := lua.Limiter("token_bucket")
	bare := testing.AllocsPerRun(500, func() {
		if _, err := script.Run(t.Context(), client, keys, args...).Slice(); err != nil {
			t.Fatal(err)
		}
	})
	for name, set := range map[string]*limit.Set{
		"plain":   mustSet(t, limit.Redis(client), l),
		"per key": mustSet(t, limit.Redis(client), l, limit.PerKey(func(string) limit.Limit { return l })),
	} {
		ours := testing.AllocsPerRun(500, func() {
			if _, err := set.Take(t.Context(), "user", 1); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %v allocations, go-redis alone %v", name, ours, bare)
		if ours > bare+2 {
			t.Errorf("%s: %v allocations, go-redis alone %v", name, ours, bare)
		}
	}
}

// TestShadow asserts that a limiter in a shadow lets all pass, and that hooks see what it decided.
func TestShadow(t *testing.T) {
	var decided []int64
	set := mustSet(t, limit.Memory(0), limit.PerWindow(5, time.Hour), limit.Shadow(), limit.Observe(func(e limit.Event) {
		if e.Key != "k" || e.Asked != 3 || e.Err != nil || e.Took < 0 || e.Fallback {
			t.Errorf("%+v", e)
		}
		decided = append(decided, e.Answer.Granted)
	}))
	for range 3 {
		if a, err := set.Take(t.Context(), "k", 3); err != nil || a.Granted != 3 || a.RetryAfter != 0 {
			t.Errorf("%+v, %v", a, err)
		}
	}
	if fmt.Sprint(decided) != "[3 0 0]" {
		t.Errorf("decided %v", decided)
	}
	set = mustSet(t, limit.Memory(0), limit.PerWindow(5, time.Hour), limit.Shadow())
	if a, err := set.Take(t.Context(), "k", 9); err != nil || a.Granted != 9 || a.RetryAfter != 0 {
		t.Errorf("more than it can ever grant: %+v, %v", a, err)
	}
}

// TestPeekResetGiveBack asserts, for each limiter in each store, that a look takes nothing, that what is given back can be
// taken again, in parts, and that a reset forgets all.
func TestPeekResetGiveBack(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, store limit.Store) {
		for _, name := range limit.Names() {
			l, err := limit.New(name, store, "k", limit.PerWindow(10, time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			remain := func(want int64, when string) {
				t.Helper()
				for range 2 {
					a, err := l.Peek(t.Context())
					if err != nil || a.Granted != 0 || a.Remaining != want || want == 0 && a.RetryAfter == 0 {
						t.Errorf("%s, %s: %+v, %v; want %d", name, when, a, err, want)
					}
				}
			}
			remain(10, "new")
			a, err := l.Take(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			remain(0, "after ten")
			a.Granted = 7
			for range 2 {
				if err := l.GiveBack(t.Context(), a); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				remain(7, "after seven came back")
			}
			if err := l.Reset(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			remain(10, "after the reset")
		}
	})
}
