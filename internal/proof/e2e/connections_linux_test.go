package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// connections returns the names of a server's clients, except the test's own and other servers.
func connections(t *testing.T, s *redistest.Server) (names []string) {
	t.Helper()
	for _, kind := range []string{"normal", "pubsub"} {
		list, err := s.Client().Do(t.Context(), "CLIENT", "LIST", "TYPE", kind).Text()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(list) {
			_, name, _ := strings.Cut(line, " name=")
			name, _, _ = strings.Cut(name, " ")
			if !strings.Contains(line, " cmd=client") && !strings.HasPrefix(name, "sentinel-") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestWorkerHasOneConnection: a worker process has one connection to Redis while it sends, publishes and listens, and
// the connection has its name. The worker that judges the run has one more. In a cluster each node has at most one of a
// worker.
func TestWorkerHasOneConnection(t *testing.T) {
	t.Parallel()
	args := func(b *bed, name, id string, more ...string) []string {
		return append([]string{"run", "--run", name, "--id", id, "-o", "json", "--url", b.web.URL(), "--qps", "200", "--min-workers", "2"}, more...)
	}
	watched := redistest.StartWatched(t, redistest.WatchedOptions{})
	cluster := redistest.StartCluster(t, 3)
	for what, c := range map[string]struct {
		bed  func(t *testing.T) (*bed, string)
		url  func(*bed) string
		args []string
		more string // connections beyond one for each worker
	}{
		"standalone": {bed: func(t *testing.T) (*bed, string) { return newBed(t), "x" }, url: (*bed).url},
		"judged": {
			bed: func(t *testing.T) (*bed, string) { return newBed(t), "x" }, url: (*bed).url,
			args: []string{"--threshold", "errors:rate<0.5 over 5s abort after 3"}, more: " ",
		},
		"cluster":  {bed: func(t *testing.T) (*bed, string) { return on(t, cluster) }, url: (*bed).url},
		"Sentinel": {bed: func(t *testing.T) (*bed, string) { b := newBed(t); b.redis = watched.Servers[0]; return b, "x" }, url: func(*bed) string { return watched.URL() }},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b, name := c.bed(t)
			one := launch(t, c.url(b), "loadworker", args(b, name, "one", c.args...)...)
			two := launch(t, c.url(b), "loadworker", args(b, name, "two", c.args...)...)
			await.True(t, "load", func() bool { return b.web.Count() > 100 })
			await.True(t, "a snapshot", func() bool { return b.redis.Client().HLen(t.Context(), run.KeysOf(name).Totals).Val() >= 2 })
			want := fmt.Sprintf("[%sloadworker:%s:one loadworker:%s:two]", c.more, name, name)
			// One more that stays is never gone. The judge may change, and then both have one for a moment.
			for range 4 {
				await.True(t, want, func() bool { return fmt.Sprint(connections(t, b.redis)) == want })
				since := time.Now()
				await.True(t, "another call of each", func() bool { // asked by another process: the test would have connections too
					return !slices.ContainsFunc(b.status(name).Workers, func(w run.Worker) bool { return !w.LastSeen.After(since) })
				})
			}
			if b.cluster != nil {
				for _, s := range b.cluster.Masters {
					await.True(t, "one connection of each to "+s.Addr(), func() bool {
						got := connections(t, s)
						return len(slices.Compact(slices.Clone(got))) == len(got)
					})
				}
			}
			for _, p := range []*process{one, two} {
				p.signal(syscall.SIGTERM)
				p.wait(105)
			}
		})
	}
}

// TestRefusedWorkerComesIn: a worker for which Redis has no room says so, waits, and joins as soon as there is room.
// After --start-timeout it gives up.
func TestRefusedWorkerComesIn(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	limit := func(n string) {
		if err := b.redis.Client().ConfigSet(t.Context(), "maxclients", n).Err(); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	args := []string{"--url", b.web.URL(), "--qps", "200", "-n", "200"}
	gone := b.worker("x", append(args, "--start-timeout", "1s")...)
	gone.wait(104)
	if said := gone.Stderr.String(); !strings.Contains(said, "max number of clients reached; raise its maxclients") {
		t.Error(said)
	}
	p := b.worker("x", append(unhurried(), append(args, "--permit-for", scale("10m", "10s"), "--start-timeout", "0")...)...)
	p.says("Redis refuses this worker for now; trying again")
	limit("100")
	p.wait(0)
	if n := b.web.Count(); n != 200 {
		t.Errorf("%d requests arrived, want 200", n)
	}
}
