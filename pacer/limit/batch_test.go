package limit_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer/limit"
)

// startMembers starts four processes that take permits as beMember says.
func startMembers(t *testing.T, addr string, args ...any) []*child.Process {
	t.Helper()
	var members []*child.Process
	for range 4 {
		var text []string
		for _, arg := range args {
			text = append(text, fmt.Sprint(arg))
		}
		cmd := exec.Command(os.Args[0], text...)
		cmd.Env = append(os.Environ(), "LIMIT_MEMBER="+addr)
		p, err := child.Start(cmd, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		members = append(members, p)
	}
	return members
}

// printed returns what a member printed: the permits that it asked Redis for, and the times of those that it used.
func printed(t *testing.T, p *child.Process) (calls, used []int64) {
	t.Helper()
	for line := range bytes.Lines([]byte(p.Stdout.String())) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			continue // it is not whole yet
		}
		var kind string
		var n int64
		if _, err := fmt.Sscan(string(line), &kind, &n); err != nil {
			t.Fatalf("%q: %v; %s", line, err, p.Stderr.String())
		}
		if kind == "c" {
			calls = append(calls, n)
		} else {
			used = append(used, n)
		}
	}
	return calls, used
}

// ended waits for members to end well.
func ended(t *testing.T, members ...*child.Process) {
	t.Helper()
	for _, p := range members {
		<-p.Exited
		if !p.Cmd.ProcessState.Success() {
			t.Fatalf("%v: %s", p.Cmd.ProcessState, p.Stderr.String())
		}
	}
}

// TestBatch asserts that four processes with 10,000 takes each second make at most one call of Redis for twenty of them,
// that nothing is refused below the limit, and that beyond it the permits that are used keep to R·(W + hold) + x.
func TestBatch(t *testing.T) {
	t.Parallel()
	for _, count := range []int64{200_000, 5000} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			const takes = 5000
			members := startMembers(t, server.Addr(), "token-bucket", takes, count, time.Second)
			ended(t, members...)
			var calls int
			var used []int64
			for _, p := range members {
				c, u := printed(t, p)
				calls, used = calls+len(c), append(used, u...)
			}
			t.Logf("%d calls for %d takes, %d granted", calls, 4*takes, len(used))
			if calls*20 > 4*takes {
				t.Errorf("%d calls for %d takes", calls, 4*takes)
			}
			if count > 10_000 && len(used) != 4*takes {
				t.Errorf("%d of %d granted far below the limit", len(used), 4*takes)
			}
			slices.Sort(used)
			for first := range used {
				for _, last := range []int{first, first + 100, first + 1000, first + 3000, len(used) - 1} {
					if last < first || last >= len(used) {
						continue
					}
					// A process may have been interrupted between a permit and its time.
					if bound := float64(count)*(float64(used[last]-used[first])/1e6+hold.Seconds()) + 1000 + 4; float64(last-first+1) > bound {
						t.Fatalf("%d permits in %d µs, at most %.0f were promised", last-first+1, used[last]-used[first], bound)
					}
				}
			}
		})
	}
}

// TestBatchGrantsNow asserts that a permit of a batch that was granted has no time to wait for, also of the last batch below the limit.
func TestBatchGrantsNow(t *testing.T) {
	const count = 100
	set := mustSet(t, limit.Memory(0), limit.PerWindow(count, time.Hour), limit.Batch(time.Minute))
	for i := range count {
		a, err := set.Take(t.Context(), "k", 1)
		if err != nil || a.Granted != 1 || a.RetryAfter != 0 {
			t.Fatalf("permit %d: %+v, %v", i, a, err)
		}
	}
	if a, err := set.Take(t.Context(), "k", 1); err != nil || a.Granted != 0 || a.RetryAfter == 0 {
		t.Errorf("above the limit: %+v, %v", a, err)
	}
}

// TestBatchTaken asserts that a call for several permits is granted though another one takes what was held while it asks for the rest.
func TestBatchTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set *limit.Set
		var meanwhile func()
		per := limit.PerWindow(1000, time.Hour)
		set = mustSet(t, limit.Memory(0), per, limit.Batch(10*time.Second), limit.PerKey(func(string) limit.Limit {
			if f := meanwhile; f != nil { // it is called while the store is asked
				meanwhile = nil
				f()
			}
			return per
		}))
		take := func(n int64) (held int64) {
			t.Helper()
			a, err := set.Take(t.Context(), "k", n)
			if err != nil || a.Granted != n {
				t.Errorf("%d permits: %+v, %v", n, a, err)
			}
			return a.Remaining
		}
		held := take(1)
		for held < 10 || held > 100 { // what the store has left too is more; the batches grow
			held = take(1)
		}
		time.Sleep(9 * time.Second) // so the next batch is small
		meanwhile = func() { take(held) }
		take(held + 2)
		if meanwhile != nil {
			t.Error("nobody took meanwhile")
		}
	})
}

// TestBatchGivesBackOnce asserts that an answer of a batch is given back once, however often it is said.
func TestBatchGivesBackOnce(t *testing.T) {
	const count = 100
	set := mustSet(t, limit.Memory(0), limit.PerWindow(count, time.Hour), limit.Batch(time.Minute))
	granted := 0
	for ; granted < 2*count; granted++ {
		a, err := set.Take(t.Context(), "k", 1)
		if err != nil {
			t.Fatal(err)
		}
		if a.Granted == 0 {
			break
		}
		if granted == count/2 {
			for range 5 {
				if err := set.Key("k").GiveBack(t.Context(), a); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if granted != count+1 {
		t.Errorf("%d granted, want %d and the one that was given back", granted, count)
	}
}

// TestBatchKilled asserts that a process that is killed loses no more permits than its last batch: all others are used.
func TestBatchKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const count = 6000
	members := startMembers(t, server.Addr(), "fixed-window", 10_000, count, 24*time.Hour)
	await.True(t, "five hundred permits of the first process", func() bool {
		_, used := printed(t, members[0])
		return len(used) > 500
	})
	members[0].Kill()
	<-members[0].Exited
	ended(t, members[1:]...)
	lost := int64(count)
	for _, p := range members {
		_, used := printed(t, p)
		lost -= int64(len(used))
	}
	calls, _ := printed(t, members[0])
	t.Logf("%d permits lost, the last batch was %d", lost, calls[len(calls)-1])
	if lost < 0 || lost > calls[len(calls)-1] {
		t.Errorf("%d permits lost, the last batch was %d", lost, calls[len(calls)-1])
	}
}

// counting is a store of which a test counts the calls.
type counting struct {
	redis.Cmdable
	calls atomic.Int64
	inner redis.Cmdable
}

func (c *counting) EvalSha(ctx context.Context, hash string, keys []string, args ...any) *redis.Cmd {
	c.calls.Add(1)
	return c.inner.EvalSha(ctx, hash, keys, args...)
}

func (c *counting) Eval(ctx context.Context, text string, keys []string, args ...any) *redis.Cmd {
	return c.inner.Eval(ctx, text, keys, args...)
}

// TestBatchGoesBack asserts that what a key does not use any more goes back, that a key that is not busy makes a call for
// each take and never holds anything, and that an answer from a batch can be given back.
func TestBatchGoesBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := &counting{inner: server.Client()}
	set, err := limit.NewSet("sliding-log", limit.Redis(client), "set", limit.PerWindow(100_000, time.Hour), limit.Batch(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	alone := mustLike(t, server.Client())
	used := int64(0)
	for client.calls.Load() < 8 { // batches grow by doubling
		a, err := set.Take(t.Context(), "busy", 1)
		if err != nil || a.Granted != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
		if used++; used%2 == 0 {
			used--
			if err := set.Key("busy").GiveBack(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
	}
	before, err := alone.Key("busy").Peek(t.Context())
	if err != nil || before.Remaining >= 100_000-used {
		t.Errorf("%+v, %v: nothing is held after %d takes", before, err, used)
	}
	await.True(t, "all that is not used goes back", func() bool {
		a, err := alone.Key("busy").Peek(t.Context())
		return err == nil && a.Remaining == 100_000-used
	})
	calls := client.calls.Load()
	for i := range 50 {
		if a, err := set.Take(t.Context(), fmt.Sprint("idle", i), 3); err != nil || a.Granted != 3 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if got := client.calls.Load() - calls; got != 50 {
		t.Errorf("%d calls for 50 keys that are not busy", got)
	}
	if _, err := set.Take(t.Context(), "idle1", 100_001); err == nil {
		t.Error("more than can ever be granted is no error")
	}
}

func mustLike(t *testing.T, client redis.Cmdable) *limit.Set {
	t.Helper()
	set, err := limit.NewSet("sliding-log", limit.Redis(client), "set", limit.PerWindow(100_000, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestBatchSteps asserts in virtual time what a batch promises: what is held is used within hold or not at all, refusals
// are answered without a call until the store may have something, and the store is asked again within hold.
func TestBatchSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := limit.NewSet("fixed-window", limit.Memory(0), "set", limit.PerWindow(1000, time.Minute), limit.Batch(100*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		l := set.Key("k")
		take := func(n, want int64) limit.Answer {
			t.Helper()
			a, err := l.Take(t.Context(), n)
			if err != nil || a.Granted != want {
				t.Errorf("%+v, %v; want %d", a, err, want)
			}
			return a
		}
		for range 200 { // 1,000/s: 50 are used in half the time
			take(1, 1)
			time.Sleep(time.Millisecond)
		}
		if a, err := l.Peek(t.Context()); err != nil || a.Remaining != 800 {
			t.Errorf("with what is held: %+v, %v", a, err)
		}
		time.Sleep(time.Second)
		if a, err := l.Peek(t.Context()); err != nil || a.Remaining != 800 {
			t.Errorf("after a second at rest: %+v, %v", a, err)
		}
		take(800, 800)
		refused := take(1, 0)
		if refused.RetryAfter < 50*time.Second {
			t.Errorf("%+v, want the end of the window", refused)
		}
		if err := l.SetLimit(t.Context(), limit.PerWindow(1010, time.Minute)); err != nil {
			t.Fatal(err)
		}
		take(1, 0) // the store is not asked yet
		time.Sleep(100 * time.Millisecond)
		take(1, 1)
		if err := l.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		take(1010, 1010)
		time.Sleep(time.Second)
	})
}

// TestBatchOfAll asserts that batches of several limits count in each of them, and go back to each.
func TestBatchOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := limit.Memory(0)
		few, err := limit.NewSet("sliding-log", store, "few", limit.PerWindow(300, time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		many, err := limit.NewSet("fixed-window", store, "many", limit.PerWindow(1000, time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		both, err := limit.All([]*limit.Set{few, many}, limit.Batch(100*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 400 {
			a, err := both.Take(t.Context(), "k", 1)
			if err != nil || (a.Granted == 1) != (i < 300) {
				t.Fatalf("call %d: %+v, %v", i, a, err)
			}
			time.Sleep(time.Millisecond)
			if i == 99 { // what is held goes back
				time.Sleep(time.Second)
			}
			if i != 99 && i < 390 {
				continue
			}
			for set, total := range map[*limit.Set]int64{few: 300, many: 1000} {
				if a, err := set.Key("k").Peek(t.Context()); err != nil || a.Remaining != total-min(300, int64(i)+1) {
					t.Errorf("after call %d %d of %d remain, %v", i, a.Remaining, total, err)
				}
			}
		}
		time.Sleep(time.Second)
	})
}
