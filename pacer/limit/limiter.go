package limit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Answer is the result of a call of a limiter.
type Answer struct {
	Granted   int64 // permits, 0 to n
	Remaining int64 // how many more would have been granted at that moment
	// Ask again after this, whole µs; 0 if all was granted. Of a leaky bucket: what was granted may be used after
	// this.
	RetryAfter time.Duration
	ResetAfter time.Duration // if nobody takes anything, the limiter is as new after this, whole µs

	at    int64 // time of the limiter, µs, for GiveBack; 0 = nothing to give back; below 0 = a grant of a batch
	name  int64 // of the call, for GiveBack
	joint *joint
}

// ErrNever says that a call asked for more permits at once than the limit can ever grant at once.
var ErrNever = errors.New("more permits at once than the limit can ever grant")

// errSilent says that the deadline of a call passed while Redis was asked, not while the caller waited for permits.
var errSilent = errors.New("no answer from Redis")

// errNone says that n is not a number of permits.
var errNone = errors.New("ask for at least 1 permit, and at most 1000000000")

// errLimit says that the function of PerKey returned a limit that cannot be.
var errLimit = errors.New("limit")

// How long Wait sleeps before it asks again. At most patience, so that it notices a limit that was raised. At least
// breath, so that no answer makes it ask without a pause.
const (
	patience = time.Second
	breath   = time.Millisecond
)

// Limiter is one key of a Set. New and Set.Key make it. Its methods are safe for concurrent use. Each makes one call of
// one script. It takes as long as the timeouts of the client allow.
type Limiter struct {
	set  *Set
	key  string
	turn chan struct{} // held by the waiting caller that asks
}

// New returns a limiter of one key, such as "checkout". The arguments are those of NewSet.
func New(name string, store Store, key string, l Limit, options ...Option) (*Limiter, error) {
	s, err := NewSet(name, store, "limit", l, options...)
	if err == nil {
		err = checkKey(key)
	}
	if err != nil {
		return nil, err
	}
	return s.Key(key), nil
}

// Take answers now: it grants all n permits or none. n is at least 1. ErrNever says that n can never be granted.
func (l *Limiter) Take(ctx context.Context, n int64) (Answer, error) {
	return l.set.Take(ctx, l.key, n)
}

// TakeUpTo answers now with as many of n permits as there are, which may be none. n is at least 1.
func (l *Limiter) TakeUpTo(ctx context.Context, n int64) (Answer, error) {
	return l.set.take(ctx, l.key, n, false)
}

// Peek takes nothing. Remaining says how many permits there are. RetryAfter says when there is one, or how long the next
// caller of a leaky bucket has to wait.
func (l *Limiter) Peek(ctx context.Context) (Answer, error) {
	if err := l.set.askable(ctx, l.key, 1); err != nil {
		return Answer{}, fmt.Errorf("peek: %w", err)
	}
	a, _, err := l.set.ask(ctx, l.key, 0, true)
	a.Remaining += l.set.batches.left(l.key)
	if err != nil {
		return Answer{}, fmt.Errorf("peek: %w", err)
	}
	return a, nil
}

// Reset forgets all that was granted. A limit that was set stays, and what other processes hold in batches.
func (l *Limiter) Reset(ctx context.Context) error {
	err := l.set.askable(ctx, l.key, 1)
	if err == nil {
		l.set.batches.forget(l.key)
		err = l.set.store.forget(ctx, l.set, l.key)
	}
	if err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	return nil
}

// GiveBack returns permits that were granted in a and are not used; lower a.Granted to return a part. The limiter is
// then as if they had never been granted. Windows and logs take them back at any time. A token bucket and a GCRA do so
// while no later call has been granted any, a leaky bucket while nobody has queued behind. Otherwise nothing happens,
// which is no error. Each answer is given back at most once.
func (l *Limiter) GiveBack(ctx context.Context, a Answer) error {
	if err := l.set.giveBack(ctx, l.key, a); err != nil {
		return fmt.Errorf("give back %d permits: %w", a.Granted, err)
	}
	return nil
}

// SetLimit changes the limit for all users of this limiter and key, from their next call on. It wins over the limit
// they were made with. The store keeps it until 7 days after the last grant under it, and until nothing granted is
// left. A limit that New does not accept is an error and changes nothing.
func (l *Limiter) SetLimit(ctx context.Context, to Limit) error {
	err := l.set.askable(ctx, l.key, 1)
	r := l.set.rules[0]
	switch {
	case err != nil:
	case len(l.set.rules) > 1:
		err = errors.New("these are several limits: set that of one of the sets that All got")
	default:
		err = to.check(r.kind.bursts)
	}
	if err == nil {
		err = l.set.store.set(ctx, r, l.key, to)
	}
	if err != nil {
		return fmt.Errorf("set limit: %w", err)
	}
	return nil
}

// Wait returns nil when n permits are granted and may be used. It returns early with an error if ctx ends, or if n can
// never be granted (ErrNever). The waiting callers that share a Limiter are served in the order in which they came.
// Otherwise the order is random. Wait asks again at the time that the limiter answered, but not before 1 ms after the
// last answer, and at least once a second. So it notices a limit that was raised. A leaky bucket gets back what it
// granted to a caller that gives up. On a share (FailShare) Wait collects permits one by one; a caller that gives up
// loses those.
func (l *Limiter) Wait(ctx context.Context, n int64) error {
	a, err := l.granted(ctx, n)
	if err == nil && a.RetryAfter > 0 { // a place in a queue
		if err = sleep(ctx, a.RetryAfter); err != nil {
			err = errors.Join(err, l.GiveBack(context.WithoutCancel(ctx), a))
		}
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("wait for %d permits: %w", n, err)
	}
	return err
}

// granted asks until n are granted. The answer is the last one.
func (l *Limiter) granted(ctx context.Context, n int64) (Answer, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	for {
		shares := l.set.outage.shares()
		if shares && n > l.set.atOnce(l.key) {
			return Answer{}, fmt.Errorf("wait for %d permits: %w", n, ErrNever)
		}
		a, err := l.set.take(ctx, l.key, n, !shares)
		if n -= a.Granted; err != nil || n == 0 {
			return a, err
		}
		if err := sleep(ctx, max(breath, min(a.RetryAfter, patience))); err != nil {
			return Answer{}, err
		}
	}
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
