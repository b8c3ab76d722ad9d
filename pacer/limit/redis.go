package limit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/lua"
)

// How long Wait sleeps before it asks again. At most patience, so that it notices a limit that was raised. At least
// breath, so that no answer makes it ask without a pause.
const (
	patience = time.Second
	breath   = time.Millisecond
)

// Redis is a limiter with its state in Redis. New and the constructors make it. Its methods are safe for concurrent
// use. Each makes one call of one script. It takes as long as the client's timeouts allow.
type Redis struct {
	kind   kind
	client redis.Scripter
	script *redis.Script
	keys   []string
	limit  Limit
	option int64
	turn   chan struct{} // held by the waiting caller that asks
}

func (k kind) limiter(client redis.Scripter, key string, l Limit, options []Option) (*Redis, error) {
	if key == "" || len(key) > 256 || strings.ContainsAny(key, "{}") {
		return nil, fmt.Errorf("%s: key %.40q: give 1 to 256 bytes without { and }", k.name, key)
	}
	l, option, err := k.settings(l, options)
	if err != nil {
		return nil, err
	}
	tag := "limit:{" + key + "}:" + k.name // one tag: all keys of a limiter are in one slot of a cluster
	return &Redis{
		kind: k, client: client, script: lua.Limiter(k.script), keys: []string{tag + ":state", tag + ":limit"},
		limit: l, option: option, turn: make(chan struct{}, 1),
	}, nil
}

// Take implements Limiter. It grants all n permits or none.
func (r *Redis) Take(ctx context.Context, n int64) (Answer, error) { return r.take(ctx, n, 1) }

// TakeUpTo answers now with as many of n permits as there are, which may be none. n is at least 1.
func (r *Redis) TakeUpTo(ctx context.Context, n int64) (Answer, error) { return r.take(ctx, n, 0) }

func (r *Redis) take(ctx context.Context, n int64, all int) (Answer, error) {
	if err := askable(ctx, n); err != nil {
		return Answer{}, fmt.Errorf("take %d permits: %w", n, err)
	}
	name := rand.Int64N(1 << 53)
	args := append([]any{n, all}, r.limit.args()...)
	f, err := r.script.Run(ctx, r.client, r.keys, append(args, r.option, name)...).Int64Slice()
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "NEVER "):
		return Answer{}, fmt.Errorf("take %d permits: %w", n, ErrNever)
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Answer{}, fmt.Errorf("take %d permits: %w: %w", n, errSilent, err)
	case err != nil:
		return Answer{}, fmt.Errorf("take %d permits: %w", n, err)
	case len(f) != 4:
		return Answer{}, fmt.Errorf("take %d permits: the reply has %d fields instead of 4", n, len(f))
	}
	return Answer{
		Granted: f[0], Remaining: f[1], RetryAfter: time.Duration(f[2]) * time.Microsecond, ResetAfter: time.Duration(f[3]) * time.Microsecond,
		name: name,
	}, nil
}

// Wait implements Limiter. The waiting callers of one process are served in the order in which they came. Between
// processes the order is random. Wait asks again at the time that the limiter answered, but not before 1 ms after the
// last answer, and at least once a second. So it notices a limit that was raised. A leaky bucket gets back what it
// granted to a caller that gives up.
func (r *Redis) Wait(ctx context.Context, n int64) error {
	a, err := r.granted(ctx, n)
	if err == nil && a.RetryAfter > 0 { // a place in a queue
		if err = sleep(ctx, a.RetryAfter); err != nil {
			err = errors.Join(err, r.GiveBack(context.WithoutCancel(ctx), a))
		}
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("wait for %d permits: %w", n, err)
	}
	return err
}

// granted asks until n are granted.
func (r *Redis) granted(ctx context.Context, n int64) (Answer, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	for {
		a, err := r.Take(ctx, n)
		if err != nil || a.Granted == n {
			return a, err
		}
		if err := sleep(ctx, max(breath, min(a.RetryAfter, patience))); err != nil {
			return Answer{}, err
		}
	}
}

// GiveBack returns to a leaky bucket what it granted in a, if nobody has queued behind it. Grants of other limiters
// cannot be given back, as they may have been used already. Then nothing happens, which is no error.
func (r *Redis) GiveBack(ctx context.Context, a Answer) error {
	if !r.kind.queues || a.Granted == 0 {
		return nil
	}
	if err := lua.GiveBack().Run(ctx, r.client, r.keys[:1], a.name).Err(); err != nil {
		return fmt.Errorf("give back %d permits: %w", a.Granted, err)
	}
	return nil
}

// SetLimit changes the limit for all users of this limiter and key, from their next call on. It wins over the limit
// they were made with. Redis keeps it until 7 days after the last grant under it, and until nothing granted is left.
// A limit that no constructor accepts is an error and changes nothing.
func (r *Redis) SetLimit(ctx context.Context, l Limit) error {
	if err := l.check(r.kind.bursts); err != nil {
		return fmt.Errorf("set limit: %w", err)
	}
	drops := 0 // whether the limiter counts in drops: those with a burst do
	if r.kind.bursts {
		drops = 1
	}
	if err := lua.SetLimit().Run(ctx, r.client, r.keys[1:], append(l.args(), drops)...).Err(); err != nil {
		return fmt.Errorf("set limit: %w", err)
	}
	return nil
}

// atOnce returns how many permits can ever be granted at once by the limit it was made with: capacity() of its
// script.
func (r *Redis) atOnce() int64 {
	switch {
	case !r.kind.bursts:
		return r.limit.Count
	case r.kind.option == "Debt" && r.option == 1:
		return min(r.limit.maxBurst(), maxCount)
	}
	return r.limit.burst()
}

// sleep waits for d, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
