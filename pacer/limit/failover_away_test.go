package limit_test

import (
	"context"
	"errors"
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

// mute is a shared limiter that never answers.
type mute struct{}

func (mute) Take(ctx context.Context, _ int64) (limit.Answer, error) {
	<-ctx.Done()
	return limit.Answer{}, ctx.Err()
}

func (mute) Wait(ctx context.Context, _ int64) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestFailoverSilent: a shared limiter that does not answer counts as away. Callers that have time notice that
// themselves; after a missed deadline the next callers do. A caller that gives up early proves nothing.
func TestFailoverSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failover := func() *limit.Failover {
			f, err := limit.NewFailover(mute{}, 10)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		if a, err := failover().Take(t.Context(), 1); err != nil || a.Granted != 1 {
			t.Errorf("without a deadline: %+v, %v", a, err)
		}
		f := failover()
		gaveUp, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if a, err := f.Take(gaveUp, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up: %+v, %v", a, err)
		}
		// This is the first permit only if the caller that gave up has changed nothing.
		for i, want := range []error{context.DeadlineExceeded, nil} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if a, err := f.Take(ctx, 1); !errors.Is(err, want) || (err == nil) != (a.Granted == 1) {
				t.Errorf("call %d with a deadline: %+v, %v; want the error %v", i, a, err, want)
			}
			cancel()
		}
	})
}

// A lapse is a context whose deadline passes when the test says so.
type lapse struct {
	context.Context
	passed chan struct{}
}

func (l lapse) Done() <-chan struct{} { return l.passed }

func (l lapse) Err() error {
	select {
	case <-l.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// answered is called after each command of a client.
type answered func()

func (a answered) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a answered) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a answered) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		a()
		return err
	}
}

// TestFailoverHung: callers with deadlines fail over when a real server hangs, but not when they merely waited for
// their turn.
func TestFailoverHung(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f, err := limit.NewFailover(must(t, "gcra", server.Client(), "k", limit.PerWindow(2, time.Hour)), 1)
	if err != nil {
		t.Fatal(err)
	}
	wait := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return f.Wait(ctx, 1)
	}
	for range 2 {
		if err := f.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // if the first one were taken for an outage, the second one would be served at once
		patience := lapse{t.Context(), make(chan struct{})}
		server.Client().AddHook(answered(sync.OnceFunc(func() { close(patience.passed) })))
		if err := f.Wait(patience, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who waits for a permit that is not due: %v", err)
		}
	}
	server.Pause()
	defer server.Resume()
	if err := wait(100 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the server hangs: %v", err)
	}
	// It grants by itself as soon as it does not have to try the shared limiter again.
	await.True(t, "a permit of its own", func() bool { return wait(100*time.Millisecond) == nil })
}

// TestFailoverMistaken: a fault that somebody has to mend is an error, not an outage.
func TestFailoverMistaken(t *testing.T) {
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
		f, err := limit.NewFailover(must(t, "gcra", client, "text", limit.PerWindow(10, time.Second)), 1000)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := f.Take(t.Context(), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, a, err)
		}
		if err := f.Wait(t.Context(), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: to wait: %v", want, err)
		}
		client.Close()
	}
}

// replies is a shared limiter whose server replies with this error.
type replies string

func (r replies) Error() string { return string(r) }
func (r replies) RedisError()   {}

func (r replies) Take(context.Context, int64) (limit.Answer, error) { return limit.Answer{}, r }
func (r replies) Wait(context.Context, int64) error                 { return r }

// TestFailoverReplies: a server that can serve nobody at the moment counts as away. A server that says what is wrong
// with the call does not.
func TestFailoverReplies(t *testing.T) {
	for reply, away := range map[replies]bool{
		"LOADING Redis is loading the dataset in memory": true, "CLUSTERDOWN The cluster is down": true,
		"READONLY You can't write against a read only replica.": true,
		"NOAUTH Authentication required.":                       false, "NOPERM this user has no permissions": false, "ERR unknown command": false,
	} {
		f, err := limit.NewFailover(reply, 10)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := f.Take(t.Context(), 1); (err == nil) != away || (a.Granted == 1) != away {
			t.Errorf("%s: %+v, %v; want to go on: %v", string(reply), a, err, away)
		}
	}
}

// TestFailoverSteps: a permit is due to the µs, at any rate, for as long as a Duration can hold.
func TestFailoverSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, gone{}, 1000)
		for i, step := range []struct {
			sleep time.Duration
			want  limit.Answer
		}{
			{0, limit.Answer{Granted: 1, ResetAfter: time.Millisecond}},
			{time.Millisecond - time.Microsecond, limit.Answer{RetryAfter: time.Microsecond, ResetAfter: time.Microsecond}},
			{time.Microsecond, limit.Answer{Granted: 1, ResetAfter: time.Millisecond}},
			{time.Hour, limit.Answer{Granted: 1, ResetAfter: time.Millisecond}},
			{0, limit.Answer{RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
		} {
			time.Sleep(step.sleep)
			if a, err := f.Take(t.Context(), 1); err != nil || a != step.want {
				t.Errorf("step %d: %+v, %v; want %+v", i, a, err, step.want)
			}
		}
		slow := alone(t, gone{}, 1e-300)
		for i, want := range []int64{1, 0} {
			if a, err := slow.Take(t.Context(), 1); err != nil || a.Granted != want || a.ResetAfter != 366*24*time.Hour {
				t.Errorf("call %d, a permit that never comes: %+v, %v", i, a, err)
			}
		}
	})
}

// stubborn is a shared limiter whose client tries for 1.7 s, whatever the context, and then reports that the server is
// away. It can also answer at once.
type stubborn struct {
	back    atomic.Bool
	calls   atomic.Int64
	granted atomic.Int64
}

func (s *stubborn) Take(_ context.Context, n int64) (limit.Answer, error) {
	s.calls.Add(1)
	if s.back.Load() {
		s.granted.Add(n)
		return limit.Answer{Granted: n}, nil
	}
	time.Sleep(1700 * time.Millisecond)
	return limit.Answer{}, errGone
}

func (s *stubborn) Wait(ctx context.Context, n int64) error {
	_, err := s.Take(ctx, n)
	return err
}

// TestFailoverStubborn: while one caller tries again, the others get the whole permit. Once the shared limiter is
// back, all ask it.
func TestFailoverStubborn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &stubborn{}
		f := alone(t, shared, 10)
		ctx, cancel := context.WithTimeout(t.Context(), 31700*time.Millisecond)
		defer cancel()
		const callers = 3
		var total atomic.Int64
		var fleet sync.WaitGroup
		for range callers {
			fleet.Go(func() {
				for f.Wait(ctx, 1) == nil {
					total.Add(1)
				}
			})
		}
		fleet.Wait()
		if n := total.Load(); n < 299 || n > 302 {
			t.Errorf("%d permits in 30 s at 10/s", n)
		}
		// All callers ask once at the beginning. After that one asks each 1.7 s + 1 s.
		if n := shared.calls.Load(); n < callers+10 || n > callers+12 {
			t.Errorf("it was asked %d times", n)
		}
		shared.back.Store(true)
		time.Sleep(2700 * time.Millisecond)
		for range 5 {
			if a, err := f.Take(t.Context(), 7); err != nil || a.Granted != 7 {
				t.Errorf("now that it is back: %+v, %v", a, err)
			}
		}
	})
}

// TestFailoverComesBack: a caller that waits for many permits keeps those it has, and asks the shared limiter only for
// the rest.
func TestFailoverComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &stubborn{}
		f, start := alone(t, shared, 1), time.Now()
		time.AfterFunc(9*time.Second, func() { shared.back.Store(true) })
		if err := f.Wait(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
		itself, passed := 1000-shared.granted.Load(), time.Since(start)
		if passed < 9*time.Second || passed > 13*time.Second || itself < 3 || itself > 9 {
			t.Errorf("%d permits by itself, in %v", itself, passed)
		}
	})
}

// TestFailoverGivesUp: the permit that a caller had reserved goes to the next caller if the first gives up.
func TestFailoverGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, gone{}, 0.1)
		if err := f.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			if err := f.Wait(ctx, 5); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want to be ended by the deadline", err)
			}
			cancel()
		}
		if a, err := f.Take(t.Context(), 1); err != nil || (a.RetryAfter-4*time.Second).Abs() > time.Microsecond {
			t.Errorf("6 of 10 s after the first permit: %+v, %v", a, err)
		}
	})
}

// hurried is away, and its callers give up while it is asked.
type hurried struct{ giveUp context.CancelFunc }

func (h hurried) Take(context.Context, int64) (limit.Answer, error) {
	h.giveUp()
	return limit.Answer{}, errGone
}

func (h hurried) Wait(context.Context, int64) error {
	h.giveUp()
	return errGone
}

// TestFailoverGivesUpWhileItAsks: a caller that gives up during a call gets an error that says so, and why the call
// failed.
func TestFailoverGivesUpWhileItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var giveUp context.CancelFunc
		f := alone(t, hurried{giveUp: func() { giveUp() }}, 1)
		for range 2 { // at first the limiter counts as present, then as away
			ctx, cancel := context.WithCancel(t.Context())
			giveUp = cancel
			if err := f.Wait(ctx, 5); !errors.Is(err, context.Canceled) || !errors.Is(err, errGone) {
				t.Errorf("%v, want both errors", err)
			}
			ctx, giveUp = context.WithCancel(t.Context())
			if a, err := f.Take(ctx, 1); ctx.Err() != nil && (!errors.Is(err, context.Canceled) || !errors.Is(err, errGone)) {
				t.Errorf("%+v, %v, want both errors", a, err)
			}
			giveUp = func() {}
			if _, err := f.Take(t.Context(), 1); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// TestFailoverNever: a request for more than the shared limiter can ever grant is refused for good, also during an
// outage. The Failover knows a larger limit that was set.
func TestFailoverNever(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { client.Close() })
	l := limit.PerWindow(10, time.Second)
	window, bucket := must(t, "sliding-window", client, "k", l), must(t, "token-bucket", client, "k", l, limit.Burst(20))
	larger := must(t, "gcra", client, "k", l, limit.Burst(20))
	if err := larger.SetLimit(t.Context(), limit.Limit{Count: 10, Window: time.Second, Burst: 300}); err != nil {
		t.Fatal(err)
	}
	type row struct {
		f    *limit.Failover
		most int64
	}
	rows := map[string]row{
		"sliding-window": {alone(t, window, 10), 10}, "token-bucket": {alone(t, bucket, 10), 20}, "larger": {alone(t, larger, 10), 300},
		"debt":    {alone(t, must(t, "token-bucket", client, "k", l, limit.Debt()), 10), 1_000_000_000},
		"unknown": {alone(t, gone{}, 10), 1_000_000_000},
	}
	if a, err := rows["larger"].f.Take(t.Context(), 300); err != nil || a.Granted != 300 {
		t.Fatalf("%+v, %v", a, err)
	}
	server.Kill()
	for name, r := range rows {
		when := min(time.Duration(r.most-2)*100*time.Millisecond, 366*24*time.Hour)
		if a, err := r.f.Take(t.Context(), r.most); err != nil || a.Granted != 0 || a.RetryAfter < when {
			t.Errorf("%s: all that can be at once: %+v, %v; want an answer that says when", name, a, err)
		}
		if a, err := r.f.TakeUpTo(t.Context(), 1_000_000); err != nil || a.Granted != 1 {
			t.Errorf("%s: up to more than that: %+v, %v", name, a, err)
		}
		for _, n := range []int64{r.most + 1, 1_000_000} {
			if r.most >= n || n > 1_000_000_000 {
				continue // n is not too many, or is too many for any limiter
			}
			if a, err := r.f.Take(t.Context(), n); !errors.Is(err, limit.ErrNever) {
				t.Errorf("%s: %d: %+v, %v", name, n, a, err)
			}
			if err := r.f.Wait(t.Context(), n); !errors.Is(err, limit.ErrNever) {
				t.Errorf("%s: to wait for %d: %v", name, n, err)
			}
		}
	}
}
