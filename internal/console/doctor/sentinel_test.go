package doctor

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/targets/probe"
	"github.com/loadctl/loadctl/targets/resp"
)

// TestSentinel: a master that Sentinels watch, then without one of them, then with one only.
func TestSentinel(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, redistest.WatchedOptions{
		Replicas: 1, Server: []string{"--save", "3600 1"}, Sentinel: []string{"sentinel down-after-milliseconds " + redistest.MasterName + " 5000"},
	})
	found := func(url string) map[string]Finding {
		client, err := link.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		findings := map[string]Finding{}
		for _, f := range Redis(t.Context(), client, 0) {
			findings[f.Check] = f
		}
		return findings
	}
	all := found(w.URL())
	master := w.Servers[0].Addr()
	wants(t, "whole", all["sentinel"], OK, "3 Sentinels watch "+master, "quorum 2", "replicas: 1", "after 7s")
	wants(t, "whole", all["reachable"], OK, master+", the master "+redistest.MasterName)
	wants(t, "whole", all["role"], OK, "master")
	wants(t, "whole", all["replication"], Warn, "min-replicas-to-write 1")
	wants(t, "whole", all["scripts"], OK)
	client, err := link.Connect(t.Context(), w.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	id := resp.RunID(w.Servers[0].Client().Info(t.Context(), "server").Val())
	if h := FindHolders(t.Context(), client); !h.Has(probe.RedisServer{ID: id}) || h.Has(probe.RedisServer{ID: "other"}) {
		t.Errorf("who holds the runs: %+v", h)
	}
	one, _, _ := strings.Cut(w.URL(), "&addr=")
	wants(t, "one is named", found(one)["sentinel"], Warn, "names 1 of 3", "&addr=host:port")
	for _, s := range w.Sentinels {
		if err := s.Client().Do(t.Context(), "ACL", "SETUSER", "poor", "on", ">"+secret, "+@connection", "+sentinel|get-master-addr-by-name", "+subscribe").Err(); err != nil {
			t.Fatal(err)
		}
	}
	poor := w.URL() + "&sentinel_username=poor&sentinel_password=" + secret
	wants(t, "a poor user", found(poor)["sentinel"], Warn, "unknown: NOPERM", "+sentinel|ckquorum")
	w.Sentinels[1].Kill()
	wants(t, "one is gone", found(w.URL())["sentinel"], Warn, w.Addrs()[1]+" does not answer", "start it")
	w.Sentinels[2].Kill()
	await.True(t, "the last one to notice", func() bool {
		return strings.Contains(w.Sentinels[0].Client().Do(t.Context(), "SENTINEL", "CKQUORUM", redistest.MasterName).String(), "NOQUORUM")
	})
	wants(t, "one is left", found(one)["sentinel"], Bad, "NOQUORUM", "SENTINEL SENTINELS "+redistest.MasterName)
}

// TestSentinelViews: possible answers of other Sentinels.
func TestSentinelViews(t *testing.T) {
	t.Parallel()
	refusal := redistest.Start(t).Client().Do(t.Context(), "NO", "SUCH").Err()
	if _, is := errors.AsType[redis.Error](refusal); !is {
		t.Fatal(refusal)
	}
	master := map[string]string{"ip": "10.0.0.5", "port": "6379", "num-other-sentinels": "2", "num-slaves": "2", "quorum": "2", "down-after-milliseconds": "5000"}
	but := func(field, value string) view {
		m := maps.Clone(master)
		m[field] = value
		return view{addr: "a:1", master: m}
	}
	good := but("quorum", "2")
	silent := view{addr: "b:2", err: errors.New("connection refused")}
	for _, c := range []struct {
		views []view
		state string
		says  string
	}{
		{[]view{good, good, good}, OK, "3 Sentinels watch 10.0.0.5:6379, quorum 2; replicas: 2; a dead master is replaced after 7s"},
		{[]view{good, good, but("num-slaves", "0")}, Warn, "no replica could take over from 10.0.0.5:6379"},
		{[]view{but("num-other-sentinels", "1"), good}, Warn, "2 of them watch"},
		{[]view{good, good, but("down-after-milliseconds", "30000")}, Warn, "a dead master is replaced after 32s, and workers go on for 7.5s"},
		{[]view{good, silent, good}, Warn, "b:2 does not answer"},
		{[]view{silent, silent}, Bad, "none of the Sentinels"},
		{[]view{good, {addr: "c:3", err: refusal}, good}, Warn, "c:3 (" + refusal.Error() + ") does not know the master"},
		{[]view{good, but("ip", "10.0.0.6"), good}, Warn, "they disagree: a:1 says that 10.0.0.5:6379 is the master, and a:1 says 10.0.0.6:6379"},
		{[]view{silent, {addr: "c:3", err: refusal}}, Warn, "unknown: "},
		{[]view{{addr: "a:1", master: master, quorum: errors.New("NOPERM this user")}, good, good}, OK, "3 Sentinels"},
	} {
		wants(t, c.says, watching("m", c.views), c.state, c.says)
	}
}
