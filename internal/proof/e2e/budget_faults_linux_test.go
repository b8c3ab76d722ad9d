package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/evenness"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/pacer/lease"
)

// shared is a bed whose server has a budget that runs share.
type shared struct {
	*bed
	client rdb.Client
	ledger ledger.Ledger
	host   string
}

// share gives the server of a bed a budget, requests per second.
func (b *bed) share(budget int64) *shared {
	b.t.Helper()
	client := b.redis.Client()
	if b.cluster != nil {
		client = b.cluster.Client()
	}
	s := &shared{b, client, ledgertest.Calm(b.t, client), b.web.Addr()}
	if _, err := s.ledger.Set(b.t.Context(), s.host, budget*lease.Unscaled, false, ledger.Note{}); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// holds returns what runs hold, requests per second. Until the ledger answers it is nil.
func (s *shared) holds() map[string]int64 {
	state, err := s.ledger.List(s.t.Context())
	if err != nil {
		return nil
	}
	out := map[string]int64{}
	for _, r := range state.Rows {
		out[r.People.Run] += (r.Rate + lease.Unscaled/2) / lease.Unscaled
	}
	return out
}

// run starts a run with n workers, and waits for its first request: the arrivals of other runs say nothing of this one.
func (s *shared) run(name string, n int, qps int64, args ...string) {
	s.t.Helper()
	s.fleet(n, name, slices.Concat(unhurried(), []string{"--qps", fmt.Sprint(qps)}, args)...)
	s.begun(name)
}

// kept checks that no second had more arrivals than the budget, and a tenth: what a worker makes up for within 100 ms. Where
// other processes use the cores, arrivals say little about when requests were due.
func (s *shared) kept(budget int64) {
	s.t.Helper()
	if most := evenness.MaxInWindow(s.web.Arrivals(), time.Second); acceptance() && int64(most) > budget+budget/10 {
		s.t.Errorf("%d arrivals in a second, the budget is %d", most, budget)
	}
}

// TestBudgetIsCut asserts that runs come down together when their budget is cut, 0.1 s after they were reached, that a freeze
// stops them, and that they go on after it.
func TestBudgetIsCut(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t).share(2000)
	workers, names := scale(2, 10), []string{"one", "two"}
	for _, name := range names {
		b.run(name, workers, 900)
	}
	b.started(3000)
	b.loadctl("budget", "set", b.host, "900", "--cut", "--timeout", "5m")
	cut := b.web.Now()
	for _, name := range names {
		if rate := b.status(name).Rate; rate > 450 || rate < 449.99 {
			t.Errorf("after the cut %s sends %v/s", name, rate)
		}
		if held := b.holds()[name]; held > 450 || held < 450 {
			t.Errorf("after the cut %s holds %d/s", name, held)
		}
	}
	b.started(b.web.Count() + 1000)
	var after []int64
	for _, at := range b.web.Arrivals() {
		if at > cut+int64(100*time.Millisecond) {
			after = append(after, at)
		}
	}
	if most := evenness.MaxInWindow(after, time.Second); acceptance() && most > 910 {
		t.Errorf("after the cut there were %d arrivals in a second", most)
	}
	b.loadctl("budget", "freeze", b.host, "--why", "test", "--timeout", "5m")
	for _, name := range names {
		await.True(t, name+" to be paused", func() bool { return b.status(name).Phase == "paused" })
		if _, stderr, code := b.try("resume", name); code != 104 || !strings.Contains(stderr, "frozen") {
			t.Errorf("resume in a freeze: exit code %d, %s", code, stderr)
		}
	}
	b.loadctl("budget", "thaw", b.host, "--timeout", "5m")
	b.started(b.web.Count() + 500)
	b.kept(2000)
	for _, name := range names {
		b.loadctl("stop", name)
		if r := b.report(name); r.Audit.Sent+r.Audit.LateDropped > r.Audit.Asked+r.Audit.Overrun {
			t.Errorf("%+v", r.Audit)
		}
	}
	await.True(t, "the room of runs that are over", func() bool { return len(b.holds()) == 0 })
}

// killer passes on what a command and Redis say to each other, and kills the command before or after its n-th script.
type killer struct {
	net.Listener
	to      string
	n       int32
	after   bool // the script is carried out, and the reply is lost
	scripts atomic.Int32
	kill    func()
}

func newKiller(t *testing.T, to string, n int32, after bool) *killer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &killer{Listener: l, to: to, n: n, after: after}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go k.serve(conn)
		}
	}()
	return k
}

func (k *killer) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", k.to)
	if err != nil {
		return
	}
	defer server.Close()
	var lost atomic.Bool
	go func() {
		replies := make([]byte, 1<<16)
		for {
			n, err := server.Read(replies)
			if lost.Load() && n > 0 {
				k.kill()
			}
			if err != nil {
				return
			}
			if !lost.Load() {
				_, _ = client.Write(replies[:n])
			}
		}
	}()
	calls := make([]byte, 1<<16)
	for {
		n, err := client.Read(calls)
		if err != nil {
			return
		}
		if bytes.Contains(bytes.ToLower(calls[:n]), []byte("evalsha")) && k.scripts.Add(1) == k.n {
			if !k.after {
				k.kill()
				return
			}
			lost.Store(true)
		}
		if _, err := server.Write(calls[:n]); err != nil {
			return
		}
	}
}

// issue runs a command, which is killed at its n-th script. It reports whether it came so far.
func (s *shared) issue(n int32, after bool, args ...string) (killed bool) {
	s.t.Helper()
	k := newKiller(s.t, s.redis.Addr(), n, after)
	cmd := exec.Command(s.program("loadctl"), args...)
	cmd.Env = append(os.Environ(), "LOADCTL_REDIS=redis://"+k.Addr().String())
	var once sync.Once
	started := make(chan struct{})
	k.kill = func() { once.Do(func() { <-started; _ = cmd.Process.Kill() }) }
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	close(started)
	_ = cmd.Wait()
	return k.scripts.Load() >= n
}

// TestIssuerIsKilled asserts that a command that is killed before or after any of its scripts leaves a run that holds what it
// sends, and nothing that others cannot have.
func TestIssuerIsKilled(t *testing.T) {
	nightly(t)
	t.Parallel()
	for what, c := range map[string]struct {
		args    []string
		scripts int32 // that the command calls at least
		settled func(b *shared) bool
	}{
		"set-rate": {[]string{"set-rate", "x", "900"}, 5, func(b *shared) bool {
			rate := b.sends("x")
			return b.holds()["x"] == rate && (rate == 300 || rate == 900)
		}},
		"create": {[]string{"create", "y", "--url", "URL", "--qps", "500", "--min-workers", "1"}, 4, func(b *shared) bool {
			_, _, code := b.try("status", "y")
			return b.holds()["y"] == map[bool]int64{true: 500}[code == 0]
		}},
		"cut": {[]string{"budget", "set", "HOST", "200", "--cut"}, 1, func(b *shared) bool {
			s, err := b.ledger.List(t.Context())
			budget := s.Budget(b.host).Rate / lease.Unscaled
			return err == nil && b.sends("x") == min(300, budget) && b.holds()["x"] == b.sends("x")
		}},
	} {
		for n := int32(1); n <= c.scripts; n++ {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprint(what, ", script ", n, map[bool]string{false: ", before", true: ", after"}[after]), func(t *testing.T) {
					t.Parallel()
					b := newBed(t).share(1000)
					b.run("x", 1, 300)
					b.started(300)
					args := strings.Split(strings.NewReplacer("URL", b.web.URL(), "HOST", b.host).Replace(strings.Join(c.args, " ")), " ")
					if !b.issue(n, after, args...) {
						t.Errorf("the command has no script %d", n)
					}
					await.True(t, "what is held to be what is sent", func() bool { return c.settled(b) })
					b.kept(1000)
					b.loadctl("stop", "x")
				})
			}
		}
	}
}

// sends returns the rate of a run, and checks that it holds as much.
func (s *shared) sends(name string) int64 {
	s.t.Helper()
	rate := int64(s.status(name).Rate + 0.5)
	if held := s.holds()[name]; held < rate {
		s.t.Fatalf("%s sends %d/s and holds %d/s", name, rate, held)
	}
	return rate
}

// TestBudgetOutlivesRedis asserts that runs bring the budget and their rows back when Redis has lost everything, and that
// nothing new is granted before that is certain.
func TestBudgetOutlivesRedis(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t).share(1000)
	b.run("one", 2, 600)
	b.run("two", 2, 300)
	b.started(1500)
	if err := b.client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the budget and the rows", func() bool {
		s, err := b.ledger.List(t.Context())
		held := b.holds()
		return err == nil && s.Budget(b.host).Rate == 1000*lease.Unscaled && held["one"] == 600 && held["two"] == 300
	})
	if _, stderr, code := b.try("create", "three", "--url", b.web.URL(), "--qps", "200"); code != 104 {
		t.Errorf("a run for which there is no room: exit code %d, %s", code, stderr)
	}
	b.started(b.web.Count() + 1500)
	b.kept(1000)
	for _, name := range []string{"one", "two"} {
		b.loadctl("stop", name)
		b.report(name)
	}
}

// TestBudgetOnSentinel asserts that runs keep their budget when a replica takes over, and that a rate is bounded by it after.
func TestBudgetOnSentinel(t *testing.T) {
	nightly(t)
	t.Parallel()
	w := redistest.StartWatched(t, redistest.WatchedOptions{Replicas: 1})
	b := newBed(t)
	b.redis = w.Servers[0]
	s := b.share(1000)
	urls := func(args ...string) []string { return append(args, "--redis", w.URL()) }
	s.run("one", 2, 600, urls()...)
	s.run("two", 2, 300, urls()...)
	s.started(1500)
	s.ledger.Client = w.Replace(t, w.Servers[0], w.Sentinels[0]).Client()
	s.started(s.web.Count() + 1500)
	await.True(t, "the rows", func() bool { held := s.holds(); return held["one"] == 600 && held["two"] == 300 })
	await.True(t, "the budget to bound rates again", func() bool {
		_, stderr, code := s.try(urls("set-rate", "two", "600")...)
		if code != 104 {
			t.Fatalf("a rate above the budget: exit code %d, %s", code, stderr)
		}
		return strings.Contains(stderr, "100/s") || strings.Contains(stderr, "400/s")
	})
	s.kept(1000)
	for _, name := range []string{"one", "two"} {
		s.loadctl(urls("stop", name)...)
	}
}

// TestBudgetOnACluster asserts that a run keeps its budget when its node is replaced by the replica, and when the ledger's node
// dies and is replaced.
func TestBudgetOnACluster(t *testing.T) {
	nightly(t)
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	c.Replicate(t)
	web, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	whole := &bed{t: t, cluster: c, web: web}
	at := whole.cluster.Owner(t, "{load:_endpoints}:budgets")
	b := (&bed{t: t, cluster: c, web: web, redis: at}).share(1000)
	name := "a"
	for whole.owner(name) == at {
		name += "a"
	}
	b.run(name, 2, 600)
	b.started(1000)
	has := whole.owner(name)
	for i, s := range c.Masters {
		switch s {
		case at:
			s.Kill()
			c.TakeOver(t, i)
		case has:
			c.TakeOver(t, i)
		}
	}
	b.started(b.web.Count() + 2000)
	await.True(t, "the right to be renewed", func() bool { return b.holds()[name] == 600 })
	if _, stderr, code := b.try("set-rate", name, "1100"); code != 104 {
		t.Errorf("a rate above the budget: exit code %d, %s", code, stderr)
	}
	b.kept(1000)
	b.loadctl("stop", name)
	b.report(name)
}
