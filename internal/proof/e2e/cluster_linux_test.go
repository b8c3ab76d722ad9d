package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/evenness"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/pacer/limit"
)

// clusterRate is what two workers send on a cluster.
const clusterRate = 500

// on returns a new bed on a cluster, and the name of a run on one of its masters: the bed's redis. The list of runs is
// on another master.
func on(t *testing.T, c *redistest.Cluster) (b *bed, name string) {
	t.Helper()
	web, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	b = &bed{t: t, cluster: c, web: web}
	for name = run.NewID(); b.owner(name) == b.index(); name = run.NewID() {
	}
	b.redis = b.owner(name)
	return b, name
}

// owner returns the master that has a run.
func (b *bed) owner(name string) *redistest.Server {
	b.t.Helper()
	return b.cluster.Owner(b.t, run.KeysOf(name).Budget)
}

// index returns the master that has the list of runs.
func (b *bed) index() *redistest.Server {
	b.t.Helper()
	return b.cluster.Owner(b.t, "load:runs")
}

// pair starts two workers that begin together, each with a URL of its own.
func (b *bed) pair(name string, urls []string, args ...string) []*process {
	b.t.Helper()
	args = append([]string{"run", "--run", name, "-o", "json", "--url", b.web.URL(), "--qps", fmt.Sprint(clusterRate), "--min-workers", "2"}, args...)
	return []*process{launch(b.t, urls[0], "loadworker", args...), launch(b.t, urls[len(urls)-1], "loadworker", args...)}
}

// allSent checks that a run that has ended sent all that was asked for, however often that changed. On a busy machine a
// worker may receive a stop late, and a stop drops what is late; the audit counts both.
func (b *bed) allSent(name string) {
	b.t.Helper()
	r := b.report(name)
	if a := r.Audit; a.Sent+a.LateDropped != a.Asked+a.Overrun || acceptance() && a.Overrun+a.LateDropped > 0 || b.web.Count() != written(r) || !r.Complete {
		b.t.Errorf("%d arrived, %+v, complete %v %v", b.web.Count(), a, r.Complete, r.Notes)
	}
}

// printsExactly checks what a worker printed. If others were too slow for it, it says that its report is not complete.
func (b *bed) printsExactly(p *process, n int64) {
	b.t.Helper()
	if r := p.printed(); acceptance() || r.Complete {
		b.exact(r, n)
	}
}

// oneSlot checks that all keys of a run are on the node of its budget, and nowhere else.
func (b *bed) oneSlot(name string) {
	b.t.Helper()
	slot := b.redis.Client().ClusterKeySlot(b.t.Context(), run.KeysOf(name).Budget).Val()
	for _, s := range b.cluster.Masters {
		keys, err := s.Client().Keys(b.t.Context(), "*"+name+"*").Result()
		if err != nil || (len(keys) > 0) != (s == b.redis) {
			b.t.Errorf("%s has %q, error %v", s.Addr(), keys, err)
		}
		for _, key := range keys {
			if is, err := s.Client().ClusterKeySlot(b.t.Context(), key).Result(); err != nil || is != slot {
				b.t.Errorf("%s is in slot %d and not in %d, error %v", key, is, slot, err)
			}
		}
	}
}

// TestCluster: a run works on a cluster as on one server, on any of its masters.
func TestCluster(t *testing.T) {
	nightly(t)
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	t.Run("from beginning to end", func(t *testing.T) {
		t.Parallel()
		b, name := on(t, c)
		for _, p := range b.pair(name, []string{c.URL()}, append(unhurried(), "--duration", "5s")...) {
			p.wait(0)
			b.printsExactly(p, 5*clusterRate)
		}
		b.exact(b.report(name), 5*clusterRate)
		b.oneSlot(name)
	})
	t.Run("operated", func(t *testing.T) {
		t.Parallel()
		operated(t, c)
	})
	t.Run("scripts forgotten", func(t *testing.T) {
		t.Parallel()
		b, name := on(t, c)
		ps := b.pair(name, []string{c.URL()}, append(unhurried(), "--duration", "5s")...)
		for n := int64(500); n < 5*clusterRate; n += 500 { // on a slow machine the last ones may come after the end
			b.started(n)
			for _, s := range c.Masters {
				if err := s.Client().ScriptFlush(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, p := range ps {
			p.wait(0)
		}
		b.exact(b.report(name), 5*clusterRate)
	})
	t.Run("one address", func(t *testing.T) {
		t.Parallel()
		b, name := on(t, c)
		others := slices.DeleteFunc(slices.Clone(c.Masters), func(s *redistest.Server) bool { return s == b.redis })
		// The form of a single server, and the one of a cluster.
		urls := []string{others[0].URL(), "redis://" + others[1].Addr() + "?addr=" + others[1].Addr()}
		for _, p := range b.pair(name, urls, append(unhurried(), "--duration", "3s")...) {
			p.wait(0)
			b.printsExactly(p, 3*clusterRate)
		}
	})
}

// TestClusterLimiters: every limiter of a run, with a burst or a window of a quarter of a second.
func TestClusterLimiters(t *testing.T) {
	nightly(t)
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	const seconds, quarter = 3, clusterRate / 4
	windows := []string{"fixed-window", "sliding-log", "sliding-list", "sliding-window"}
	for _, limiter := range limit.Names() {
		t.Run(limiter, func(t *testing.T) {
			t.Parallel()
			b, name := on(t, c)
			own := []string{"--burst", fmt.Sprint(quarter)}
			if slices.Contains(windows, limiter) {
				own = []string{"--window", "250ms"}
			}
			args := append(unhurried(), "--limiter", limiter, "--duration", fmt.Sprintf("%ds", seconds))
			for _, p := range b.pair(name, []string{c.URL()}, append(args, own...)...) {
				p.wait(0)
			}
			r := b.report(name)
			n, a := b.web.Count(), r.Audit
			whole := n == a.Sent && n+a.Ungranted == a.Asked && a.Asked == seconds*clusterRate
			if !strings.HasPrefix(r.Limiter, limiter+", ") || !whole || n == 0 || acceptance() && n < a.Asked-quarter {
				t.Errorf("%s: %d arrived, %+v", r.Limiter, n, a)
			}
			b.oneSlot(name)
		})
	}
}

// operated is a run that is changed by every command.
func operated(t *testing.T, c *redistest.Cluster) {
	b, name := on(t, c)
	ps := b.pair(name, []string{c.URL()}, unhurried()...)
	b.started(500)
	if s := b.status(name); s.Phase != "running" || s.Rate != clusterRate || s.Members != 2 {
		t.Errorf("%+v", s)
	}
	b.change("set-rate", name, "900")
	b.started(1400)
	b.change("pause", name)
	await.True(t, "the pause", func() bool { return b.status(name).Phase == "paused" })
	b.change("resume", name)
	b.started(b.web.Count() + 500)
	if text := b.loadctl("workers", name); strings.Count(text, "active") != 2 {
		t.Error(text)
	}
	b.loadctl("stop", name)
	for _, p := range ps {
		p.wait(0)
	}
	b.allSent(name)
	b.oneSlot(name)
	events := b.loadctl("events", name)
	for _, kind := range []string{"set-rate", "pause", "resume", "stop"} {
		if !strings.Contains(events, kind) {
			t.Errorf("no %s in\n%s", kind, events)
		}
	}
	if text := b.loadctl("ls"); !strings.Contains(text, name) {
		t.Error(text)
	}
	if text := b.examined(); !strings.Contains(text, "master") {
		t.Error(text)
	}
	b.loadctl("rm", name)
	if text := b.loadctl("ls"); strings.Contains(text, name) {
		t.Error(text)
	}
	for _, key := range b.redis.Client().Keys(t.Context(), "*"+name+"*").Val() {
		if !strings.Contains(key, ":removed:") {
			t.Errorf("%s is still there", key)
		}
	}
}

// TestClusterWithoutTheOthers: the master with the list of runs is killed; the run is on another one. The run is not
// affected. A worker whose URL names the dead master first can join.
func TestClusterWithoutTheOthers(t *testing.T) {
	nightly(t)
	t.Parallel()
	b, name := on(t, redistest.StartCluster(t, 3))
	ps := b.pair(name, []string{b.url()}, unhurried()...)
	b.started(500)
	b.index().Kill()
	dead := b.index().Addr()
	ps = append(ps, launch(t, "redis://"+dead+"?addr="+b.redis.Addr(), "loadworker", "run", "--run", name, "--allow-hosts", "127.0.0.1", "-o", "json"))
	b.members(name, 3)
	if _, stderr, code := b.try("ls"); code == 0 || !strings.Contains(stderr, "list runs: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("ls without the list: exit code %d, %s", code, stderr)
	}
	if _, _, code := b.try("doctor"); code != 104 {
		t.Errorf("doctor: exit code %d", code)
	}
	b.loadctl("stop", name)
	for _, p := range ps {
		p.wait(0)
	}
	b.allSent(name)
	for _, p := range ps[:2] {
		if text := p.Stderr.String(); strings.Contains(text, "no lease") {
			t.Error(text)
		}
	}
}

// TestClusterWithoutTheOwner: the master of the run hangs, or crashes and comes back with its saved data. The workers
// go on by their leases, and reach it again. Nothing is lost.
func TestClusterWithoutTheOwner(t *testing.T) {
	nightly(t)
	t.Parallel()
	for _, c := range []struct {
		name string
		away func(*redistest.Server)
		back func(*redistest.Server)
	}{
		{"hangs", (*redistest.Server).Pause, (*redistest.Server).Resume},
		{"crashes", (*redistest.Server).Kill, (*redistest.Server).Restart},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, name := on(t, redistest.StartCluster(t, 3, "--appendonly", "yes", "--appendfsync", "always"))
			var long []string
			if !acceptance() { // the outage may take longer than the usual 10 s
				long = []string{"--permit-for", "10m", "--timeout", "1h"}
			}
			ps := b.pair(name, []string{b.url()}, long...)
			b.started(500)
			c.away(b.redis)
			b.started(b.web.Count() + 2*clusterRate)
			c.back(b.redis)
			back := time.Now()
			await.True(t, "another call of both workers", func() bool { return b.calledSince(name, back) == 2 })
			control := run.KeysOf(name).Control
			await.True(t, "both workers to listen", func() bool {
				return b.redis.Client().PubSubNumSub(t.Context(), control).Val()[control] == 2
			})
			b.change("set-rate", name, fmt.Sprint(clusterRate/2))
			b.started(b.web.Count() + clusterRate)
			b.loadctl("stop", name)
			for _, p := range ps {
				p.wait(0)
			}
			b.wholeAgain(name)
		})
	}
}

// calledSince returns how many members have called since then; 0 while the run cannot be read.
func (b *bed) calledSince(name string, since time.Time) (n int) {
	b.t.Helper()
	if _, _, code := b.try("status", name); code != 0 {
		return 0
	}
	for _, w := range b.status(name).Workers {
		if w.State == "active" && w.LastSeen.After(since) {
			n++
		}
	}
	return n
}

// wholeAgain checks a run that was without its server for less time than its leases lasted.
func (b *bed) wholeAgain(name string) {
	b.t.Helper()
	r := b.report(name)
	n, a := b.web.Count(), r.Audit
	const window, machine = 2 * time.Second, 250 * time.Millisecond
	// A busy machine may deliver the message of a command late. What a worker sends until then is counted.
	if n != written(r) || a.Sent+a.LateDropped != a.Asked+a.Overrun || acceptance() && a.Overrun > 0 || !r.Complete {
		b.t.Errorf("%d arrived, %+v, complete %v %v", n, a, r.Complete, r.Notes)
	}
	// Late requests come together with others.
	most := evenness.MaxInWindow(b.web.Arrivals(), window)
	if bound := int(clusterRate*(window+time.Duration(r.Lag.Max)+machine).Seconds()) + 1; acceptance() && most > bound {
		b.t.Errorf("%d in %v, at most %d should be", most, window, bound)
	}
	b.t.Logf("%d arrived of %d; at most %d in %v", n, a.Asked, most, window)
}
