package limit

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Store is where the states of limiters are: Redis or Memory. Its methods are safe for concurrent use.
type Store interface {
	// take asks all rules of a set for n permits of a key; 0 only looks.
	take(ctx context.Context, s *Set, key string, n int64, all bool) (Answer, error)
	// takeMany does so for many keys. An answer without an error is valid whatever became of the others.
	takeMany(ctx context.Context, s *Set, keys []string, n int64) ([]Answer, []error)
	// back gives back what a rule granted.
	back(ctx context.Context, r *rule, key string, a Answer) error
	// forget removes the states of a key.
	forget(ctx context.Context, s *Set, key string) error
	// set sets a limit live.
	set(ctx context.Context, r *rule, key string, l Limit) error
}

// rule is one limit of a set, for all its keys.
type rule struct {
	kind   kind
	prefix string
	limit  Limit
	option int64
	of     func(key string) Limit // the limit of a key, if keys differ
	undo   func() *redis.Script   // gives back, in Redis
}

// limitOf returns the limit of a key, unless another one was set live.
func (r *rule) limitOf(key string) (Limit, error) {
	if r.of == nil {
		return r.limit, nil
	}
	l := r.of(key)
	if err := l.check(r.kind.bursts); err != nil {
		return l, fmt.Errorf("%w of key %.40q: %w", errLimit, key, err)
	}
	return l, nil
}
