package limit

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// permit is the rate of a Failover that goes on by itself, one permit at a time. Its methods are safe for concurrent
// use.
type permit struct {
	mu    sync.Mutex
	local *rate.Limiter // asked under mu, with times that do not go back
}

func newPermit(perSecond float64) *permit {
	return &permit{local: rate.NewLimiter(rate.Limit(perSecond), 1)}
}

// take grants one permit if it is due. If all of several are wanted, it refuses them until they would be due one
// after the other.
func (p *permit) take(n int64, all bool) Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, wanted := time.Now(), int64(1)
	if all {
		wanted = n
	}
	var a Answer
	if wanted == 1 && p.local.AllowN(now, 1) {
		a.Granted = 1
	}
	if a.Granted < n {
		a.RetryAfter = p.after(now, wanted)
	}
	a.Remaining, a.ResetAfter = int64(max(0, p.local.TokensAt(now))), p.after(now, 1)
	return a
}

// after returns how long it takes until n permits are due, in whole µs, rounded up.
func (p *permit) after(now time.Time, n int64) time.Duration {
	seconds := (float64(n) - p.local.TokensAt(now)) / float64(p.local.Limit())
	return time.Duration(math.Ceil(max(0, min(seconds, maxWindow.Seconds()))*1e6)) * time.Microsecond
}

// reserve returns the next permit, and when it is due.
func (p *permit) reserve() (*rate.Reservation, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	r := p.local.ReserveN(now, 1)
	return r, now.Add(r.DelayFrom(now))
}

// cancel leaves a reserved permit, which is not due yet, to others.
func (p *permit) cancel(r *rate.Reservation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.CancelAt(time.Now())
}
