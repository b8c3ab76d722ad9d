package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	again  = 250 * time.Millisecond // how long a Failover leaves a shared limiter alone that did not answer
	silent = time.Second            // how long Take waits for its answer
)

// Failover asks a shared limiter, and goes on by itself while that cannot answer: at the permit, a rate of its own, one at a time.
//
//	f, err := limit.NewFailover(bucket, 25) // one of four members of a fleet that is limited to 100 per second
//
// The permits of all members together must be at most the shared rate: then the fleet stays below it while Redis is away for all. Where it
// is away only for some, those come on top of what the others are granted. Whoever gives each member the full rate gets that times
// the number of members.
//
// A deadline that passes while the shared limiter is asked is an error for that caller, and counts as no answer: those who come next are served by
// the permit. So give deadlines that Redis can keep.
//
// Its methods are safe for concurrent use. The shared limiter's client should have short timeouts, each is waited for; with
// ContextTimeoutEnabled deadlines are kept, and Take waits for at most 1 s.
type Failover struct {
	shared Limiter
	permit float64       // per second
	turn   chan struct{} // who of those who wait by themselves asks

	mu    sync.Mutex
	due   time.Time // of the next permit by itself
	until time.Time // the shared limiter is left alone until then
}

// NewFailover makes one of a shared limiter and a permit, in permits per second, above 0.
func NewFailover(shared Limiter, permit float64) (*Failover, error) {
	if !(permit > 0) || permit > maxCount {
		return nil, fmt.Errorf("permit of %v per second: give the part of the shared rate that this member may use by itself, above 0", permit)
	}
	return &Failover{shared: shared, permit: permit, turn: make(chan struct{}, 1)}, nil
}

// Take implements Limiter. By itself it grants n permits when the first of them is due, and then nothing until all n are paid back.
func (f *Failover) Take(ctx context.Context, n int64) (Answer, error) {
	if n < 1 || n > maxCount {
		return Answer{}, fmt.Errorf("take %d permits: %w", n, errNone)
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, fmt.Errorf("take %d permits: %w", n, err)
	}
	if f.shares() {
		a, err := f.ask(ctx, n)
		if !away(ctx, err) {
			return a, err
		}
		f.alone()
		if ctx.Err() != nil {
			return Answer{}, err
		}
	}
	return f.itself(n), nil
}

// ask is Take of the shared limiter, which answers in time or is silent.
func (f *Failover) ask(ctx context.Context, n int64) (Answer, error) {
	asked, cancel := context.WithTimeout(ctx, silent)
	defer cancel()
	a, err := f.shared.Take(asked, n)
	if err != nil && !errors.Is(err, errSilent) && errors.Is(asked.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errSilent, err)
	}
	return a, err
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
			if ctx.Err() != nil {
				return err
			}
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
	var a Answer
	if !now.Before(f.due) {
		a.Granted = n
		paid := math.Ceil(float64(n) / f.permit * 1e9) // ns
		f.due = now.Add(time.Duration(min(paid, 1<<62)))
	}
	a.ResetAfter = min(f.due.Sub(now)+time.Microsecond-1, maxWindow).Truncate(time.Microsecond) // rounded up
	if a.Granted == 0 {
		a.RetryAfter = a.ResetAfter
	}
	return a
}

// away says whether an error means that nobody could answer: not that the caller gave up, or waited for as long as it would, nor that it
// asked for what is not to be had.
func away(ctx context.Context, err error) bool {
	switch {
	case err == nil || mistaken(err) || errors.Is(ctx.Err(), context.Canceled):
		return false
	case ctx.Err() != nil:
		return errors.Is(err, errSilent)
	}
	return true
}

// mistaken says whether an error would be the same however often and whomever one asks: it needs somebody to mend it.
func mistaken(err error) bool {
	if errors.Is(err, ErrNever) || errors.Is(err, errNone) {
		return true
	}
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	code, _, _ := strings.Cut(reply.Error(), " ")
	return slices.Contains([]string{"ERR", "WRONGTYPE", "NOAUTH", "WRONGPASS", "NOPERM"}, code)
}
