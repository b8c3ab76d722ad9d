package model

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
)

// gateKind is a limiter in front of the slots, and what it promises of the grants: in any time W at most R·W + extra.
type gateKind struct {
	script string
	window int64 // µs; 0 = it has a burst
	option int
	even   int
	extra  func(count, burst, most float64) float64 // of a window's count, the burst, the largest grant
}

func gateKinds() map[string]gateKind {
	counts := func(x float64) func(float64, float64, float64) float64 {
		return func(count, _, _ float64) float64 { return x * count }
	}
	burst := func(_, burst, _ float64) float64 { return burst }
	return map[string]gateKind{
		"fixed-window":      {script: "fixed_window", window: 500_000, extra: counts(2)},
		"fixed-window NX":   {script: "fixed_window", window: 500_000, option: 1, extra: counts(2)},
		"sliding-log":       {script: "sliding_log", window: 500_000, extra: counts(1)},
		"sliding-list":      {script: "sliding_list", window: 500_000, extra: counts(1)},
		"sliding-window":    {script: "sliding_window", window: 500_000, option: 10, extra: counts(1.2)},
		"leaky-bucket":      {script: "leaky_bucket", even: 1, extra: burst},
		"token-bucket":      {script: "token_bucket", extra: burst},
		"token-bucket debt": {script: "token_bucket", option: 1, extra: func(_, burst, most float64) float64 { return burst + most }},
		"gcra":              {script: "gcra", extra: burst},
	}
}

// TestGate: members that call at random times, repeat calls, join and leave, under rates and bursts that change, in pauses: the grants keep the
// bound of the run's limiter in every window, no call repeated gets or changes anything, and each slot that was asked for is accounted for.
func TestGate(t *testing.T) {
	t.Parallel()
	for name, kind := range gateKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, client *redis.Client) {
				seeds := uint64(4)
				if strings.HasSuffix(t.Name(), "embedded") {
					seeds = 1
				}
				for seed := range seeds {
					g := newGated(t, client, kind, seed)
					for range 300 {
						g.step()
					}
					g.end()
				}
			})
		})
	}
}

// gated is a run with a limiter, on a real server in a time of its own.
type gated struct {
	*scripts
	kind   gateKind
	seed   uint64
	rng    *rand.Rand
	now    int64
	asks   map[string]pacer.Ask
	seen   map[[2]int64]bool // generation, slot
	grants []granted
	laws   []gateLaw
	cmds   int
	leased int64
}

// granted is n slots of one call.
type granted struct{ at, n int64 }

// gateLaw is what the limiter may go by, since a command at `from` and until the next one is in force.
type gateLaw struct{ from, until, rate, burst int64 }

func newGated(t *testing.T, client *redis.Client, kind gateKind, seed uint64) *gated {
	rng := rand.New(rand.NewPCG(seed, uint64(len(kind.script))))
	g := &gated{kind: kind, seed: seed, rng: rng, now: 1_700_000_000_000_000, asks: map[string]pacer.Ask{}, seen: map[[2]int64]bool{}}
	law := gateLaw{rate: 2 * (1 + rng.Int64N(500)), burst: 1 + rng.Int64N(100), until: pacer.Endless}
	pieces, err := pacer.Constant(pacer.PerSecond(law.rate), 0).Pieces()
	if err != nil {
		t.Fatal(err)
	}
	g.laws = []gateLaw{law}
	g.scripts = newScripts(t, client, fmt.Sprint("gate-", kind.script, kind.option, "-", seed), Options{
		Pieces: pieces, Min: 1, Horizon: 500_000, TTL: 1_000_000, Qmax: 10_000, PermitFor: []int64{0, 2_000_000}[rng.IntN(2)],
	})
	g.lease = timed("lease/" + kind.script)
	settings := fmt.Sprintf("%d:%d:%d:%d:%d", law.burst, kind.window, kind.option, kind.even, (1-kind.even)*rng.IntN(2))
	if err := client.HSet(t.Context(), g.key("budget"), "limit", settings).Err(); err != nil {
		t.Fatal(err)
	}
	return g
}

// ask makes a lease call; what it returns is one text for each reply that says the same.
func (g *gated) ask(a pacer.Ask) (pacer.Reply, string) {
	g.t.Helper()
	keys := []string{g.key("budget"), g.key("workers"), g.key("seen"), g.key("events"), g.key("laws"), g.key("limiter")}
	f, err := g.lease.Run(context.Background(), g.client, keys, "uid", a.Worker, a.Incarnation, a.Numbers(), "", g.now/1e6, g.now%1e6).StringSlice()
	if err != nil {
		g.t.Fatal(err)
	}
	r, err := pacer.ParseReply(f)
	if err != nil {
		g.t.Fatal(err)
	}
	return r, f[0]
}

func (g *gated) step() {
	g.t.Helper()
	g.now += g.rng.Int64N([]int64{100, 5_000, 50_000, 100_000, 800_000}[min(4, g.rng.IntN(20))])
	name := fmt.Sprint("w", g.rng.IntN(4))
	switch g.rng.IntN(30) {
	case 0:
		g.change("set-rate")
	case 1:
		g.change("set-burst")
	case 2:
		g.change([]string{"pause", "resume", "resume"}[g.rng.IntN(3)])
	case 3:
		if a, ok := g.asks[name]; ok {
			if err := g.call(g.leave, g.now, name, a.Incarnation, "left").Err(); err != nil {
				g.t.Fatal(err)
			}
			delete(g.asks, name)
		}
	default:
		g.take(name)
	}
}

// change is a command. A limiter of windows has none for its burst.
func (g *gated) change(kind string) {
	g.t.Helper()
	g.cmds++
	law, to := g.laws[len(g.laws)-1], ""
	switch kind {
	case "set-rate":
		law.rate = 2 * (1 + g.rng.Int64N(500))
		pieces, err := pacer.Constant(pacer.PerSecond(law.rate), 0).Pieces()
		if err != nil {
			g.t.Fatal(err)
		}
		to = pacer.JoinPieces(pieces)
	case "set-burst":
		law.burst = 1 + g.rng.Int64N(100)
		to = fmt.Sprint(law.burst)
	}
	f, err := g.call(g.cmd, g.now, fmt.Sprint("c", g.cmds), kind, "me", "what", "channel", to, 0).StringSlice()
	switch {
	case err != nil:
		g.t.Fatal(err)
	case kind == "set-burst" && (f[0] == "NONE") != (g.kind.window > 0):
		g.t.Fatalf("set-burst: %q", f)
	case f[0] == "OK" && to != "":
		law.from = g.now
		last := &g.laws[len(g.laws)-1]
		if last.until = max(g.now, integer(g.t, f[1])); f[1] == "0" { // in force when the schedule goes on
			last.until = pacer.Endless
		}
		g.laws = append(g.laws, law)
	case f[0] == "OK" && kind == "resume":
		for i := range g.laws[:len(g.laws)-1] {
			g.laws[i].until = min(g.laws[i].until, g.now)
		}
	}
}

// take makes one call of a member, and sometimes the same once more.
func (g *gated) take(name string) {
	g.t.Helper()
	a := g.asks[name]
	if a.Seq == 0 {
		a = pacer.Ask{Worker: name, Incarnation: fmt.Sprint("i", g.rng.IntN(1_000_000)), Weight: 1 + g.rng.Int64N(2), RTTHi: 1000}
	}
	a.Seq++
	a.Until = g.now + g.rng.Int64N(600_000)
	said := a
	r, text := g.ask(a)
	a.Ack, a.PhiHeld, a.Leased = r.LeasedAt, r.Permit.Phi(), a.Leased+r.Range.N
	g.asks[name] = a
	g.leased += r.Range.N
	if r.Range.N > 0 {
		g.grants = append(g.grants, granted{g.now, r.Range.N})
	}
	r.Range.At = r.LeasedAt
	for c := r.Range.Cursor(0, 1); c.Ok(); c.Next() {
		key := [2]int64{c.Generation(), c.Slot()}
		if g.seen[key] {
			g.t.Fatalf("slot %v was granted twice", key)
		}
		g.seen[key] = true
		if due := c.Due() / 1000; due < r.LeasedAt || due > g.now+1_000_000 {
			g.t.Fatalf("slot %v is due %v after its grant", key, time.Duration(due-r.LeasedAt)*time.Microsecond)
		}
	}
	if g.rng.IntN(4) > 0 {
		return
	}
	before := g.contents()
	g.now += g.rng.Int64N(50_000)
	if _, again := g.ask(said); again != text {
		g.t.Fatalf("the same call again: %q, at first %q", again, text)
	}
	if after := g.contents(); !maps.Equal(before, after) {
		g.t.Fatalf("a call repeated has changed %v to %v", before, after)
	}
}

// contents are the budget and the limiter's state, which here does not end with the real time.
func (g *gated) contents() map[string]string {
	g.t.Helper()
	ctx := g.t.Context()
	g.client.Persist(ctx, g.key("limiter"))
	all, err := g.client.HGetAll(ctx, g.key("budget")).Result()
	if err != nil {
		g.t.Fatal(err)
	}
	all["limiter"] = g.client.Dump(ctx, g.key("limiter")).Val()
	return all
}

// end stops the run: all slots asked for were leased or passed, and the bound held in every window.
func (g *gated) end() {
	g.t.Helper()
	g.change("stop")
	laws, err := g.client.HGetAll(g.t.Context(), g.key("laws")).Result()
	if err != nil {
		g.t.Fatal(err)
	}
	var asked int64
	for _, law := range laws {
		asked += integer(g.t, law[strings.LastIndexByte(law, ':')+1:])
	}
	hash, err := g.client.HGetAll(g.t.Context(), g.key("budget")).Result()
	if err == nil {
		hash, err = lua.Budget(hash)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	issued, beyond, passed := integer(g.t, hash["issued"]), integer(g.t, hash["beyond"]), integer(g.t, hash["skipped"])
	if issued-beyond != asked || issued != g.leased+passed {
		g.t.Errorf("seed %d: asked %d, but issued %d − beyond %d; %d leased and %d passed", g.seed, asked, issued, beyond, g.leased, passed)
	}
	if g.leased < asked/50 {
		g.t.Errorf("seed %d: %d of %d asked for were granted", g.seed, g.leased, asked)
	}
	for _, w := range []int64{0, 1000, 10_000, 100_000, 500_000, 1_000_000, 3_000_000} {
		g.bounded(w)
	}
}

// bounded checks the windows of a length, each as short as the grants in it allow.
func (g *gated) bounded(w int64) {
	g.t.Helper()
	first, n := 0, int64(0)
	for _, last := range g.grants {
		for n += last.n; last.at-g.grants[first].at > w; first++ {
			n -= g.grants[first].n
		}
		from := g.grants[first].at
		var rate, extra, most float64
		for _, x := range g.grants {
			most = max(most, float64(x.n))
		}
		for _, law := range g.laws {
			if law.from <= last.at && law.until >= from {
				rate = max(rate, float64(law.rate)/1e6)
				extra = max(extra, g.kind.extra(float64(law.rate)*float64(g.kind.window)/1e6, float64(law.burst), most))
			}
		}
		if bound := rate*float64(last.at-from) + extra + 1e-6; float64(n) > bound {
			g.t.Fatalf("seed %d: %d granted within %v, at most %.3f were promised", g.seed, n, time.Duration(last.at-from)*time.Microsecond, bound)
		}
	}
}

func integer(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
