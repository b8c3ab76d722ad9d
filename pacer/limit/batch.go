package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Batch takes permits of busy keys from the store in batches, and grants them without a call. A batch is as large as the
// use of its key in half the time hold, 1 ms to 1 min. What is not used within hold goes back, as far as GiveBack can
// return it. A key that is not busy makes a call for each Take.
//
// The bound of the limiter becomes R·(W + hold) + x. A process that dies loses one batch of each key at most. After a
// refusal a process asks the store again within hold, at most every hold/4. Not for a leaky bucket.
func Batch(hold time.Duration) Option {
	return Option{name: "Batch", apply: func(s *Set) error {
		if hold < time.Millisecond || hold > time.Minute {
			return fmt.Errorf("batches held for %v: give 1ms to 1m", hold)
		}
		if slices.ContainsFunc(s.rules, func(r *rule) bool { return r.kind.queues }) {
			return errors.New("permits of a leaky bucket have their times: leave Batch out")
		}
		s.batches = &batches{hold: hold, keys: map[string]*batch{}}
		return nil
	}}
}

// batches are those of a set, by key: of the keys that asked the store within hold.
type batches struct {
	hold time.Duration
	mu   sync.Mutex
	keys map[string]*batch
}

// batch is what a process holds of a key. The mutex of batches guards it.
type batch struct {
	turn  chan struct{} // held by the caller that asks the store
	timer *time.Timer   // ends the batch

	held     int64
	from     Answer         // the call that it came with
	grants   int64          // so far
	returned map[int64]bool // grants of that call that were given back
	asked    time.Time      // when that call began
	due      time.Time      // what is held must be used before
	size     int64          // permits that it asked for
	used     int64          // permits that callers asked for since then

	until time.Time // after a refusal: the store is not asked before
	retry time.Time // when that refusal said to come back
}

// errTaken says that the store granted all, and others took of what was held before meanwhile, or it went back.
var errTaken = errors.New("taken by others")

// take grants from the batch of a key, or asks the store.
func (b *batches) take(ctx context.Context, s *Set, key string, n int64, all bool) (a Answer, fell bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.batch(s, key)
	for k.used += n; ; {
		b.end(s, key, k, time.Now())
		if a, ok := k.grant(n, all); ok {
			return a, false, nil
		}
		if held, err := b.mayAsk(ctx, k); err != nil {
			return Answer{}, false, err
		} else if !held {
			continue // somebody else has asked meanwhile
		}
		a, fell, err = b.ask(ctx, s, key, k, n, all)
		<-k.turn
		if errors.Is(err, errTaken) {
			continue
		}
		return a, fell, err
	}
}

// batch returns the batch of a key, which may be new. It stays while somebody has its turn.
func (b *batches) batch(s *Set, key string) *batch {
	k := b.keys[key]
	if k == nil {
		k = &batch{turn: make(chan struct{}, 1)}
		k.timer = time.AfterFunc(b.hold, func() { b.idle(s, key, k) })
		b.keys[key] = k
	}
	return k
}

// mayAsk waits for the turn to ask. If the caller had to wait for another one, it does not have it.
func (b *batches) mayAsk(ctx context.Context, k *batch) (bool, error) {
	select {
	case k.turn <- struct{}{}:
		return true, nil
	default:
	}
	b.mu.Unlock()
	defer b.mu.Lock()
	select {
	case k.turn <- struct{}{}:
		<-k.turn
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// grant grants from what is held, or refuses if the store would.
func (k *batch) grant(n int64, all bool) (Answer, bool) {
	wait, short := time.Until(k.until), k.held < n
	switch {
	case !short:
	case wait <= 0:
		return Answer{}, false
	case all:
		n = 0
	default:
		n = k.held
	}
	k.held -= n
	k.grants++
	a := Answer{Granted: n, Remaining: k.held, ResetAfter: k.from.ResetAfter, at: -k.grants, name: k.from.name}
	if short && wait > 0 {
		a.RetryAfter = max(wait, time.Until(k.retry)).Truncate(time.Microsecond)
	}
	return a, true
}

// ask gets the next batch, and grants n of it.
func (b *batches) ask(ctx context.Context, s *Set, key string, k *batch, n int64, all bool) (a Answer, fell bool, err error) {
	now := time.Now()
	want := k.next(n-k.held, now, b.hold)
	whole := k.held == 0 && (want <= n || n > s.atOnce(key)) // as without batches
	b.mu.Unlock()
	if whole {
		want = n
		a, fell, err = s.ask(ctx, key, n, all)
	} else {
		a, fell, err = s.ask(ctx, key, want, false)
	}
	b.mu.Lock()
	if err != nil {
		return Answer{}, fell, err
	}
	fresh := k.held == 0
	k.asked, k.size, k.used = now, want, 0
	k.timer.Reset(b.hold)
	if a.Granted < want && a.Remaining == 0 {
		k.retry = now.Add(a.RetryAfter)
		k.until = now.Add(max(b.hold/4, min(b.hold, a.RetryAfter)))
	}
	if whole {
		return a, fell, nil
	}
	k.from, k.returned = a, map[int64]bool{}
	k.held += a.Granted
	granted, ok := k.grant(n, all)
	if fresh || granted.Granted == n { // what was held before is used first
		k.due = now.Add(b.hold)
	}
	if !ok && a.Granted == want {
		return Answer{}, fell, errTaken
	}
	if !ok { // the store has refused, and yet has some: of a debt
		granted = Answer{RetryAfter: a.RetryAfter}
	}
	granted.Remaining += a.Remaining
	return granted, fell, nil
}

// next returns how many permits to ask for: what is used in half the time that they may be held. It grows by doubling.
func (k *batch) next(missing int64, now time.Time, hold time.Duration) int64 {
	if k.asked.IsZero() {
		return missing
	}
	size := float64(k.used) * float64(hold/2) / float64(max(1, now.Sub(k.asked)))
	return max(missing, min(int64(min(size, maxCount)), 2*max(k.size, missing), maxCount))
}

// end gives back what was held for too long.
func (b *batches) end(s *Set, key string, k *batch, now time.Time) {
	if k.held == 0 || now.Before(k.due) {
		return
	}
	rest := k.from
	rest.Granted = min(k.held, rest.Granted)
	k.held = 0
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), silent)
		defer cancel()
		_ = s.giveBack(ctx, key, rest) // else the permits are lost, which the bound allows
	}()
}

// idle ends the batch of a key that has not asked for hold, and forgets the key.
func (b *batches) idle(s *Set, key string, k *batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); now.Sub(k.asked) >= b.hold && len(k.turn) == 0 {
		b.end(s, key, k, now)
		if b.keys[key] == k {
			delete(b.keys, key)
		}
		return
	}
	k.timer.Reset(b.hold)
}

// back puts permits back into the batch that they came from, once, if that is still there.
func (b *batches) back(key string, a Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.keys[key]; k != nil && k.from.name == a.name && !k.returned[a.at] {
		k.returned[a.at] = true
		k.held = min(k.held+a.Granted, k.from.Granted)
	}
}

// left returns how many permits are held of a key.
func (b *batches) left(key string) int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.keys[key]; k != nil && time.Now().Before(k.due) {
		return k.held
	}
	return 0
}

// forget forgets what is held of a key.
func (b *batches) forget(key string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, key)
}
