package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterChecks returns the checks of a server, and one that only a part of a cluster needs.
func clusterChecks() []serverCheck { return append(serverChecks(), serverCheck{"cluster", coverage}) }

// hashSlots is the number of hash slots of a Redis Cluster.
const hashSlots = 16384

// coverage checks that each hash slot is served: the name of a run decides in which one it is. Each master has its own
// view.
func coverage(ctx context.Context, s *server) Finding {
	const mend = "start the missing masters again: redis-cli cluster nodes shows them"
	text, err := s.node.ClusterInfo(ctx).Result()
	if err != nil {
		return s.unclear(err)
	}
	info := parseInfo(text)
	n, err := strconv.Atoi(info["cluster_slots_ok"])
	served := fmt.Sprintf("%d of %d hash slots are served", n, hashSlots)
	switch {
	case err != nil:
		return s.unclear(errNoValue)
	case info["cluster_state"] != "ok":
		return bad("down, "+served, mend)
	case n < hashSlots:
		return bad(served+": a run in another one cannot be reached", mend)
	}
	return s.replacement(ctx)
}

// replacement checks how soon a dead master is replaced. Without a replica it is never replaced.
func (s *server) replacement(ctx context.Context) Finding {
	const served = "all hash slots are served"
	if replicas, _ := s.field(ctx, "connected_slaves"); replicas == "" || replicas == "0" {
		return ok(served)
	}
	text, err := s.setting(ctx, "cluster-node-timeout")
	if err != nil {
		return ok(served + "; cluster-node-timeout was not checked: an administrator can read it with redis-cli CONFIG GET cluster-node-timeout")
	}
	ms, _ := strconv.Atoi(text)
	if dead := time.Duration(ms) * time.Millisecond; dead+election > bridged {
		return warn(fmt.Sprintf("a dead master is replaced after %v, and workers go on for %v without one", dead+election, bridged),
			"redis-cli CONFIG SET cluster-node-timeout 5000, or give runs a longer --permit-for")
	}
	return ok(served)
}

// inspectCluster checks all masters at the same time: a run may be on any of them.
func inspectCluster(ctx context.Context, cluster *redis.ClusterClient, expected int) []Finding {
	var mu sync.Mutex
	nodes := map[string][]Finding{}
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		findings := inspect(ctx, &server{node: node, whole: cluster, expected: expected}, clusterChecks())
		mu.Lock()
		defer mu.Unlock()
		nodes[node.Options().Addr] = findings
		return nil
	})
	if err != nil {
		return []Finding{Unreachable(err)}
	}
	return worst(nodes)
}

// worst returns for each check the worst finding of all nodes, and where it was found.
func worst(nodes map[string][]Finding) []Finding {
	var out []Finding
	for _, check := range clusterChecks() {
		var of Finding
		var at []string // the nodes with the same state
		alike := true   // all of these have the same text
		for _, addr := range slices.Sorted(maps.Keys(nodes)) {
			for _, f := range nodes[addr] {
				switch {
				case f.Check != check.name || severity(f) < severity(of):
				case severity(f) > severity(of):
					of, at, alike = f, []string{addr}, true
				default:
					at, alike = append(at, addr), alike && f.Found == of.Found
				}
			}
		}
		if of.Check != "" {
			out = append(out, together(of, at, alike, len(nodes)))
		}
	}
	return out
}

// together combines the findings of some of n masters: it takes the text of the first one and says which masters have
// it.
func together(of Finding, at []string, alike bool, n int) Finding {
	where := strings.Join(at, ", ")
	switch {
	case len(at) == n && n > 1:
		where = fmt.Sprintf("all %d masters", n)
	case of.State == OK && n > 1: // the others are silent; their own findings say so
		where = fmt.Sprintf("%d of %d masters", len(at), n)
	}
	if !alike {
		where += ", such as " + at[0]
	}
	of.Found = where + ": " + of.Found
	if strings.HasPrefix(of.Mend, "redis-cli CONFIG") {
		of.Mend = "on each of them: " + of.Mend
	}
	return of.of(of.Check)
}

// severity orders findings; an absent one comes first.
func severity(f Finding) int { return slices.Index([]string{OK, Warn, Bad}, f.State) }
