package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer/lease"
)

// spread returns the name of a run for each of the masters.
func spread(t *testing.T, c *redistest.Cluster) map[*redistest.Server]string {
	t.Helper()
	names := map[*redistest.Server]string{}
	for len(names) < len(c.Masters) {
		name := NewID()
		names[c.Owner(t, KeysOf(name).Budget)] = name
	}
	return names
}

// TestConnectToACluster: runs can be on all nodes, whichever nodes the URL names.
func TestConnectToACluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	for _, s := range c.Masters {
		if err := s.Client().Do(t.Context(), "ACL", "SETUSER", "known", "on", ">right", "allkeys", "allchannels", "+@all").Err(); err != nil {
			t.Fatal(err)
		}
	}
	addrs, closed := c.Addrs(), fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	const from = "redis://known:right@"
	for _, address := range []string{
		from + addrs[0], from + addrs[1] + "/0", from + addrs[2] + "?db=0", from + addrs[0] + "?protocol=2",
		from + addrs[0] + "?addr=" + addrs[0], from + addrs[0] + "?addr=" + addrs[1] + "&addr=" + addrs[2],
		from + closed + "?addr=" + addrs[1], from + addrs[1] + "/0?addr=" + closed,
	} {
		client := connected(t, address)
		for server, name := range spread(t, c) {
			if _, created, err := Create(t.Context(), client, name, constant(1), Options{}); err != nil || !created {
				t.Fatalf("%s: %v", address, err)
			}
			if n := server.Client().Exists(t.Context(), KeysOf(name).Budget).Val(); n != 1 {
				t.Errorf("%s is not where it should be", name)
			}
			entries, err := List(t.Context(), client)
			if err != nil || !slices.ContainsFunc(entries, func(e Entry) bool { return e.Run == name }) {
				t.Errorf("%s: %+v, error %v", address, entries, err)
			}
			if err := Remove(t.Context(), client, name, true); err != nil {
				t.Error(err)
			}
		}
		if entries, err := List(t.Context(), client); err != nil || len(entries) != 0 {
			t.Errorf("%s: %+v, error %v", address, entries, err)
		}
	}
	b := &bed{T: t}
	for address, says := range map[string]string{
		"redis://known:hunter2@" + addrs[0]:                       "WRONGPASS",
		from + addrs[0] + "/3":                                    "a cluster has only database 0: leave the number out",
		from + addrs[0] + "?addr=" + addrs[1] + "&read_only=true": "leave out read_only",
		from + addrs[0] + "?addr=" + addrs[1] + "&what=hunter2":   "unexpected option",
	} {
		_, err := answered(t, address)
		b.wants(err, nil, says, "Redis")
	}
}

// TestBadClusterURLs: each error is one line that says what to do, and shows no password.
func TestBadClusterURLs(t *testing.T) {
	t.Parallel()
	b := &bed{T: t}
	const form = "write redis://[user:password@]host:port?addr=host:port"
	for address, says := range map[string]string{
		"redis://:hunter2@a:1/3?addr=b:2":                     "read the Redis URL of a:1: a cluster has only database 0; " + form,
		"redis://:hunter2@a:1/hunter3?addr=b:2":               "a cluster has only database 0; " + form,
		"redis://:hunter2@a:1?addr=b:2&db=1":                  "a cluster has only database 0; " + form,
		"unix:///tmp/socket?addr=b:2":                         "needs host and port, not a socket; " + form,
		"redis://:hunter2@a:1?addr=":                          "unable to parse addr param; " + form,
		"redis://:hunter2@a:1?addr=b":                         "unable to parse addr param; " + form,
		"redis://:hunter2@a:1?addr=b:2,c:3":                   "an addr is not of the form host:port; " + form,
		"redis://:hunter2@a:1?addr=u:hunter3%2540b:2":         "an addr is not of the form host:port; " + form,
		"redis://:hunter2@a:1?addr=:hunter3:b:2":              "an addr is not of the form host:port; " + form,
		"redis://:hunter2@a:1?addr=b:2&route_randomly=1":      "leave out read_only, route_by_latency and route_randomly; " + form,
		"redis://:hunter2@a:1?addr=b:2&route_by_latency=true": "leave out read_only",
		"redis://:hunter2@a:1?addr=b:2&read_timeout=x":        "invalid read_timeout",
		"redis://:hunter2@a:1?addr=:hunter3@b:2":              "not of the form redis://",
		"redis://:hunter2@a:1?addr=:hunter3%40b:2":            "not of the form redis://",
	} {
		_, err := link.Connect(t.Context(), address)
		b.wants(err, nil, says)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q", address, err)
		}
	}
}

// TestMovedIsFollowed: a hash slot moves to another master after the client has learned where it is.
func TestMovedIsFollowed(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	client := connected(t, c.URL())
	for _, name := range spread(t, c) {
		from := c.Owner(t, KeysOf(name).Budget)
		to := c.Masters[(slices.Index(c.Masters, from)+1)%3]
		slot := from.Client().ClusterKeySlot(t.Context(), KeysOf(name).Budget).Val()
		id := to.Client().ClusterMyID(t.Context()).Val()
		for _, s := range append([]*redistest.Server{to}, c.Masters...) { // the node that gets the hash slot has to know first
			if err := s.Client().Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", id).Err(); err != nil {
				t.Fatal(err)
			}
		}
		r, _, err := Create(t.Context(), client, name, constant(1), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s, err := r.State(t.Context()); err != nil || s.Phase != "waiting" && s.Phase != "running" {
			t.Errorf("%+v, error %v", s, err)
		}
		if n := to.Client().Exists(t.Context(), KeysOf(name).Budget).Val(); n != 1 {
			t.Errorf("%s is not where its slot has gone", name)
		}
	}
}

// TestClusterHangs: a call without a deadline is tried once, for as long as one answer may take. The library would try
// it four times. No call waits for a node other than the one with the run.
func TestClusterHangs(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	runs := map[*redistest.Server]*Run{}
	for s, name := range spread(t, c) {
		r, _, err := Create(t.Context(), connected(t, c.URL()), name, constant(1), Options{})
		if err != nil {
			t.Fatal(err)
		}
		runs[s] = r
	}
	hangs := c.Masters[(slices.Index(c.Masters, c.Owner(t, index))+1)%3]
	hasty := runs[hangs].WithClient(connected(t, c.URL()+"&read_timeout=300ms"))
	tries := triesOf(t, hasty.Client, "xrevrange")
	await.True(t, "the call of a node that hangs", func() bool { // a slow machine may call nobody in the time of one answer
		await.True(t, "a connection", func() bool { _, err := hasty.StartedAt(t.Context()); return err == nil })
		hangs.Pause()
		defer hangs.Resume()
		for s, r := range runs {
			if s == hangs {
				r = hasty
			}
			if _, err := r.Events(t.Context(), 1); (err != nil) != (s == hangs) || s == hangs && !link.Unanswered(err) {
				t.Errorf("hangs %v: error %v", s == hangs, err)
			}
		}
		return tries.Load() > 0
	})
	if n := tries.Load(); n != 1 {
		t.Errorf("it was called %d times", n)
	}
	hangs.Pause()
	defer hangs.Resume()
	for range 5 { // whichever node is asked first
		client := connected(t, c.URL())
		for s, r := range runs {
			if s == hangs {
				continue
			}
			if reply, err := leased(t.Context(), r, client, time.Hour); err != nil || reply.Status == "" {
				t.Errorf("%+v, error %v", reply, err)
			}
		}
		if _, err := leased(t.Context(), runs[hangs], client, 250*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) && !link.Unanswered(err) {
			t.Errorf("leased from the one that hangs: error %v", err)
		}
	}
	for _, s := range c.Masters {
		if s == hangs {
			continue
		}
		if text := s.Client().Info(t.Context(), "commandstats").Val(); strings.Contains(text, "cmdstat_command:") {
			t.Errorf("%s was asked for all commands there are: that goes by no deadline", s.Addr())
		}
	}
}

// tried counts the tries of a command. One that begins when the call's time is over cannot send anything.
type tried struct {
	seen
	command string
	n       *atomic.Int64
}

func (h tried) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if end, ok := ctx.Deadline(); cmd.Name() == h.command && (!ok || time.Now().Before(end)) {
			h.n.Add(1)
		}
		return next(ctx, cmd)
	}
}

// triesOf counts from now on how often a client of a cluster calls one of its nodes with this command.
func triesOf(t *testing.T, client rdb.Client, command string) *atomic.Int64 {
	t.Helper()
	var tries atomic.Int64
	count := tried{command: command, n: &tries}
	err := client.(*redis.ClusterClient).ForEachMaster(t.Context(), func(_ context.Context, node *redis.Client) error {
		node.AddHook(count)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &tries
}

// leased makes the first call of a new worker.
func leased(ctx context.Context, r *Run, client rdb.Client, patience time.Duration) (lease.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.Leases(client).Renew(ctx, lease.NewHolder(NewID(), NewID(), 1).Call())
}
