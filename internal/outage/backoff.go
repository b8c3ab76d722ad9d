package outage

import (
	"math/rand/v2"
	"time"
)

// Backoff is how long to wait between attempts: twice as long after each, up to Most, less a random part of up to half. So thousands who fail together
// do not come back together. Its zero value does not wait.
type Backoff struct {
	First, Most time.Duration

	last time.Duration
}

// Next is the wait before the next attempt.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(b.First, 2*b.last), b.Most)
	return b.last - time.Duration(rand.Float64()*float64(b.last)/2)
}

// Reset begins again with First: an attempt was successful.
func (b *Backoff) Reset() { b.last = 0 }
