package doctor

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// inspectCluster looks at all masters at the same time: a run may live on any of them.
func inspectCluster(ctx context.Context, cluster *redis.ClusterClient) []Finding {
	var mu sync.Mutex
	nodes := map[string][]Finding{}
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		findings := inspect(ctx, &server{node: node, whole: cluster})
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

// worst is of each check the worst finding of all nodes, and where it was made.
func worst(nodes map[string][]Finding) []Finding {
	var out []Finding
	for _, check := range serverChecks() {
		var of Finding
		for _, addr := range slices.Sorted(maps.Keys(nodes)) {
			for _, f := range nodes[addr] {
				if f.Check == check.name && severity(f) > severity(of) {
					of = f
					of.Found = addr + ": " + f.Found
				}
			}
		}
		if of.Check != "" {
			out = append(out, of)
		}
	}
	return out
}

// severity orders findings; none at all comes first.
func severity(f Finding) int { return slices.Index([]string{OK, Warn, Bad}, f.State) }
