package doctor

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// startCluster starts one in which a dead master is noticed soon enough.
func startCluster(t *testing.T) *redistest.Cluster {
	t.Helper()
	return redistest.StartCluster(t, 3, "--cluster-node-timeout", "5000")
}

// TestClusterCoverage: a cluster in which some hash slots are not served, and then one of which most is gone.
func TestClusterCoverage(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	client, err := link.Connect(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	found := func() Finding { return clusterFinding(t, client) }
	wants(t, "whole", found(), OK, "all 3 masters: all hash slots are served")
	if err := c.Masters[1].Client().ClusterDelSlots(t.Context(), 8000).Err(); err != nil {
		t.Fatal(err)
	}
	wants(t, "one is missing", found(), Bad, c.Masters[1].Addr()+": 16383 of 16384 hash slots are served", "redis-cli cluster nodes")
	c.Masters[0].Kill()
	c.Masters[1].Kill()
	await.True(t, "the last one to notice", func() bool {
		return strings.Contains(c.Masters[2].Client().ClusterInfo(t.Context()).Val(), "cluster_state:fail")
	})
	wants(t, "most are missing", found(), Bad, c.Masters[2].Addr()+": down, ", "redis-cli cluster nodes")
}

// TestClusterNodeTimeout: a cluster whose replicas take over only after leases have ended. A user who may not read
// the setting is told that it was not checked.
func TestClusterNodeTimeout(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.Replicate(t)
	wants(t, "soon", clusterFinding(t, c.Client()), OK, "all 3 masters: all hash slots are served")
	for _, s := range c.Masters {
		if err := s.Client().ConfigSet(t.Context(), "cluster-node-timeout", "15000").Err(); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, "late", clusterFinding(t, c.Client()), Warn, "a dead master is replaced after 17s, and workers go on for 7.5s", "on each of them: redis-cli CONFIG SET cluster-node-timeout 5000")
	for _, s := range c.Masters {
		if err := s.Client().Do(t.Context(), "ACL", "SETUSER", "default", "-config").Err(); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, "unknown", clusterFinding(t, c.Client()), OK, "all 3 masters: all hash slots are served; cluster-node-timeout was not checked")
}

// clusterFinding returns the finding about the cluster as a whole.
func clusterFinding(t *testing.T, client rdb.Client) Finding {
	t.Helper()
	for _, f := range Redis(t.Context(), client, 0) {
		if f.Check == "cluster" {
			return f
		}
	}
	t.Fatal("nothing was found out about the cluster")
	return Finding{}
}

// TestClusterPermissions: a user with the permissions that doctor advises can use a cluster. A user who may not ask for
// its nodes is told so.
func TestClusterPermissions(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	users := map[string]string{"able": OperatorPermissions, "blind": OperatorPermissions + " -cluster", "unsure": OperatorPermissions + " -cluster|info"}
	for user, may := range users {
		for _, s := range c.Masters {
			rule := []any{"ACL", "SETUSER", user, "on", ">right"}
			for word := range strings.FieldsSeq(may) {
				rule = append(rule, word)
			}
			if err := s.Client().Do(t.Context(), rule...).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	as := func(user string) string { return strings.Replace(c.URL(), "redis://", "redis://"+user+":right@", 1) }
	if _, err := link.Connect(t.Context(), as("blind")); err == nil {
		t.Error("connected without CLUSTER SLOTS")
	} else {
		wants(t, "blind", Unreachable(err), Bad, "NOPERM", "+cluster|slots")
	}
	for user, state := range map[string]string{"able": OK, "unsure": Warn} {
		client, err := link.Connect(t.Context(), as(user))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for _, f := range Redis(t.Context(), client, 0) {
			switch f.Check {
			case "cluster":
				wants(t, user, f, state)
			case "persistence": // there is none
			default:
				wants(t, user, f, OK)
			}
		}
	}
}

// TestClusterIsTold: each finding says which masters it concerns; a dead master has only that finding.
func TestClusterIsTold(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	client, err := link.Connect(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, f := range Redis(t.Context(), client, 0) {
		state, mend := OK, ""
		if f.Check == "persistence" {
			state, mend = Warn, "on each of them: redis-cli CONFIG SET appendonly yes"
		}
		wants(t, f.Check, f, state, "all 3 masters", mend)
	}
	if err := c.Masters[0].Client().ConfigSet(t.Context(), "appendonly", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	dead := c.Owner(t, "load:runs") // what each scratch run is listed in
	dead.Kill()
	for _, f := range Redis(t.Context(), client, 0) {
		switch f.Check {
		case "reachable":
			wants(t, f.Check, f, Bad, dead.Addr()+": ", "start the server")
		case "cluster": // it is noticed there a moment later
		case "persistence":
			wants(t, f.Check, f, Warn, "none: a restart")
		default:
			wants(t, f.Check, f, OK, "2 of 3 masters")
		}
	}
}
