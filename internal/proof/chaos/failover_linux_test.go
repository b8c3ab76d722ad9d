package chaos

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// A pair is a server and its replica. All programs reach the current master through one proxy.
type pair struct {
	replica *redistest.Server
	front   *proxy // to the master
	link    *proxy // from the replica to the master
}

// newPair starts both, and waits until the replica follows the master.
func newPair(s *stage) *pair {
	s.t.Helper()
	s.redis = redistest.Start(s.t, "--repl-diskless-sync-delay", "0")
	p := &pair{front: newProxy(s.t, s.redis.Addr(), 0, 0), link: newProxy(s.t, s.redis.Addr(), 0, 0)}
	_, port, _ := net.SplitHostPort(p.link.addr())
	p.replica = redistest.Start(s.t, "--replicaof", "127.0.0.1", port)
	await.True(s.t, "the replica", func() bool {
		info, err := p.replica.Client().Info(s.t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
	s.url = "redis://" + p.front.addr()
	return p
}

// promote makes the replica the master; the old one is dead.
func (p *pair) promote(s *stage) {
	s.t.Helper()
	s.redis.Kill()
	if err := p.replica.Client().Do(s.t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		s.t.Fatal(err)
	}
	s.redis = p.replica
	p.front.lead(s.redis.Addr())
}

// failoverScenarios: a replica takes over, with or without the last moments.
func failoverScenarios() []scenario {
	var all []scenario
	for _, lag := range []time.Duration{0, 300 * time.Millisecond, 900 * time.Millisecond} {
		var p *pair
		all = append(all, scenario{
			name: fmt.Sprintf("the replica takes over, %v behind", lag), lasts: 9 * time.Second,
			place: func(s *stage) { p = newPair(s) },
			play: func(s *stage) {
				if lag > 0 {
					p.link.freeze()
					s.last(lag)
				}
				s.breaks()
				p.promote(s)
			},
		})
	}
	return all
}
