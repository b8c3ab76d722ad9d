package outage

import (
	"math/rand/v2"
	"time"
)

// Backoff computes the wait between attempts: it doubles after each, up to Most, minus a random part of up to half. So
// thousands of clients that fail together do not retry together. The zero value does not wait.
type Backoff struct {
	First, Most time.Duration

	last time.Duration
}

// Next returns the wait before the next attempt.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(b.First, 2*b.last), b.Most)
	return b.last - time.Duration(rand.Float64()*float64(b.last)/2)
}

// Reset begins again with First, after a successful attempt.
func (b *Backoff) Reset() { b.last = 0 }
