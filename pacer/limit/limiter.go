package limit

import (
	"context"
	"errors"
	"time"
)

// Limiter is what a caller needs of a limiter. Redis and Failover implement it.
type Limiter interface {
	// Take answers now: it grants all n permits, or none. n is at least 1.
	Take(ctx context.Context, n int64) (Answer, error)
	// Wait returns nil when n permits are granted and may be used. It returns early with an error if ctx ends, if n
	// can never be granted (ErrNever), or if nobody can be asked. n is at least 1.
	Wait(ctx context.Context, n int64) error
}

// Answer is the result of a call of a limiter.
type Answer struct {
	Granted   int64 // permits, 0 to n
	Remaining int64 // how many more would have been granted at that moment
	// Ask again after this, whole µs; 0 if all was granted. Of a leaky bucket: what was granted may be used after
	// this.
	RetryAfter time.Duration
	ResetAfter time.Duration // if nobody takes anything, the limiter is as new after this, whole µs

	name int64 // of the call, for GiveBack
}

// ErrNever says that a call asked for more permits at once than the limit can ever grant at once.
var ErrNever = errors.New("more permits at once than the limit can ever grant")

// errSilent says that the deadline of a call passed while Redis was asked, not while the caller waited for permits.
var errSilent = errors.New("no answer from Redis")

// errNone says that n is not a number of permits.
var errNone = errors.New("ask for at least 1 permit, and at most 1000000000")
