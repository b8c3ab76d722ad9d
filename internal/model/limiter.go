package model

import (
	"context"
	"sync"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// Limiter is a Budget behind a network, for simulations in virtual time: safe for concurrent use, on the clock of package time.
type Limiter struct {
	// Delay is how long the call with this ask takes on its way there and back; nil = no time.
	Delay func(pacer.Ask) (there, back time.Duration)
	// Lose tells whether this call, or only its reply, is lost; nil = never. A lost call ends with the context.
	Lose func(pacer.Ask) (call, reply bool)

	mu     sync.Mutex
	budget *Budget
	calls  int
}

// NewLimiter puts b behind a network.
func NewLimiter(b *Budget) *Limiter { return &Limiter{budget: b} }

// Lease implements pacer.Limiter.
func (l *Limiter) Lease(ctx context.Context, a pacer.Ask) (pacer.Reply, error) {
	var there, back time.Duration
	if l.Delay != nil {
		there, back = l.Delay(a)
	}
	var lostCall, lostReply bool
	if l.Lose != nil {
		lostCall, lostReply = l.Lose(a)
	}
	if err := wait(ctx, there); err != nil {
		return pacer.Reply{}, err
	}
	if lostCall {
		<-ctx.Done()
		return pacer.Reply{}, ctx.Err()
	}
	l.mu.Lock()
	l.calls++
	r := l.budget.Lease(time.Now().UnixMicro(), a)
	l.mu.Unlock()
	if lostReply {
		<-ctx.Done()
		return pacer.Reply{}, ctx.Err()
	}
	return r, wait(ctx, back)
}

// Do runs f on the budget, at the time in µs.
func (l *Limiter) Do(f func(b *Budget, now int64)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.budget, time.Now().UnixMicro())
}

// Calls is how many calls reached the budget.
func (l *Limiter) Calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
