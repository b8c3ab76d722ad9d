package limit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer/limit"
)

// virtualTime gives scripts another time and lifetimes that follow it. The time comes as the last argument. The lifetimes
// are a hash, whose key comes last.
const virtualTime = `
local server, ENDS, NOW = redis, KEYS[#KEYS], tonumber(ARGV[#ARGV])
KEYS[#KEYS], ARGV[#ARGV] = nil, nil
local function ends(key, ms) server.call('HSET', ENDS, key, string.format('%.0f', NOW + ms * 1000)) end
local redis = { error_reply = server.error_reply, call = function(name, key, ...)
  local a, b, c = ...
  if name == 'TIME' then return { string.format('%.0f', math.floor(NOW / 1000000)), string.format('%.0f', NOW % 1000000) } end
  if name == 'PTTL' then return (tonumber(server.call('HGET', ENDS, key)) - NOW) / 1000 end
  if name == 'SET' then ends(key, c) return server.call('SET', key, a) end
  if name == 'DEL' then server.call('HDEL', ENDS, key) end
  if name ~= 'PEXPIRE' then return server.call(name, key, ...) end
  if not (b and server.call('HEXISTS', ENDS, key) == 1) then ends(key, a) end
end }
local all = server.call('HGETALL', ENDS)
for i = 1, #all, 2 do
  if tonumber(all[i + 1]) <= NOW then server.call('DEL', all[i]) server.call('HDEL', ENDS, all[i]) end
end
`

// redisError is an error that a server replies.
type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

// virtualRedis is a Redis whose time is that of the test.
type virtualRedis struct {
	redis.Cmdable
	now     *int64
	scripts map[string]*redis.Script
}

func (virtualRedis) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	return redis.NewCmdResult(nil, redisError("NOSCRIPT"))
}

func (v virtualRedis) Eval(ctx context.Context, text string, keys []string, args ...any) *redis.Cmd {
	if v.scripts[text] == nil {
		v.scripts[text] = redis.NewScript(virtualTime + text)
	}
	return v.scripts[text].Run(ctx, v.Cmdable, append(slices.Clone(keys), "ends"), append(slices.Clone(args), *v.now)...)
}

// pair is a set in Redis and the same one in memory.
type pair struct{ redis, memory *limit.Set }

// sameness makes random calls of random sets, and compares the answers.
type sameness struct {
	*testing.T
	rng   *rand.Rand
	now   int64
	sets  []pair
	taken []func(share int64) // gives back what a call was granted
	calls []string
	retry int64 // the last RetryAfter, µs
}

func anyLimit(r *rand.Rand) limit.Limit {
	return limit.PerWindow(1+r.Int64N(20), []time.Duration{time.Millisecond, 70 * time.Millisecond, time.Second, time.Minute, time.Hour, 100 * 24 * time.Hour}[r.IntN(6)])
}

// anySet makes a random set, with the same options in both stores.
func (s *sameness) anySet(stores [2]limit.Store, name, prefix string) pair {
	s.Helper()
	var options []limit.Option
	switch pick := s.rng.IntN(2); {
	case pick == 0:
	case name == "token-bucket":
		options = append(options, limit.Debt())
	case name == "sliding-window":
		options = append(options, limit.Parts(1+s.rng.Int64N(15)))
	case name == "fixed-window":
		options = append(options, limit.ExpireNX())
	}
	l := anyLimit(s.rng)
	if name == "gcra" || name == "token-bucket" || name == "leaky-bucket" {
		l.Burst = s.rng.Int64N(30)
	}
	var both [2]*limit.Set
	for i, store := range stores {
		set, err := limit.NewSet(name, store, prefix, l, options...)
		if err != nil {
			s.Fatal(err)
		}
		both[i] = set
	}
	s.calls = append(s.calls, fmt.Sprint(prefix, ": ", name, l, options))
	return pair{both[0], both[1]}
}

// same reports whether two answers are alike. It notes the call.
func (s *sameness) same(what string, a, b limit.Answer, errA, errB error) bool {
	s.Helper()
	text := func(a limit.Answer, err error) string {
		switch {
		case errors.Is(err, limit.ErrNever):
			return "never"
		case err != nil:
			return err.Error()
		}
		return fmt.Sprint(a.Granted, " granted ", a.Remaining, " remain, retry ", a.RetryAfter, " reset ", a.ResetAfter, a.Refused())
	}
	if a.RetryAfter > 0 {
		s.retry = a.RetryAfter.Microseconds()
	}
	s.calls = append(s.calls, fmt.Sprintf("%d %s: %s", s.now, what, text(a, errA)))
	if text(a, errA) == text(b, errB) {
		return true
	}
	for _, call := range s.calls[max(0, len(s.calls)-25):] {
		s.Log(call)
	}
	s.Errorf("in memory: %s", text(b, errB))
	return false
}

func (s *sameness) step() bool {
	s.Helper()
	at := s.rng.IntN(len(s.sets))
	key := []string{"a", "b"}[s.rng.IntN(2)]
	set := s.sets[at]
	one, other, ctx := set.redis.Key(key), set.memory.Key(key), s.Context()
	switch n := 1 + s.rng.Int64N(12); s.rng.IntN(12) {
	case 0:
		l := anyLimit(s.rng)
		errA, errB := one.SetLimit(ctx, l), other.SetLimit(ctx, l)
		return s.same(fmt.Sprint(at, key, " set limit ", l), limit.Answer{}, limit.Answer{}, errA, errB)
	case 1:
		return s.same(fmt.Sprint(at, key, " reset"), limit.Answer{}, limit.Answer{}, one.Reset(ctx), other.Reset(ctx))
	case 2, 3:
		if len(s.taken) > 0 {
			s.taken[len(s.taken)-1-s.rng.IntN(min(3, len(s.taken)))](n)
		}
	case 4, 5:
		a, errA := one.Peek(ctx)
		b, errB := other.Peek(ctx)
		return s.same(fmt.Sprint(at, key, " peek"), a, b, errA, errB)
	default:
		call, what := (*limit.Limiter).Take, "take"
		if s.rng.IntN(2) == 0 {
			call, what = (*limit.Limiter).TakeUpTo, "take up to"
		}
		a, errA := call(one, ctx, n)
		b, errB := call(other, ctx, n)
		s.taken = append(s.taken, func(share int64) {
			back, too := a, b
			back.Granted, too.Granted = min(share, a.Granted), min(share, b.Granted)
			s.same(fmt.Sprint(at, key, " give back ", back.Granted), limit.Answer{}, limit.Answer{}, one.GiveBack(ctx, back), other.GiveBack(ctx, too))
		})
		return s.same(fmt.Sprint(at, key, " ", what, " ", n), a, b, errA, errB)
	}
	return true
}

// TestMemoryIsRedis asserts that each call gets the same answer in memory as from the scripts: of each limiter and of All
// of several, whatever is taken, looked at, given back, reset, or set live, also when the clock goes back. LOADCTL_SEEDS is how
// many sequences of 100 calls are played.
func TestMemoryIsRedis(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	granted := map[bool]int{}
	seeds := 1000
	if testing.Short() {
		seeds = 150
	}
	if n, err := strconv.Atoi(os.Getenv("LOADCTL_SEEDS")); err == nil {
		seeds = n
	}
	for seed := range uint64(seeds) {
		s := &sameness{T: t, rng: rand.New(rand.NewPCG(seed, 42)), now: epoch}
		if err := client.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		stores := [2]limit.Store{
			limit.Redis(virtualRedis{client, &s.now, map[string]*redis.Script{}}),
			limit.MemoryAt(0, func() int64 { return s.now }),
		}
		for _, name := range limit.Names() {
			s.sets = append(s.sets, s.anySet(stores, name, "one"))
		}
		s.rng.Shuffle(len(s.sets), func(i, j int) { s.sets[i], s.sets[j] = s.sets[j], s.sets[i] })
		some := append(slices.Clone(s.sets[:3]), s.anySet(stores, limit.Names()[s.rng.IntN(len(limit.Names()))], "two"))
		s.sets = append(s.sets, s.all(some[2:4]), s.all(some))
		for range 100 {
			s.now += []int64{0, 1, s.rng.Int64N(2000), s.rng.Int64N(second), s.rng.Int64N(20 * second), s.rng.Int64N(20 * day), s.retry, max(0, s.retry-1)}[s.rng.IntN(8)]
			if s.rng.IntN(15) == 0 {
				s.now -= s.rng.Int64N(20 * second)
			}
			if !s.step() {
				t.Fatalf("seed %d", seed)
			}
		}
		granted[len(s.taken) > 0]++
	}
	if granted[true] < seeds*9/10 {
		t.Errorf("only %d seeds took anything", granted[true])
	}
}

func (s *sameness) all(pairs []pair) pair {
	s.Helper()
	var both [2][]*limit.Set
	for _, p := range pairs {
		both[0], both[1] = append(both[0], p.redis), append(both[1], p.memory)
	}
	a, errA := limit.All(both[0])
	b, errB := limit.All(both[1])
	if errA != nil || errB != nil {
		s.Fatal(errA, errB)
	}
	return pair{a, b}
}

// TestMemoryIsBounded asserts that a Memory has no more states than it may, forgets those that end first, and removes
// those that have ended.
func TestMemoryIsBounded(t *testing.T) {
	now := int64(epoch)
	store := limit.MemoryAt(100, func() int64 { return now })
	set, err := limit.NewSet("fixed-window", store, "set", limit.PerWindow(10, time.Minute),
		limit.PerKey(func(key string) limit.Limit { return limit.PerWindow(10, time.Duration(len(key))*time.Minute) }))
	if err != nil {
		t.Fatal(err)
	}
	take := func(key string) int64 {
		t.Helper()
		a, err := set.Take(t.Context(), key, 6)
		if err != nil {
			t.Fatal(err)
		}
		return a.Granted
	}
	const long = "0123456789"
	if take(long) != 6 {
		t.Error("a new key is refused")
	}
	for i := range 1000 {
		now++
		if take(fmt.Sprint(i%10, i/10%10, i/100)) != 6 { // all of 3 bytes or 5: each is new
			t.Errorf("key %d is refused", i)
		}
		if n := limit.States(store); n > 100 {
			t.Fatalf("%d states", n)
		}
	}
	if take(long) != 0 {
		t.Error("the key that ends last was forgotten")
	}
	now += 11*60*second + 10*second
	if take("x") != 6 || limit.States(store) != 1 {
		t.Errorf("%d states after all but one have ended", limit.States(store))
	}
}
