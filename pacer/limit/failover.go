package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// again is how long a Failover leaves a shared limiter alone that did not answer.
const again = 250 * time.Millisecond

// Failover asks a shared limiter, and goes on by itself while that cannot answer: at the permit, a rate of its own, one at a time.
//
//	f, err := limit.NewFailover(bucket, 25) // one of four members of a fleet that is limited to 100 per second
//
// The permits of all members together must be at most the shared rate: then the fleet stays below it while Redis is away for all. Where it
// is away only for some, those come on top of what the others are granted. Whoever gives each member the full rate gets that times
// the number of members.
//
// Its methods are safe for concurrent use. The shared limiter's client should have short timeouts: each is waited for.
type Failover struct {
	shared Limiter
	turn   chan struct{} // who of those who wait by themselves asks

	mu    sync.Mutex
	local *rate.Limiter // asked under mu, with times that do not go back
	until time.Time     // the shared limiter is left alone until then
}

// NewFailover makes one of a shared limiter and a permit, in permits per second, above 0.
func NewFailover(shared Limiter, permit float64) (*Failover, error) {
	if !(permit > 0) || permit > maxCount {
		return nil, fmt.Errorf("permit of %v per second: give the part of the shared rate that this member may use by itself, above 0", permit)
	}
	return &Failover{shared: shared, turn: make(chan struct{}, 1), local: rate.NewLimiter(rate.Limit(permit), 1)}, nil
}

// Take implements Limiter. By itself it grants n permits when the first of them is due, and then nothing until all n are paid back.
func (f *Failover) Take(ctx context.Context, n int64) (Answer, error) {
	if n < 1 || n > maxCount {
		return Answer{}, fmt.Errorf("take %d permits: %w", n, errNone)
	}
	if f.shares() {
		a, err := f.shared.Take(ctx, n)
		if !away(ctx, err) {
			return a, err
		}
		f.alone()
	}
	return f.itself(n), nil
}

// Wait implements Limiter. By itself it serves those who wait in the order in which they came.
func (f *Failover) Wait(ctx context.Context, n int64) error {
	if n < 1 || n > maxCount {
		return fmt.Errorf("wait for %d permits: %w", n, errNone)
	}
	for {
		if f.shares() {
			err := f.shared.Wait(ctx, n)
			if !away(ctx, err) {
				return err
			}
			f.alone()
		}
		granted, err := f.waitItself(ctx, n)
		if err != nil {
			return fmt.Errorf("wait for %d permits: %w", n, err)
		}
		if granted {
			return nil
		}
	}
}

// waitItself waits for n permits by the permit, until the shared limiter is to be asked again.
func (f *Failover) waitItself(ctx context.Context, n int64) (granted bool, err error) {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	for !f.shares() {
		a := f.itself(n)
		if a.Granted == n {
			return true, nil
		}
		if err := sleep(ctx, min(a.RetryAfter, again)); err != nil {
			return false, err
		}
	}
	return false, nil
}

// shares says whether the shared limiter is to be asked.
func (f *Failover) shares() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !time.Now().Before(f.until)
}

// alone leaves the shared limiter alone for a while.
func (f *Failover) alone() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = time.Now().Add(again)
}

// itself grants by the permit.
func (f *Failover) itself(n int64) Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if !f.local.AllowN(now, 1) {
		return Answer{RetryAfter: f.after(now, 1), ResetAfter: f.after(now, 1)}
	}
	for range n - 1 { // reserved, not allowed: the burst is 1
		f.local.ReserveN(now, 1)
	}
	return Answer{Granted: n, ResetAfter: f.after(now, 1)}
}

// after is how long it takes until there are so many permits, in whole µs, rounded up.
func (f *Failover) after(now time.Time, permits float64) time.Duration {
	seconds := (permits - f.local.TokensAt(now)) / float64(f.local.Limit())
	return time.Duration(math.Ceil(max(1, min(seconds, maxWindow.Seconds())*1e6))) * time.Microsecond
}

// away says whether an error means that nobody could answer: not that the caller gave up, or asked for what is not to be had.
func away(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, ErrNever) && !errors.Is(err, errNone) && !strings.Contains(err.Error(), ": ERR ")
}
