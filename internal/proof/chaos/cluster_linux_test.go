package chaos

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// A part is the part of a cluster that the run lives on.
type part struct {
	cluster *redistest.Cluster
	replica *redistest.Server // of the master, which is stage.redis
}

// newPart puts up a cluster in which each master has a replica.
func newPart(s *stage, args ...string) *part {
	s.t.Helper()
	p := &part{cluster: redistest.StartCluster(s.t, 3, append(args, "--cluster-node-timeout", "2000")...)}
	p.cluster.Replicate(s.t)
	s.redis, s.url = p.cluster.Owner(s.t, run.KeysOf(name).Budget), p.cluster.URL()
	p.replica = p.cluster.Replicas[slices.Index(p.cluster.Masters, s.redis)]
	return p
}

// takenOver waits until the replica is the master; all reads go there from now on.
func (p *part) takenOver(s *stage) {
	s.t.Helper()
	await.True(s.t, "the replica to take over", func() bool {
		return strings.Contains(p.replica.Client().Info(s.t.Context(), "replication").Val(), "role:master")
	})
	s.redis = p.replica
}

// migrate moves the run's hash slot to another master, key by key, as redis-cli --cluster reshard does.
func (p *part) migrate(s *stage, pause time.Duration) {
	s.t.Helper()
	from, to := s.redis, p.cluster.Masters[(slices.Index(p.cluster.Masters, s.redis)+1)%len(p.cluster.Masters)]
	ctx := s.t.Context()
	slot := from.Client().ClusterKeySlot(ctx, run.KeysOf(name).Budget).Val()
	id := func(x *redistest.Server) string { return x.Client().ClusterMyID(ctx).Val() }
	do := func(x *redistest.Server, words ...any) {
		if err := x.Client().Do(ctx, words...).Err(); err != nil {
			s.t.Errorf("%v at %s: %v", words, x.Addr(), err)
		}
	}
	do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", id(from))
	do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", id(to))
	host, port, _ := net.SplitHostPort(to.Addr())
	for {
		keys := from.Client().ClusterGetKeysInSlot(ctx, int(slot), 1).Val()
		if len(keys) == 0 {
			break
		}
		do(from, "MIGRATE", host, port, keys[0], 0, 5000)
		s.last(pause)
	}
	for _, x := range []*redistest.Server{to, from} {
		do(x, "CLUSTER", "SETSLOT", slot, "NODE", id(to))
	}
	s.redis = to
}

// apart is an address of the hub that only the master of the run has.
const apart = "10.99.0.3"

// announce makes all nodes reachable on the hub, the master at its own address.
func (p *part) announce(s *stage) {
	s.t.Helper()
	ctx, all := s.t.Context(), slices.Concat(p.cluster.Masters, p.cluster.Replicas)
	for _, x := range all {
		ip := hub
		if x == s.redis {
			ip = apart
		}
		for _, set := range [][2]string{{"bind-source-addr", ip}, {"cluster-announce-ip", ip}} {
			if err := x.Client().ConfigSet(ctx, set[0], set[1]).Err(); err != nil {
				s.t.Fatalf("%v: %v", set, err)
			}
		}
	}
	await.True(s.t, "all nodes to be known on the hub", func() bool {
		for _, x := range all {
			nodes := x.Client().ClusterNodes(ctx).Val()
			if strings.Contains(nodes, "127.0.0.1") || strings.Contains(nodes, "disconnected") || strings.Contains(nodes, "fail") ||
				strings.Contains(x.Client().Info(ctx, "replication").Val(), "master_link_status:down") {
				return false
			}
		}
		return true
	})
	s.url = "redis://" + net.JoinHostPort(apart, s.port()) + "?addr=" + net.JoinHostPort(hub, portOf(p.cluster.Replicas[0])) + "&addr=" + net.JoinHostPort(hub, portOf(p.cluster.Replicas[1]))
}

// clusterScenarios: another node of a cluster takes the run over.
func clusterScenarios() []scenario {
	var p *part
	place := func(s *stage) { p = newPart(s) }
	most := func(s *stage) { s.promise(s.fault-int64(time.Second), s.ends(), failedOver) }
	list := []scenario{
		{name: "Cluster: the master is killed", when: daily, permit: 10 * time.Second, lasts: 11 * time.Second, place: place, play: func(s *stage) {
			s.breaks()
			s.redis.Kill()
			p.takenOver(s)
			most(s)
		}},
		{name: "Cluster: CLUSTER FAILOVER", lasts: 9 * time.Second, place: place, play: func(s *stage) {
			s.breaks()
			if err := p.replica.Client().ClusterFailover(s.t.Context()).Err(); err != nil {
				s.t.Fatal(err)
			}
			p.takenOver(s)
			most(s)
		}},
	}
	list = append(list, scenario{
		name: "Cluster: a partition with two masters, 3 of 8 with the old one", cut: 3, permit: 10 * time.Second, lasts: 20 * time.Second,
		place: func(s *stage) {
			s.network.outside("ip", "addr", "add", apart+"/24", "dev", "hub")
			p = newPart(s, "--bind", "127.0.0.1", hub, apart, "--protected-mode", "no")
			p.announce(s)
		},
		play: func(s *stage) {
			s.breaks()
			heal := s.partition(apart)
			old := s.redis.Client()
			p.takenOver(s)
			most(s)
			if role := old.Do(s.t.Context(), "ROLE").String(); !strings.Contains(role, "master") {
				s.t.Errorf("the old master is none any more: %s", role)
			}
			s.last(2 * time.Second)
			heal()
		},
	})
	for _, pause := range []time.Duration{0, 100 * time.Millisecond} {
		list = append(list, scenario{
			name: fmt.Sprintf("Cluster: the hash slot moves, a key each %v", pause), lasts: 9 * time.Second, place: place, play: func(s *stage) {
				s.breaks()
				p.migrate(s, pause)
				s.t.Log("moved in", time.Duration(s.web.Now()-s.fault))
				most(s)
			},
		})
	}
	return list
}
