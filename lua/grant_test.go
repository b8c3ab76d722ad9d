package lua_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
)

// grantArgs asks for n slots at a rate.
func grantArgs(n, rate int64) []any { return []any{"uid", n, rate, 1} }

// limited makes a run with a limiter.
func (b *bench) limited(settings string) {
	b.Helper()
	b.must("make", with(makeArgs(), 13, settings)...)
}

func TestGrantRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.limited("100:0:0:0:0")
		const script = "grant/gcra"
		refuses := func(name string, args []any) {
			t.Helper()
			before := b.dump()
			reply, err := b.call(script, args...)
			if want := "ERR grant: " + name; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v: %q, %v; want %q", args, reply, err, want)
			}
			if !maps.Equal(before, b.dump()) {
				t.Errorf("%v: a refused call has changed something", args)
			}
		}
		right := grantArgs(3, 500)
		for _, value := range append(notWhole(), -1) {
			refuses("n", with(right, 2, value))
			refuses("rate", with(right, 3, value))
			refuses("rate", with(right, 4, value))
		}
		refuses("n", with(right, 2, 1_000_000_001))
		refuses("rate", with(right, 3, 0))
		refuses("rate", with(right, 4, 0))
		refuses("rate", with(right, 4, 1_000_001))
		for n := range right[1:] {
			refuses([]string{"n", "rate", "rate"}[n], right[:n+1])
		}
		before := b.dump()
		for _, args := range [][]any{with(right, 1, "another uid"), {"", 3, 500, 1}} {
			if reply := b.must(script, args...); reply[0] != "NOSTATE" {
				t.Errorf("%v: %q", args, reply)
			}
		}
		if reply := b.must(script, grantArgs(0, 500)...); !slices.Equal(reply[1:], []string{"0", "0", "100"}) || !maps.Equal(before, b.dump()) {
			t.Errorf("who asks for nothing: %q", reply)
		}
		if reply := b.must(script, right...); !slices.Equal(reply[1:], []string{"3", "0", "100"}) {
			t.Errorf("%q", reply)
		}
		if err := b.client.HDel(t.Context(), b.keys["budget"], "limit").Err(); err != nil {
			t.Fatal(err)
		}
		if reply, err := b.call(script, right...); err == nil {
			t.Errorf("without settings: %q", reply)
		}
	})
}

// TestSetBurst: an order changes the burst for the next grant, if there is one. A run that replaces another has a
// fresh limiter.
func TestSetBurst(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		order := func(id, burst string) string {
			t.Helper()
			return strings.Join(b.must("order", with(orderArgs(id, "set-burst"), 7, burst)...)[:1], "")
		}
		granted := func(want string) {
			t.Helper()
			if reply := b.must("grant/token_bucket", grantArgs(1000, 1)...); reply[1] != want {
				t.Errorf("%q, want %s granted", reply, want)
			}
		}
		b.must("make", makeArgs()...)
		if got := order("none", "5"); got != "NONE" {
			t.Errorf("without a limiter: %s", got)
		}
		b.must("order", orderArgs("end", "stop")...)
		remake := func(uid, settings string) {
			t.Helper()
			await.True(t, "the stop, after which the run is replaced", func() bool { // some 20 ms later
				return b.must("make", with(with(with(makeArgs(), 3, 1), 2, uid), 13, settings)...)[0] == "CREATED"
			})
		}
		remake("uid", "0:1000000:0:0:0")
		if got := order("window", "5"); got != "NONE" {
			t.Errorf("of a window: %s", got)
		}
		b.must("order", orderArgs("end", "stop")...)
		remake("uid", "7:0:0:0:0")
		if got := b.must("order", with(orderArgs("early", "set-burst"), 7, "9")...); got[0] != "OK" || got[1] != "0" {
			t.Errorf("before the start: %q", got)
		}
		b.renew(renewArgs("w", 1, "")...)
		granted("9")
		laws := b.client.HGet(t.Context(), b.keys["budget"], "laws").Val()
		if got := []string{order("x", "20"), order("y", "20"), order("x", "20")}; !slices.Equal(got, []string{"OK", "SAME", "OK"}) {
			t.Errorf("%q", got)
		}
		if limit := b.client.HGet(t.Context(), b.keys["budget"], "limit").Val(); limit != "20:0:0:0:0" {
			t.Errorf("the limit is %s", limit)
		}
		if b.client.HGet(t.Context(), b.keys["budget"], "laws").Val() != laws {
			t.Error("a burst made a law")
		}
		b.must("order", orderArgs("end", "stop")...)
		remake("uid", "3:0:0:0:0")
		granted("3")
	})
}

// grantKind is a limiter and its promise: at most R·W + extra in any time W.
type grantKind struct {
	script string
	window int64 // µs; 0 = it has a burst
	option int
	even   int
	extra  func(count, burst, most float64) float64 // arguments: the window's count, the burst, the largest grant
}

func grantKinds() map[string]grantKind {
	counts := func(x float64) func(float64, float64, float64) float64 {
		return func(count, _, _ float64) float64 { return x * count }
	}
	burst := func(_, burst, _ float64) float64 { return burst }
	return map[string]grantKind{
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

// TestGrant: workers ask at random times for random numbers of slots. Rates and bursts change, and some workers learn
// it late. In every window the grants keep the bound of the run's limiter.
func TestGrant(t *testing.T) {
	t.Parallel()
	for name, kind := range grantKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, client rdb.Client) {
				seeds, steps := uint64(4), 600
				if testing.Short() {
					seeds = 2
				}
				if strings.HasSuffix(t.Name(), "embedded") { // another interpreter of Lua, some times slower
					seeds = 1
					if testing.Short() {
						steps = 200
					}
				}
				for seed := range seeds {
					g := newGranting(t, client, kind, seed)
					for range steps {
						g.step()
					}
					g.end()
				}
			})
		})
	}
}

// granting is a run with a limiter, on a real server with its own time.
type granting struct {
	*bench
	kind   grantKind
	seed   uint64
	rng    *rand.Rand
	script *redis.Script
	now    int64
	laws   []grantLaw
	grants []granted
	asked  int64
}

// granted is the n slots of one call.
type granted struct{ at, n int64 }

// grantLaw is a law that callers may use, until the last worker has received the next one.
type grantLaw struct{ from, until, rate, burst int64 }

const never = 1 << 60

func newGranting(t *testing.T, client rdb.Client, kind grantKind, seed uint64) *granting {
	client.FlushDB(t.Context())
	g := &granting{bench: newBench(t, client), kind: kind, seed: seed, rng: rand.New(rand.NewPCG(seed, uint64(len(kind.script)))), now: 1_700_000_000_000_000}
	text := lua.Text("grant/" + kind.script)
	if strings.Count(text, "redis.call('TIME')") != 1 {
		t.Fatal("which clock?")
	}
	text = strings.Replace(text, "redis.call('TIME')", "CLOCK", 1)
	g.script = redis.NewScript("local CLOCK = { ARGV[#ARGV - 1], ARGV[#ARGV] }\nfor _ = 1, 2 do ARGV[#ARGV] = nil end\n" + text)
	g.laws = []grantLaw{{rate: 2 * (1 + g.rng.Int64N(500)), burst: 1 + g.rng.Int64N(100), until: never}}
	g.limited(fmt.Sprintf("%d:%d:%d:%d:%d", g.laws[0].burst, kind.window, kind.option, kind.even, g.rng.IntN(2)))
	return g
}

// ask makes a call. It returns how many slots were granted, and when to come back.
func (g *granting) ask(n, rate int64) (granted, retry int64) {
	g.Helper()
	g.client.Persist(g.Context(), "{tag}limiter") // its lifetime would follow the real time
	f, err := g.script.Run(g.Context(), g.client, g.names("grant"), "uid", n, rate, 1, g.now/1e6, g.now%1e6).Int64Slice()
	if err != nil {
		g.Fatal(err)
	}
	if f[0] != g.now || f[1] < 0 || f[1] > n || (f[1] == n) != (f[2] == 0) || f[3] < 1 {
		g.Fatalf("seed %d: %d asked for: %v", g.seed, n, f)
	}
	return f[1], f[2]
}

func (g *granting) step() {
	g.Helper()
	g.now += g.rng.Int64N([]int64{100, 5_000, 50_000, 100_000, 800_000}[min(4, g.rng.IntN(20))])
	law := g.laws[len(g.laws)-1]
	law.from = g.now
	switch g.rng.IntN(30) {
	case 0: // a worker that has not received the law asks by the old one for up to half a second
		law.rate = 2 * (1 + g.rng.Int64N(500))
		g.laws[len(g.laws)-1].until = g.now + 500_000
		g.laws = append(g.laws, law)
	case 1:
		law.burst = 1 + g.rng.Int64N(100)
		g.laws[len(g.laws)-1].until = g.now + 500_000
		if reply := g.must("order", with(orderArgs(fmt.Sprint(g.now), "set-burst"), 7, fmt.Sprint(law.burst))...); (reply[0] == "NONE") != (g.kind.window > 0) {
			g.Fatalf("set-burst: %q", reply)
		}
		g.laws = append(g.laws, law)
	default:
		if late := len(g.laws) - 2; late >= 0 && g.laws[late].until > g.now && g.rng.IntN(2) == 0 {
			law.rate = g.laws[late].rate
		}
		n := 1 + g.rng.Int64N([]int64{3, 50, 1000}[g.rng.IntN(3)])
		granting, _ := g.ask(n, law.rate)
		g.asked += n
		if granting > 0 {
			g.grants = append(g.grants, granted{g.now, granting})
		}
	}
}

// end checks the bound. It also checks that a rested limiter lets a request pass at the time that it gave.
func (g *granting) end() {
	g.Helper()
	for _, w := range []int64{0, 1000, 10_000, 100_000, 500_000, 1_000_000, 3_000_000} {
		g.bounded(w)
	}
	for g.rng.IntN(20) > 0 {
		if _, retry := g.ask(1000, g.laws[len(g.laws)-1].rate); retry > 0 {
			g.now += retry
			if n, _ := g.ask(1, g.laws[len(g.laws)-1].rate); n != 1 && g.kind.even == 0 {
				g.Errorf("seed %d: nothing is granted when it was said", g.seed)
			}
		}
	}
	var sum int64
	for _, x := range g.grants {
		sum += x.n
	}
	if sum < 100 {
		g.Errorf("seed %d: %d of %d were granted", g.seed, sum, g.asked)
	}
}

// bounded checks the windows of one length. Each window is as short as its grants allow.
func (g *granting) bounded(w int64) {
	g.Helper()
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
			g.Fatalf("seed %d: %d granted within %v, at most %.3f were promised", g.seed, n, time.Duration(last.at-from)*time.Microsecond, bound)
		}
	}
}

// TestGrantClockBack: after the clock steps back, the limiter starts again, once.
func TestGrantClockBack(t *testing.T) {
	t.Parallel()
	for name, kind := range grantKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, client rdb.Client) {
				g := newGranting(t, client, kind, 1)
				second := func() (sum int64) {
					for range 100 {
						n, _ := g.ask(100, 200)
						sum += n
						g.now += 10_000
					}
					return sum
				}
				for range 3 {
					second()
				}
				g.now -= 600_000_000
				if most, got := int64(400), second()+second(); got < most*8/10 || kind.option != 1 && got > most+200 {
					t.Errorf("%d granted in the time of %d: %s", got, most, strconv.Quote(name))
				}
			})
		})
	}
}
