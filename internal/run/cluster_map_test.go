package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/redistest"
)

// TestClusterFailoverIsFollowed: a replica takes over from a master, on command or because the master was killed.
// Soon the client is with it.
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
			if time.Since(began) > soon {
				t.Fatalf("master %d: no renewal %v after all nodes know the new one: %v", i, time.Since(began), err)
			}
		}
	}
}

// line is the line of a text that contains a word.
func line(text, word string) string {
	for l := range strings.Lines(text) {
		if strings.Contains(l, word) {
			return l
		}
	}
	return ""
}

// TestReloading: the map is reloaded if a node is gone or cannot serve, but not because of an answer of the node in
// charge.
func TestReloading(t *testing.T) {
	client := redistest.Start(t).Client()
	_, refused := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t)))
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{refused, 1},
		{context.DeadlineExceeded, 1},
		{redis.Nil, 0},
		{client.Do(t.Context(), "NO", "SUCH").Err(), 0},
		{client.Eval(t.Context(), "return {err = 'CLUSTERDOWN The cluster is down'}", nil).Err(), 1},
	} {
		n := 0
		hook := reloading{func(context.Context) { n++ }}
		one := hook.ProcessHook(func(context.Context, redis.Cmder) error { return c.err })(t.Context(), nil)
		many := hook.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { return c.err })(t.Context(), nil)
		if n != 2*c.want || !errors.Is(one, c.err) || !errors.Is(many, c.err) {
			t.Errorf("%v: loaded %d times, errors %v, %v", c.err, n, one, many)
		}
	}
}
