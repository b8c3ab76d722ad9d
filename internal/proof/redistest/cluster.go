package redistest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// hashSlots is the number of hash slots of a Redis Cluster.
const hashSlots = 16384

// Cluster is a Redis Cluster of masters, in order of their hash slots: of n masters, master i owns one n-th. It has
// replicas only after Replicate.
type Cluster struct {
	Masters  []*Server
	Replicas []*Server // replica i is of master i
	args     []string
	client   rdb.Client
}

// never is longer than any test: nobody takes a slow server for a dead one.
const never = time.Hour

// StartCluster starts n masters, 3 or more, each with the args as in Start. It returns when each of them accepts
// commands. No node takes another one for dead, unless args set --cluster-node-timeout. The cluster ends with the test.
func StartCluster(t testing.TB, n int, args ...string) *Cluster {
	t.Helper()
	// A missing master without a replica must not stop the others' slots; tests that want that say so.
	own := []string{"--cluster-enabled", "yes", "--cluster-node-timeout", strconv.FormatInt(never.Milliseconds(), 10), "--cluster-require-full-coverage", "no"}
	c := &Cluster{args: append(own, args...)}
	for range n {
		c.Masters = append(c.Masters, Start(t, c.args...))
	}
	for i, s := range c.Masters {
		c.must(t, s, "CLUSTER", "SET-CONFIG-EPOCH", i+1) // or they would have to agree on one first
		slots := []any{"CLUSTER", "ADDSLOTS"}
		for slot := i * hashSlots / n; slot < (i+1)*hashSlots/n; slot++ {
			slots = append(slots, slot)
		}
		c.must(t, s, slots...)
		if i > 0 {
			c.must(t, s, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(c.Masters[0].port))
		}
	}
	for _, s := range c.Masters {
		c.await(t, s, "cluster_state:ok", "cluster_known_nodes:"+strconv.Itoa(n), "cluster_slots_ok:"+strconv.Itoa(hashSlots))
	}
	options := &redis.ClusterOptions{Addrs: c.Addrs(), ContextTimeoutEnabled: true, DialTimeout: never, ReadTimeout: never}
	c.client = redis.NewClusterClient(options)
	t.Cleanup(func() { c.client.Close() }) //nolint:errcheck // there is nothing left to lose
	return c
}

// Replicate gives each master a replica. It returns when each replica has its copy and all nodes know all others.
func (c *Cluster) Replicate(t testing.TB) {
	t.Helper()
	for range c.Masters {
		s := Start(t, append([]string{"--repl-diskless-sync-delay", "0"}, c.args...)...)
		c.must(t, s, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(c.Masters[0].port))
		c.Replicas = append(c.Replicas, s)
	}
	all := append(slices.Clone(c.Masters), c.Replicas...)
	for _, s := range all {
		c.await(t, s, "cluster_known_nodes:"+strconv.Itoa(len(all)), "cluster_state:ok")
	}
	for i, s := range c.Replicas {
		c.must(t, s, "CLUSTER", "REPLICATE", c.Masters[i].client.ClusterMyID(t.Context()).Val())
	}
	for _, s := range all {
		await.True(t, s.Addr()+" to have all replicas in the map, and its copy of the master", func() bool {
			nodes := s.client.ClusterNodes(t.Context()).Val()
			return strings.Count(nodes, "slave ") == len(c.Replicas) && !strings.Contains(s.replication(t), "master_link_status:down")
		})
	}
}

// TakeOver makes replica i the master in place of its own, which may be alive or dead. It returns when all nodes that
// answer know it.
func (c *Cluster) TakeOver(t testing.TB, i int) {
	t.Helper()
	replica, master := c.Replicas[i], c.Masters[i]
	c.must(t, replica, "CLUSTER", "FAILOVER", "TAKEOVER")
	for _, s := range append(slices.Clone(c.Masters), c.Replicas...) {
		if s == master {
			continue
		}
		await.True(t, s.Addr()+" to know the new master "+replica.Addr(), func() bool {
			nodes, err := s.client.ClusterNodes(t.Context()).Result()
			return err != nil || strings.Contains(line(nodes, replica.Addr()), "master")
		})
	}
}

// line returns the line of a text that contains a word.
func line(text, word string) string {
	for l := range strings.Lines(text) {
		if strings.Contains(l, word) {
			return l
		}
	}
	return ""
}

// Client returns the cluster's own client, the same at each call, closed when the test ends.
func (c *Cluster) Client() rdb.Client { return c.client }

// Addrs returns host:port of each master.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, s := range c.Masters {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// URL names all masters, as redis.ParseClusterURL takes it.
func (c *Cluster) URL() string {
	addrs := c.Addrs()
	return "redis://" + addrs[0] + "?addr=" + strings.Join(addrs[1:], "&addr=")
}

// Owner returns the master that owns a key.
func (c *Cluster) Owner(t testing.TB, key string) *Server {
	t.Helper()
	slot, err := c.Masters[0].Client().ClusterKeySlot(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	n := int64(len(c.Masters))
	for i := range n {
		if slot < (i+1)*hashSlots/n {
			return c.Masters[i]
		}
	}
	t.Fatalf("%d is no hash slot", slot)
	return nil
}

func (c *Cluster) must(t testing.TB, s *Server, args ...any) {
	t.Helper()
	if err := s.Client().Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("%v at %s: %v", args[:2], s.Addr(), err)
	}
}

// await waits until CLUSTER INFO of a master has all these lines.
func (c *Cluster) await(t testing.TB, s *Server, lines ...string) {
	t.Helper()
	await.True(t, s.Addr()+" to say "+strings.Join(lines, ", "), func() bool {
		info, err := s.Client().ClusterInfo(t.Context()).Result()
		if err != nil {
			t.Fatalf("ask %s for its cluster: %v", s.Addr(), err)
		}
		for _, line := range lines {
			if !strings.Contains(info, line+"\r\n") {
				return false
			}
		}
		return true
	})
}
