package limit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/lua"
)

// Set is a limiter for many keys, such as users: each key has a limit of its own. A key that is not used costs nothing.
// NewSet and All make it. Its methods are safe for concurrent use.
type Set struct {
	rules   []*rule
	store   Store
	script  *redis.Script // of a store in Redis
	batches *batches      // nil = each call asks the store
	outage  *outage       // nil = an error of the store is that of the call
	observe func(Event)
	shadow  bool
}

// NewSet returns a set of limiters by their name, one of Names:
//
//	gcra            x is Burst. Evenly spaced with a Burst of 1.
//	token-bucket    x is Burst, which an idle time saves up. With Debt x is Burst plus the largest n.
//	leaky-bucket    x is 1. A queue of Burst places: RetryAfter says when a caller may go, each 1/R after the one before.
//	                It refuses only if the queue is full. If n permits are used together, when the last may go, x is n.
//	sliding-log     x is Count: never more in any window. About 130 bytes for each permit of a window.
//	sliding-list    x is Count. The same, with about 10 bytes.
//	sliding-window  x is Count·(1 + 2/m). The window in m Parts, with a number for each.
//	fixed-window    x is 2·Count: so many may come at once where two windows meet. A window begins with its first permit.
//
// All sets of a store with the same name and prefix share their keys: give them the same limit and options. A prefix is 1
// to 64 bytes without { and }, a key 1 to 256.
func NewSet(name string, store Store, prefix string, l Limit, options ...Option) (*Set, error) {
	k, err := named(name)
	if err != nil {
		return nil, err
	}
	if prefix == "" || len(prefix) > 64 || strings.ContainsAny(prefix, "{}") {
		return nil, fmt.Errorf("%s: prefix %.40q: give 1 to 64 bytes without { and }", name, prefix)
	}
	l, option, err := k.settings(l, options)
	if err != nil {
		return nil, err
	}
	r := &rule{
		kind: k, prefix: prefix, limit: l, option: option,
		undo: sync.OnceValue(func() *redis.Script { return lua.GiveBack(k.script) }),
	}
	s := &Set{rules: []*rule{r}, store: store, script: lua.Limiter(k.script)}
	return s.with(options)
}

// with applies the options that each set may have.
func (s *Set) with(options []Option) (*Set, error) {
	for _, o := range options {
		if o.apply == nil {
			continue
		}
		if err := o.apply(s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.rules[0].kind.name, err)
		}
	}
	return s, nil
}

// Take answers now: it grants all n permits of the key, or none. n is at least 1. ErrNever says that n can never be
// granted.
func (s *Set) Take(ctx context.Context, key string, n int64) (Answer, error) {
	return s.take(ctx, key, n, true)
}

func (s *Set) take(ctx context.Context, key string, n int64, all bool) (Answer, error) {
	if err := s.askable(ctx, key, n); err != nil {
		return Answer{}, fmt.Errorf("take %d permits: %w", n, err)
	}
	var begin time.Time
	if s.observe != nil {
		begin = time.Now()
	}
	var a Answer
	var fell bool
	var err error
	if s.batches != nil {
		a, fell, err = s.batches.take(ctx, s, key, n, all)
	} else {
		a, fell, err = s.ask(ctx, key, n, all)
	}
	if err != nil {
		err = fmt.Errorf("take %d permits: %w", n, err)
	}
	return s.seen(begin, Event{Key: key, Asked: n, Answer: a, Err: err, Fallback: fell})
}

// TakeMany takes n permits of each key, with one round trip to Redis; with Batch, a key after the other. The answers are in the order of the keys. If some
// calls fail, the error names their keys, and their answers grant nothing. The other answers are valid.
func (s *Set) TakeMany(ctx context.Context, n int64, keys ...string) ([]Answer, error) {
	for _, key := range keys {
		if err := s.askable(ctx, key, n); err != nil {
			return nil, fmt.Errorf("take %d permits of key %.40q: %w", n, key, err)
		}
	}
	answers, errs := make([]Answer, len(keys)), make([]error, len(keys))
	if s.batches != nil { // most of them make no call
		for i, key := range keys {
			answers[i], errs[i] = s.take(ctx, key, n, true)
		}
		return answers, failures(n, keys, errs)
	}
	begin := time.Now()
	var fell []bool
	answers, fell, errs = s.askMany(ctx, keys, n)
	for i, key := range keys {
		answers[i], errs[i] = s.seen(begin, Event{Key: key, Asked: n, Answer: answers[i], Err: errs[i], Fallback: fell[i]})
	}
	return answers, failures(n, keys, errs)
}

func failures(n int64, keys []string, errs []error) error {
	var all []error
	for i, err := range errs {
		if err != nil {
			all = append(all, fmt.Errorf("take %d permits of key %.40q: %w", n, keys[i], err))
		}
	}
	return errors.Join(all...)
}

// Key returns the limiter of one key.
func (s *Set) Key(key string) *Limiter {
	return &Limiter{set: s, key: key, turn: make(chan struct{}, 1)}
}

// askable returns what is wrong with a call: the key, the number of permits, or that the caller has given up.
func (s *Set) askable(ctx context.Context, key string, n int64) error {
	if n < 1 || n > maxCount {
		return errNone
	}
	if err := checkKey(key); err != nil {
		return err
	}
	return ctx.Err()
}

func checkKey(key string) error {
	if key == "" || len(key) > 256 || strings.ContainsAny(key, "{}") {
		return fmt.Errorf("key %.40q: give 1 to 256 bytes without { and }", key)
	}
	return nil
}

// giveBack gives back what each rule granted in a.
func (s *Set) giveBack(ctx context.Context, key string, a Answer) error {
	if s.batches != nil && a.at < 0 {
		s.batches.back(key, a)
		return nil
	}
	rules, parts := s.rules[:1], []Answer{a}
	if a.joint != nil {
		rules, parts = a.joint.rules, a.joint.parts
	}
	var failure error // the first: one limit that cannot be reached does not keep the permits of the others
	for i, part := range parts {
		part.Granted = min(part.Granted, a.Granted)
		if part.Granted < 1 || part.at < 1 {
			continue
		}
		if err := s.store.back(ctx, rules[i], key, part); failure == nil {
			failure = err
		}
	}
	return failure
}
