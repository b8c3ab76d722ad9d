package doctor

import (
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

func TestConnections(t *testing.T) {
	for _, c := range []struct {
		expected, most, connected int
		state                     string
		says                      []string
	}{
		{0, 10_000, 3, OK, []string{"maxclients is 10000, 3 are connected: room for 9977 more workers"}},
		{0, 10, 3, OK, []string{"room for 0 more workers"}},
		{9977, 10_000, 3, OK, nil},
		{9978, 10_000, 3, Bad, []string{
			"9978 workers are expected, but there is room for 9977: maxclients is 10000, 3 are connected", "CONFIG SET maxclients 10001,", "10033 file descriptors",
		}},
		{1, 4, 4, Bad, []string{"room for 0", "CONFIG SET maxclients 25,"}},
	} {
		wants(t, c, judgeConnections(c.expected, c.most, c.connected), c.state, c.says...)
	}
	wants(t, "enough", judgeRedisDescriptors(3000, 3052), OK, "3052, enough for a Redis on this machine with 3000 workers")
	wants(t, "one less", judgeRedisDescriptors(3000, 3051), Warn, "needs 3052 file descriptors for 3000 workers, 3051 are allowed", "ulimit -n 3052 as root")
	for _, f := range Machine(1, 1_000_000_000) {
		if f.Check == "redis descriptors" && f.Found != "unknown" {
			wants(t, "more than any limit", f, Warn, "1000000052")
		}
	}
}

// TestRoomForWorkers: servers with a small maxclients: alone, in a cluster, and as Sentinels.
func TestRoomForWorkers(t *testing.T) {
	t.Parallel()
	finding := func(url, check string, expected int) Finding {
		t.Helper()
		client, err := link.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for _, f := range Redis(t.Context(), client, expected) {
			if f.Check == check {
				return f
			}
		}
		t.Fatalf("%s: no finding %q", url, check)
		return Finding{}
	}
	small := redistest.Start(t, "--maxclients", "50")
	wants(t, "few", finding(small.URL(), "connections", 10), OK, "maxclients is 50")
	wants(t, "many", finding(small.URL(), "connections", 100), Bad, "100 workers are expected", "maxclients is 50", "redis-cli CONFIG SET maxclients 1")
	wants(t, "not told", finding(small.URL(), "connections", 0), OK, "room for ")

	cluster := redistest.StartCluster(t, 3)
	if err := cluster.Masters[1].Client().ConfigSet(t.Context(), "maxclients", "50").Err(); err != nil {
		t.Fatal(err)
	}
	wants(t, "one of a cluster", finding(cluster.URL(), "connections", 100), Bad, cluster.Masters[1].Addr(), "100 workers are expected")

	watched := redistest.StartWatched(t, redistest.WatchedOptions{Sentinel: []string{"maxclients 60"}})
	wants(t, "the master", finding(watched.URL(), "connections", 100), OK, "room for")
	wants(t, "Sentinels", finding(watched.URL(), "sentinel connections", 100), Bad, "maxclients is 60", "configuration file of each Sentinel")
	wants(t, "few for Sentinels", finding(watched.URL(), "sentinel connections", 5), OK, "maxclients is 60")
}
