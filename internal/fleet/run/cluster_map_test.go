package run

import (
	"fmt"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestClusterFailoverIsFollowed: a replica takes over from a master that is alive, and from one that was killed. The
// client soon uses the new master.
func TestClusterFailoverIsFollowed(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	c.Replicate(t)
	client := connected(t, c.URL())
	names := spread(t, c)
	for i, killed := range []bool{false, true} {
		master := c.Masters[i]
		r, _, err := Create(t.Context(), client, names[master], constant(1), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if killed {
			master.Kill()
		}
		c.TakeOver(t, i)
		began := time.Now() // all nodes know the new master
		await.True(t, fmt.Sprint("a renewal at the new master ", i), func() bool {
			reply, err := leased(t.Context(), r, client, redistest.CallPatience())
			return err == nil && reply.Status != ""
		})
		redistest.CheckSoon(t, "a renewal succeeds at the new master", began)
	}
}
