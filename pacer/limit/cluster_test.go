package limit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer/limit"
)

// TestCluster: every limiter works on a cluster, wherever its key is. This includes a client that asks the wrong node
// first, and nodes that have forgotten their scripts.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	for _, name := range limit.Names() {
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			l, err := limit.New(name, limit.Redis(c.Client()), key, limit.PerWindow(5, time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			if err := l.SetLimit(t.Context(), limit.PerWindow(4, time.Hour)); err != nil {
				t.Fatalf("%s %s: %v", name, key, err)
			}
			for i := range int64(5) {
				if i == 2 {
					flush(t, c)
				}
				a, err := l.Take(t.Context(), 1)
				if err != nil {
					t.Fatalf("%s %s: %v", name, key, err)
				}
				if want := min(1, 4-i); a.Granted != want {
					t.Errorf("%s %s: call %d is granted %d, want %d", name, key, i, a.Granted, want)
				}
			}
		}
	}
	for _, s := range c.Masters {
		if keys := s.Client().DBSize(t.Context()).Val(); keys == 0 {
			t.Errorf("no key came to %s: the test shows nothing of several nodes", s.Addr())
		}
	}
}

// TestClusterMoved: a client that believes all keys are on the first master is redirected.
func TestClusterMoved(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	moved := 0
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		// This client knows only one node.
		first, err := limit.New("gcra", limit.Redis(c.Masters[0].Client()), key, limit.PerWindow(2, time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		_, err = first.Take(t.Context(), 1)
		if err != nil && strings.Contains(err.Error(), "MOVED ") {
			moved++
		} else if err != nil {
			t.Fatal(err)
		}

		mistaken := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{End: 16383, Nodes: []redis.ClusterNode{{Addr: c.Masters[0].Addr()}}}}, nil
		}})
		l, err := limit.New("gcra", limit.Redis(mistaken), key, limit.PerWindow(2, time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if a, err := l.Take(t.Context(), 1); err != nil || a.Granted != 1 {
			t.Errorf("key %s: %+v, error %v", key, a, err)
		}
		mistaken.Close()
	}
	if moved == 0 {
		t.Error("no key was at another master: the test shows nothing")
	}
}

// flush makes every node forget its scripts.
func flush(t *testing.T, c *redistest.Cluster) {
	t.Helper()
	for _, s := range c.Masters {
		if err := s.Client().ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}
