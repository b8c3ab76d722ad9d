package limit

import (
	"context"
	"errors"
	"time"
)

// Limiter is what a caller needs of a limiter. Redis is one, Failover another.
type Limiter interface {
	// Take answers now: all n permits are granted, or none. n is at least 1.
	Take(ctx context.Context, n int64) (Answer, error)
	// Wait returns nil once n permits are granted and may be used. It returns early with an error if ctx ends, if n can never be
	// granted (ErrNever), or if nobody can be asked. n is at least 1.
	Wait(ctx context.Context, n int64) error
}

// Answer is what a limiter says to a call.
type Answer struct {
	Granted    int64         // permits, 0 to n
	Remaining  int64         // how many more would have been granted at that moment
	RetryAfter time.Duration // µs steps: ask again after this; 0 if all was granted. Of a leaky bucket: what was granted may be used after this
	ResetAfter time.Duration // µs steps: if nobody takes anything, the limiter is as new after this

	name int64 // of the call, to give it back
}

// ErrNever says that more permits were asked for at once than the limit ever grants at once.
var ErrNever = errors.New("more permits at once than the limit can ever grant")

// errSilent says that the deadline of a call passed while Redis was asked, not while there was something to wait for.
var errSilent = errors.New("no answer from Redis")

// errNone says that n is not a number of permits.
var errNone = errors.New("ask for at least 1 permit, and at most 1000000000")
