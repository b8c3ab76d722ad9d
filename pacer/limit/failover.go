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
	again  = time.Second // how long a Failover leaves a shared limiter alone after it did not answer
	silent = time.Second // how long Take waits for its answer
)

// Failover asks a shared limiter. While that cannot answer, it goes on by itself: at the permit, a rate of its own,
// one permit at a time.
//
//	f, err := limit.NewFailover(bucket, 25) // one of four members of a fleet that is limited to 100 per second
//
// The permits of all members together must be at most the shared rate. Then the fleet stays below that rate while
// Redis is away for all. If Redis is away only for some, their permits come on top of what the others are granted. If
// each member gets the full rate, the fleet gets that times the number of members.
//
// While the shared limiter is away, one caller a second tries it again. The others go on by the permit. Each call
// that finds it away lasts as long as its client's timeouts and retries. The client should have short timeouts and no
// retries. docs/limiters.md has the options.
//
// If a deadline passes while the shared limiter is asked, that caller gets an error, and the limiter counts as away:
// later callers are served by the permit. So give deadlines that Redis can keep. With ContextTimeoutEnabled deadlines
// are kept, and Take waits for at most 1 s.
//
// Its methods are safe for concurrent use.
type Failover struct {
	shared Limiter
	own    *permit
	turn   chan struct{} // held by the waiting caller that reserves

	mu     sync.Mutex
	most   int64     // permits that the shared limiter can grant at once, as far as is known
	away   bool      // the shared limiter did not answer
	trying bool      // a caller tries it again
	next   time.Time // when away: time of the next try
}

// NewFailover returns a Failover of a shared limiter and a permit, in permits per second, above 0 and up to 10⁹.
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

// Take implements Limiter. By itself it grants one permit when that is due. It refuses more than one, with the time
// until they would be due one after the other: Wait and TakeUpTo get them. It returns ErrNever for more than the
// shared limiter can grant, by the limit it was made with or by earlier grants.
func (f *Failover) Take(ctx context.Context, n int64) (Answer, error) {
	return f.take(ctx, n, true, f.shared.Take)
}

// TakeUpTo answers now with as many of n permits as there are, which may be none. By itself, or if the shared limiter
// has no TakeUpTo, it grants 1 at most. n is at least 1.
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
		known := int64(1) // number of permits that an answer proves can be granted
		if all {
			known = n
		}
		a, err := f.ask(ctx, n, take)
		answered := f.note(ctx, known, err)
		if err == nil {
			return a, nil
		}
		if err := failed(ctx, answered, err); err != nil {
			return Answer{}, err
		}
	}
	if all && n > f.bound() {
		return Answer{}, fmt.Errorf("take %d permits: %w", n, ErrNever)
	}
	return f.own.take(n, all), nil
}

// ask calls the shared limiter, which answers in time or is silent.
func (f *Failover) ask(ctx context.Context, n int64, take func(context.Context, int64) (Answer, error)) (Answer, error) {
	asked, cancel := context.WithTimeout(ctx, silent)
	defer cancel()
	a, err := take(asked, n)
	if err != nil && !errors.Is(err, errSilent) && errors.Is(asked.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errSilent, err)
	}
	return a, err
}

// Wait implements Limiter. By itself it waits for one permit after the other. When the shared limiter is back, it
// grants the rest. A caller that gives up loses the permits that it has. More than the shared limiter can grant is
// ErrNever, as for Take.
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

// wait waits for as many of n permits as the present limiter can grant.
func (f *Failover) wait(ctx context.Context, n int64) (granted int64, err error) {
	switch {
	case f.here():
		err := f.shared.Wait(ctx, n)
		if answered := f.note(ctx, n, err); err != nil {
			return 0, failed(ctx, answered, err)
		}
		return n, nil
	case f.tries(): // with Take, whose answer comes at once
		a, err := f.ask(ctx, 1, f.shared.Take)
		if answered := f.note(ctx, 1, err); err != nil {
			return 0, failed(ctx, answered, err)
		}
		if a.Granted == 1 {
			err = sleep(ctx, a.RetryAfter) // a place in a queue
		}
		return a.Granted, err
	}
	if granted, err = f.waitItself(ctx, n); err != nil {
		err = fmt.Errorf("wait for %d permits: %w", n, err)
	}
	return granted, err
}

// waitItself waits for n permits, or for as many as come before the shared limiter must be asked again.
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

// waitOne waits for the next permit, or until the shared limiter must be asked again.
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

// here reports whether the shared limiter has answered the last call.
func (f *Failover) here() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.away
}

// tries reports whether the caller must try whether the shared limiter is back. If so, the caller must call note.
func (f *Failover) tries() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.away || f.trying || time.Now().Before(f.next) {
		return false
	}
	f.trying = true
	return true
}

// rest returns how long to leave the shared limiter alone; 0 = ask it.
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

// bound returns how many permits the shared limiter can grant at once.
func (f *Failover) bound() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most
}

// note notes the result of a call for n permits. It reports whether the shared limiter has answered, or the caller
// gave up, which says nothing.
func (f *Failover) note(ctx context.Context, n int64, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trying = false
	switch {
	case away(ctx, err):
		f.away, f.next = true, time.Now().Add(again)
		return false
	case err == nil:
		// It may grant more than the limit it was made with, if a larger one was set.
		f.away, f.most = false, max(f.most, n)
	case mistaken(err):
		f.away = false
	}
	return true
}

// failed returns what a call that failed with err means to a caller that waits. nil: go on, because nobody has answered
// and the caller still has time. If it has none, the error has both: the end of the context, and err.
func failed(ctx context.Context, answered bool, err error) error {
	switch end := ctx.Err(); {
	case end == nil && !answered:
		return nil
	case end == nil, errors.Is(err, end):
		return err
	default:
		return fmt.Errorf("%w: %w", end, err)
	}
}

// askable returns what is wrong with a call: the number of permits, or that the caller has given up.
func askable(ctx context.Context, n int64) error {
	if n < 1 || n > maxCount {
		return errNone
	}
	return ctx.Err()
}

// away reports whether an error means that nobody could answer. It does not if the caller gave up, waited as long as
// it would, or asked for something impossible.
func away(ctx context.Context, err error) bool {
	switch {
	case err == nil || mistaken(err) || errors.Is(ctx.Err(), context.Canceled):
		return false
	case ctx.Err() != nil:
		return errors.Is(err, errSilent)
	}
	return true
}

// mistaken reports whether an error would be the same for every repetition: somebody must fix it.
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
