package limit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/pacer/limit"
)

// mute is a shared limiter that is asked and says nothing.
type mute struct{}

func (mute) Take(ctx context.Context, _ int64) (limit.Answer, error) {
	<-ctx.Done()
	return limit.Answer{}, ctx.Err()
}

func (mute) Wait(ctx context.Context, _ int64) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestFailoverSilent: a shared limiter that says nothing is away for who has time, and after a deadline for those who come next; who gives up says
// nothing of it.
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
		for i, want := range []error{context.DeadlineExceeded, nil} { // the first one only if who gave up has changed nothing
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if a, err := f.Take(ctx, 1); !errors.Is(err, want) || (err == nil) != (a.Granted == 1) {
				t.Errorf("call %d with a deadline: %+v, %v; want the error %v", i, a, err, want)
			}
			cancel()
		}
	})
}

// TestFailoverHung: callers with deadlines fail over when a real server hangs, and not when they only waited for as long as they would.
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
	if err := wait(500 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waits for a permit that is not due: %v", err)
	}
	if a, err := f.Take(t.Context(), 1); err != nil || a.Granted != 0 || a.RetryAfter < 29*time.Minute {
		t.Errorf("one who waited is taken for an outage: %+v, %v", a, err)
	}
	server.Pause()
	defer server.Resume()
	if err := wait(100 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the server hangs: %v", err)
	}
	// By itself, as soon as it is not the shared limiter's turn again; a slow machine may need more than one try.
	for tries := 1; wait(100*time.Millisecond) != nil; tries++ {
		if tries == 50 {
			t.Fatal("nobody fails over")
		}
	}
}

// TestFailoverMistaken: what somebody has to mend is an error, and no outage.
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
		"unauthenticated": {}, // so many arguments are not even read
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

// TestFailoverReplies: a server that cannot serve anybody now is away; one that says what is wrong with the question is not.
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

// TestFailoverLarge: a batch costs no more than a permit, and is paid back to the µs, or for as long as a duration holds.
func TestFailoverLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := limit.NewFailover(gone{}, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := f.Take(t.Context(), 1_000_000_000); err != nil || a.Granted != 1_000_000_000 || a.ResetAfter != 1000*time.Second {
			t.Errorf("%+v, %v", a, err)
		}
		time.Sleep(1000*time.Second - time.Microsecond)
		if a, err := f.Take(t.Context(), 1); err != nil || a.Granted != 0 || a.RetryAfter != time.Microsecond {
			t.Errorf("1 µs too early: %+v, %v", a, err)
		}
		time.Sleep(time.Microsecond)
		if a, err := f.Take(t.Context(), 1); err != nil || a.Granted != 1 {
			t.Errorf("in time: %+v, %v", a, err)
		}
		slow, err := limit.NewFailover(gone{}, 1e-300)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int64{1_000_000_000, 0} {
			if a, err := slow.Take(t.Context(), 1_000_000_000); err != nil || a.Granted != want || a.ResetAfter != 366*24*time.Hour {
				t.Errorf("call %d, a permit that never comes: %+v, %v", i, a, err)
			}
		}
	})
}
