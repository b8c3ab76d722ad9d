package limit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer/limit"
)

// fake is a server whose calls end as the function says.
type fake struct {
	redis.Cmdable
	call func(ctx context.Context, n int64) error // nil grants n
}

func (f fake) EvalSha(ctx context.Context, _ string, _ []string, args ...any) *redis.Cmd {
	n := int64(0)
	if one, ok := args[0].(*int64); ok { // not of All
		n = *one
	}
	if err := f.call(ctx, n); err != nil {
		return redis.NewCmdResult(nil, err)
	}
	return redis.NewCmdResult([]any{n, int64(100), int64(0), int64(0), int64(1)}, nil)
}

var errGone = errors.New("connection refused")

func gone(context.Context, int64) error { return errGone }

// mute never answers.
func mute(ctx context.Context, _ int64) error { <-ctx.Done(); return ctx.Err() }

// member makes a limiter of 10/s of a fake server, whose members each have a share of it.
func member(t *testing.T, call func(context.Context, int64) error, members int64) *limit.Limiter {
	t.Helper()
	return must(t, "gcra", fake{call: call}, "k", limit.Limit{Count: 100, Window: 10 * time.Second, Burst: 1}, limit.FailShare(members))
}

// fleet returns how many permits a fleet grants itself while Redis is away for a time, each member as one of so many.
func fleet(t *testing.T, n int, members int64, away time.Duration) int64 {
	var total atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), away)
		defer cancel()
		var fleet sync.WaitGroup
		for range n {
			l := member(t, gone, members)
			for range 3 { // callers of one member share its part
				fleet.Go(func() {
					for l.Wait(ctx, 1) == nil {
						total.Add(1)
					}
				})
			}
		}
		fleet.Wait()
	})
	return total.Load()
}

// TestShareRate asserts that during an outage a fleet stays at the shared rate if each member has its part of it. With
// the full rate on every machine it would get that rate times the number of machines.
func TestShareRate(t *testing.T) {
	const n, rate, away = 4, 10, 100 * time.Second
	if got := fleet(t, n, n, away); got > rate*100+n || got < rate*100-n {
		t.Errorf("%d permits in %v, want %d", got, away, rate*100)
	}
	if naive := fleet(t, n, 1, away); naive < n*(rate*100-1) {
		t.Errorf("the naive fleet has only %d permits in %v: this test would not see %d × the rate", naive, away, n)
	}
}

// TestShareBatch asserts that a share of single permits grants one at a time: a call for many gets none, a call for up to
// many gets one, and a caller that waits gets one after the other.
func TestShareBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := must(t, "leaky-bucket", fake{call: gone}, "k", limit.PerWindow(1000, 25*time.Second), limit.FailShare(4)) // 10/s
		take, upTo := l.Take, l.TakeUpTo
		for i, step := range []struct {
			sleep   time.Duration
			call    func(context.Context, int64) (limit.Answer, error)
			n, want int64
			retry   time.Duration
		}{
			{0, take, 5, 0, 400 * time.Millisecond},
			{0, upTo, 5, 1, 100 * time.Millisecond},
			{0, upTo, 5, 0, 100 * time.Millisecond},
			{0, take, 5, 0, 500 * time.Millisecond},
			{40 * time.Millisecond, take, 1, 0, 60 * time.Millisecond},
			{60 * time.Millisecond, take, 1, 1, 0},
			{time.Hour, take, 2, 0, 100 * time.Millisecond},
			{0, take, 1, 1, 0},
			{0, take, 1, 0, 100 * time.Millisecond},
		} {
			time.Sleep(step.sleep)
			a, err := step.call(t.Context(), step.n)
			if err != nil || a.Granted != step.want || a.RetryAfter != step.retry {
				t.Errorf("step %d: %+v, %v; want %d and %v", i, a, err, step.want, step.retry)
			}
		}
		start := time.Now()
		if err := l.Wait(t.Context(), 25); err != nil {
			t.Error(err)
		}
		if passed := time.Since(start); passed < 2500*time.Millisecond || passed > 2505*time.Millisecond {
			t.Errorf("25 permits at 10/s came in %v", passed)
		}
		if a, err := l.Take(t.Context(), 1001); !errors.Is(err, limit.ErrNever) {
			t.Errorf("more than can ever be granted: %+v, %v", a, err)
		}
		if err := l.Wait(t.Context(), 1001); !errors.Is(err, limit.ErrNever) {
			t.Errorf("to wait for more than can ever be granted: %v", err)
		}
	})
}

// TestShareOfEachKey asserts that each key has a share of its own limit, with its part of the burst, and that all limits
// of All have.
func TestShareOfEachKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := limit.Redis(fake{call: gone})
		perKey := limit.PerKey(func(key string) limit.Limit { return limit.PerWindow(int64(len(key))*100, time.Hour) })
		bucket, err := limit.NewSet("token-bucket", store, "hour", limit.PerWindow(1, time.Hour), perKey)
		if err != nil {
			t.Fatal(err)
		}
		window, err := limit.NewSet("sliding-log", store, "second", limit.PerWindow(10, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for name, row := range map[string]struct {
			sets []*limit.Set
			want [2]int64
		}{
			"one":  {[]*limit.Set{bucket}, [2]int64{25, 75}},
			"both": {[]*limit.Set{bucket, window}, [2]int64{1, 1}}, // a window has no burst to share
		} {
			set, err := limit.All(row.sets, limit.FailShare(4))
			if err != nil {
				t.Fatal(err)
			}
			for i, key := range []string{"x", "xxx"} {
				a, err := set.Key(key).TakeUpTo(t.Context(), 1000)
				if err != nil || a.Granted != row.want[i] {
					t.Errorf("%s, %s: %+v, %v; want %d", name, key, a, err, row.want[i])
				}
				if err := set.Key(key).GiveBack(t.Context(), a); err != nil { // it would ask the server, which has not granted it
					t.Error(err)
				}
			}
		}
	})
}

// TestFailOpenAndClosed asserts that a dead server costs one call its timeout, that all others are let pass or refused,
// and that hooks see which.
func TestFailOpenAndClosed(t *testing.T) {
	for want, policy := range map[int64]limit.Option{3: limit.FailOpen(), 0: limit.FailClosed()} {
		synctest.Test(t, func(t *testing.T) {
			var calls, fell int
			silent := fake{call: func(ctx context.Context, n int64) error { calls++; return mute(ctx, n) }}
			set, err := limit.NewSet("gcra", limit.Redis(silent), "p", limit.PerWindow(5, time.Second), policy, limit.Observe(func(e limit.Event) {
				if e.Fallback {
					fell++
				}
			}))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			for i := range 100 {
				a, err := set.Take(t.Context(), fmt.Sprint(i), 3)
				if err != nil || a.Granted != want || (a.RetryAfter > 0) != (want == 0) {
					t.Errorf("call %d: %+v, %v; want %d", i, a, err, want)
				}
				if err := set.Key("k").GiveBack(t.Context(), a); err != nil { // nobody has granted it
					t.Error(err)
				}
			}
			if passed := time.Since(start); passed != time.Second || calls != 1 || fell != 100 {
				t.Errorf("%d calls of the server in %v, %d by the policy; want 1 in 1s, 100", calls, passed, fell)
			}
		})
	}
}

// TestSilent asserts that a server that does not answer counts as away. Callers that have time notice that themselves;
// after a missed deadline the next callers do. A caller that gives up early proves nothing.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if a, err := member(t, mute, 1).Take(t.Context(), 1); err != nil || a.Granted != 1 {
			t.Errorf("without a deadline: %+v, %v", a, err)
		}
		l := member(t, mute, 1)
		gaveUp, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if a, err := l.Take(gaveUp, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up: %+v, %v", a, err)
		}
		// This is the first permit only if the caller that gave up has changed nothing.
		for i, want := range []error{context.DeadlineExceeded, nil} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if a, err := l.Take(ctx, 1); !errors.Is(err, want) || (err == nil) != (a.Granted == 1) {
				t.Errorf("call %d with a deadline: %+v, %v; want the error %v", i, a, err, want)
			}
			cancel()
		}
	})
}

// TestAwayByReplies asserts that a server that can serve nobody at the moment counts as away, and a server that says what
// is wrong with the call does not.
func TestAwayByReplies(t *testing.T) {
	for reply, away := range map[redisError]bool{
		"LOADING Redis is loading the dataset in memory": true, "CLUSTERDOWN The cluster is down": true,
		"READONLY You can't write against a read only replica.": true,
		"NOAUTH Authentication required.":                       false, "NOPERM this user has no permissions": false, "ERR unknown command": false,
	} {
		l := member(t, func(context.Context, int64) error { return reply }, 1)
		if a, err := l.Take(t.Context(), 1); (err == nil) != away || (a.Granted == 1) != away {
			t.Errorf("%s: %+v, %v; want to go on: %v", string(reply), a, err, away)
		}
	}
}

// TestMistaken asserts that a fault that somebody has to mend is an error, not an outage.
func TestMistaken(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client()
	do := func(args ...any) {
		t.Helper()
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	do("SET", "limit:{text}:gcra:state", "x")
	do("ACL", "SETUSER", "nobody", "on", ">secret", "~*", "+@connection", "+@read")
	do("CONFIG", "SET", "requirepass", "secret")
	for want, options := range map[string]*redis.Options{
		"WRONGTYPE":       {Password: "secret"},
		"unauthenticated": {}, // the server does not even read this many arguments
		"NOPERM":          {Username: "nobody", Password: "secret"},
		"WRONGPASS":       {Password: "guess"},
	} {
		options.Addr = server.Addr()
		client := redis.NewClient(options)
		l := must(t, "gcra", client, "text", limit.PerWindow(10, time.Second), limit.FailOpen())
		if a, err := l.Take(t.Context(), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, a, err)
		}
		if err := l.Wait(t.Context(), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: to wait: %v", want, err)
		}
		client.Close()
	}
}

// TestStubborn asserts that while one caller tries again, the others get the whole share, and that all ask once the server
// is back. Its client tries for 1.7 s whatever the context.
func TestStubborn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Bool
		var calls atomic.Int64
		l := member(t, func(context.Context, int64) error {
			if calls.Add(1); back.Load() {
				return nil
			}
			time.Sleep(1700 * time.Millisecond)
			return errGone
		}, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 31700*time.Millisecond)
		defer cancel()
		const callers = 3
		var total atomic.Int64
		var fleet sync.WaitGroup
		for range callers {
			fleet.Go(func() {
				for ctx.Err() == nil {
					if a, err := l.Take(ctx, 1); err == nil && a.Granted == 1 {
						total.Add(1)
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		fleet.Wait()
		if n := total.Load(); n < 295 || n > 303 {
			t.Errorf("%d permits in 30 s at 10/s", n)
		}
		// All callers ask once at the beginning. After that one asks each 1.7 s + 1 s.
		if n := calls.Load(); n < callers+10 || n > callers+12 {
			t.Errorf("it was asked %d times", n)
		}
		back.Store(true)
		time.Sleep(2700 * time.Millisecond)
		for range 5 {
			if a, err := l.Take(t.Context(), 7); err != nil || a.Granted != 7 {
				t.Errorf("now that it is back: %+v, %v", a, err)
			}
		}
	})
}

// TestGivesUpWhileItAsks asserts that a caller that gives up during a call gets an error that says so, and why the call
// failed.
func TestGivesUpWhileItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		giveUp := func() {}
		l := member(t, func(context.Context, int64) error { giveUp(); return errGone }, 1)
		for range 2 { // at first the server counts as present, then as away
			ctx, cancel := context.WithCancel(t.Context())
			giveUp = cancel
			if err := l.Wait(ctx, 1); !errors.Is(err, context.Canceled) || !errors.Is(err, errGone) {
				t.Errorf("%v, want both errors", err)
			}
			giveUp = func() {}
			if _, err := l.Take(t.Context(), 1); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// TestAwayForReal uses a real server that hangs, dies and comes back: only in between a policy decides.
func TestAwayForReal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	var fell atomic.Bool
	set, err := limit.NewSet("gcra", limit.Redis(client), "p", limit.PerWindow(1000, time.Hour), limit.FailOpen(),
		limit.Observe(func(e limit.Event) { fell.Store(e.Fallback) }))
	if err != nil {
		t.Fatal(err)
	}
	decided := func() bool {
		t.Helper()
		if a, err := set.Take(t.Context(), "k", 1); err != nil || a.Granted != 1 {
			t.Errorf("%+v, %v", a, err)
		}
		return !fell.Load()
	}
	if _, err := set.Take(t.Context(), "k", 1001); !errors.Is(err, limit.ErrNever) {
		t.Errorf("more than can ever be granted: %v", err)
	}
	if !decided() {
		t.Error("a question that cannot be answered is taken for an outage")
	}
	server.Pause()
	if decided() {
		t.Error("a server that hangs has answered")
	}
	server.Resume()
	await.True(t, "an answer of the server that hung", decided)
	server.Kill()
	if decided() {
		t.Error("a dead server has answered")
	}
	many, err := set.TakeMany(t.Context(), 1, "a", "b")
	if err != nil || many[0].Granted != 1 || many[1].Granted != 1 || !fell.Load() {
		t.Errorf("many of a dead server: %+v, %v", many, err)
	}
	server.Restart()
	await.True(t, "an answer of the server that was dead", decided)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := set.Take(ended, "k", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("who has given up gets %v", err)
	}
	if !decided() {
		t.Error("a caller that gave up is taken for an outage")
	}
}
