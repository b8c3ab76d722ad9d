package run

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/await"
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
		await.True(t, "the replica to take over", func() bool {
			for _, s := range others {
				if !strings.Contains(line(s.Client().ClusterNodes(t.Context()).Val(), replica.Addr()), "master") {
					return false
				}
			}
			return true
		})
		began := time.Now() // all nodes know the new master
		await.True(t, fmt.Sprint("a renewal at the new master ", i), func() bool {
			reply, err := leased(t.Context(), r, client, redistest.CallPatience())
			return err == nil && reply.Status != ""
		})
		redistest.CheckSoon(t, "a renewal succeeds at the new master", began)
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
