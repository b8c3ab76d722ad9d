package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	again  = time.Second // how long a Failover leaves a shared limiter alone that did not answer
	silent = time.Second // how long Take waits for its answer
)

// Failover asks a shared limiter, and goes on by itself while that cannot answer: at the permit, a rate of its own, one at a time.
//
//	f, err := limit.NewFailover(bucket, 25) // one of four members of a fleet that is limited to 100 per second
//
// The permits of all members together must be at most the shared rate: then the fleet stays below it while Redis is away for all. Where it
// is away only for some, those come on top of what the others are granted. Whoever gives each member the full rate gets that times
// the number of members.
//
// While the shared limiter is away, one caller a second tries it again; the others go on by the permit meanwhile. Each call that finds it away lasts
// as long as its client's timeouts and retries: the client should have short ones, and none. docs/limiters.md has the options.
//
// A deadline that passes while the shared limiter is asked is an error for that caller, and counts as no answer: those who come next are served by
// the permit. So give deadlines that Redis can keep. With ContextTimeoutEnabled deadlines are kept, and Take waits for at most 1 s.
//
// Its methods are safe for concurrent use.
type Failover struct {
	shared Limiter
	own    *permit
	turn   chan struct{} // who of those who wait by themselves reserves

	mu     sync.Mutex
	most   int64     // permits that the shared limiter can grant at once, as far as is known
	away   bool      // the shared limiter did not answer
	trying bool      // somebody tries it again
	next   time.Time // when away: somebody may try it again
}

// NewFailover makes one of a shared limiter and a permit, in permits per second, above 0 and up to 10⁹.
func NewFailover(shared Limiter, permit float64) (*Failover, error) {
	if !(permit > 0) || permit > maxCount {
		return nil, fmt.Errorf("permit of %v per second: give the part of the shared rate that this member may use by itself, above 0", permit)
	}
	f := &Failover{shared: shared, own: newPermit(permit), turn: make(chan struct{}, 1), most: maxCount}
	if bounded, ok := shared.(interface{ atOnce() int64 }); ok {
		f.most = bounded.atOnce()
	}
	return f, nil
}

// Take implements Limiter. By itself it grants one permit when that is due. It refuses more, with the time until they would be due one after
// the other: Wait and TakeUpTo get them. More than the shared limiter could grant, by the limit it was made with or as it once did, is ErrNever.
func (f *Failover) Take(ctx context.Context, n int64) (Answer, error) {
	return f.take(ctx, n, true, f.shared.Take)
}

// TakeUpTo answers now with as many of n permits as there are, which may be none: by itself 1 at most, and also where the shared limiter
// has no TakeUpTo. n is at least 1.
func (f *Failover) TakeUpTo(ctx context.Context, n int64) (Answer, error) {
	if shared, ok := f.shared.(interface {
		TakeUpTo(ctx context.Context, n int64) (Answer, error)
	}); ok {
		return f.take(ctx, n, false, shared.TakeUpTo)
	}
	return f.take(ctx, n, false, func(ctx context.Context, _ int64) (Answer, error) { return f.shared.Take(ctx, 1) })
}

func (f *Failover) take(ctx context.Context, n int64, all bool, take func(context.Context, int64) (Answer, error)) (Answer, error) {
	if err := askable(ctx, n); err != nil {
		return Answer{}, fmt.Errorf("take %d permits: %w", n, err)
	}
	if f.here() || f.tries() {
		known := int64(1) // what an answer shows that can be granted
		if all {
			known = n
		}
		a, err := f.ask(ctx, n, take)
		if f.heard(ctx, known, err) {
			return a, err
		}
		if err := ended(ctx, err); err != nil {
			return Answer{}, err
		}
	}
	if all && n > f.bound() {
		return Answer{}, fmt.Errorf("take %d permits: %w", n, ErrNever)
	}
	return f.own.take(n, all), nil
}

// ask is a call of the shared limiter, which answers in time or is silent.
func (f *Failover) ask(ctx context.Context, n int64, take func(context.Context, int64) (Answer, error)) (Answer, error) {
	asked, cancel := context.WithTimeout(ctx, silent)
	defer cancel()
	a, err := take(asked, n)
	if err != nil && !errors.Is(err, errSilent) && errors.Is(asked.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errSilent, err)
	}
	return a, err
}

// Wait implements Limiter. By itself it waits for one permit after the other; those that are left the shared limiter grants once it is back. Who
// gives up loses those that it had by then. More than the shared limiter could grant is ErrNever, as for Take.
func (f *Failover) Wait(ctx context.Context, n int64) error {
	if err := askable(ctx, n); err != nil {
		return fmt.Errorf("wait for %d permits: %w", n, err)
	}
	for left := n; left > 0; {
		granted, err := f.wait(ctx, left)
		if err != nil {
			return err
		}
		left -= granted
	}
	return nil
}

// wait is for as many of n permits as can be waited for by whom there is now.
func (f *Failover) wait(ctx context.Context, n int64) (granted int64, err error) {
	switch {
	case f.here():
		err := f.shared.Wait(ctx, n)
		if f.heard(ctx, n, err) {
			return n, err
		}
		return 0, ended(ctx, err)
	case f.tries(): // with Take, whose answer comes at once
		a, err := f.ask(ctx, 1, f.shared.Take)
		if !f.heard(ctx, 1, err) {
			return 0, ended(ctx, err)
		}
		if err == nil && a.Granted == 1 {
			err = sleep(ctx, a.RetryAfter) // a place in a queue
		}
		return a.Granted, err
	}
	if granted, err = f.waitItself(ctx, n); err != nil {
		err = fmt.Errorf("wait for %d permits: %w", n, err)
	}
	return granted, err
}

// waitItself waits for n permits, or for as many as come before the shared limiter is to be asked again.
func (f *Failover) waitItself(ctx context.Context, n int64) (granted int64, err error) {
	if n > f.bound() {
		return 0, ErrNever
	}
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for granted < n {
		one, err := f.waitOne(ctx)
		if !one || err != nil {
			return granted, err
		}
		granted++
	}
	return granted, nil
}

// waitOne waits for the next permit, or until the shared limiter is to be asked again.
func (f *Failover) waitOne(ctx context.Context) (granted bool, err error) {
	if f.rest() == 0 {
		return false, nil
	}
	reserved, due := f.own.reserve()
	for {
		wait := time.Until(due)
		if wait <= 0 {
			return true, nil
		}
		rest := f.rest()
		if rest > 0 {
			err = sleep(ctx, min(wait, rest))
		}
		if rest == 0 || err != nil {
			f.own.cancel(reserved)
			return false, err
		}
	}
}

// here says whether the shared limiter has answered the last call.
func (f *Failover) here() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.away
}

// tries says whether the caller is the one that tries again whether the shared limiter is back. Then it has to tell what it heard.
func (f *Failover) tries() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.away || f.trying || time.Now().Before(f.next) {
		return false
	}
	f.trying = true
	return true
}

// rest is for how long the shared limiter is left alone; 0 where it is to be asked.
func (f *Failover) rest() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.away:
		return 0
	case f.trying:
		return again
	}
	return max(0, time.Until(f.next))
}

// bound is how many permits the shared limiter can grant at once.
func (f *Failover) bound() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most
}

// heard takes in what became of a call for n permits: whether the shared limiter has answered it, or the caller gave up, which says nothing.
func (f *Failover) heard(ctx context.Context, n int64, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trying = false
	switch {
	case away(ctx, err):
		f.away, f.next = true, time.Now().Add(again)
		return false
	case err == nil:
		f.away, f.most = false, max(f.most, n) // more than by the limit it was made with, where a larger one was set
	case mistaken(err):
		f.away = false
	}
	return true
}

// ended is nil for a caller who has time after a call that was not answered, and otherwise says both: that its context ended, and err.
func ended(ctx context.Context, err error) error {
	switch end := ctx.Err(); {
	case end == nil:
		return nil
	case errors.Is(err, end):
		return err
	default:
		return fmt.Errorf("%w: %w", end, err)
	}
}

// askable says what is wrong with a call: its number of permits, or that its caller has given up.
func askable(ctx context.Context, n int64) error {
	if n < 1 || n > maxCount {
		return errNone
	}
	return ctx.Err()
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
