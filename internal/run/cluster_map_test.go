package run

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/redistest"
)

// TestClusterFailoverIsFollowed: a replica takes over, on command or because its master was killed. The client soon
// uses the new master.
func TestClusterFailoverIsFollowed(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	c.Replicate(t)
	client := connected(t, c.URL())
	names := spread(t, c)
	for i, how := range []func(master, replica *redistest.Server){
		func(_, replica *redistest.Server) {
			if err := replica.Client().ClusterFailover(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		},
		func(master, _ *redistest.Server) { master.Kill() },
	} {
		master, replica := c.Masters[i], c.Replicas[i]
		r, _, err := Create(t.Context(), client, names[master], constant(1), Options{})
		if err != nil {
			t.Fatal(err)
		}
		how(master, replica)
		others := slices.DeleteFunc(slices.Concat(c.Masters, c.Replicas), func(s *redistest.Server) bool { return s == master })
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			known := true
			for _, s := range others {
				known = known && strings.Contains(line(s.Client().ClusterNodes(t.Context()).Val(), replica.Addr()), "master")
			}
			if known {
				break
			}
			if time.Since(began) > 20*time.Second {
				t.Fatal("the replica does not take over")
			}
		}
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			reply, err := leased(t.Context(), r, client, 250*time.Millisecond)
			if err == nil && reply.Status != "" {
				break
			}
			if time.Since(began) > redistest.Soon {
				t.Fatalf("master %d: no renewal %v after all nodes know the new one: %v", i, time.Since(began), err)
			}
		}
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
