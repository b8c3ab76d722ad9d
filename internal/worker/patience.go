package worker

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// ErrSilence ends a worker that nobody will tell that the run is over.
var ErrSilence = errors.New("Redis has not answered for a long time, and the run's planned end is past") //nolint:staticcheck // a name

// How long Redis may be silent after the planned end, and how often that is looked at.
const (
	silence     = 10 * time.Second
	silencePoll = 200 * time.Millisecond
)

// patience is how long a worker asks a Redis that does not answer: until the run is over by its plan. Without a plan it asks on.
type patience struct {
	clock *pacer.Clock
	view  *atomic.Pointer[lease.View] // the newest: its laws tell the plan
	last  atomic.Int64                // the last reply, by the clock
}

// heard is told of each reply that the run goes on.
func (p *patience) heard() { p.last.Store(p.clock.Now()) }

// watch ends the worker when its patience has run out. It returns when ctx ends.
func (p *patience) watch(ctx context.Context, end context.CancelCauseFunc) {
	p.last.CompareAndSwap(0, p.clock.Now()) // nothing was to be heard before
	for {
		select {
		case <-time.After(silencePoll):
		case <-ctx.Done():
			return
		}
		if now := p.clock.Now(); now-p.last.Load() > int64(silence) && p.over(now) {
			end(ErrSilence)
			return
		}
	}
}

// over tells whether the run is over by its plan.
func (p *patience) over(now int64) bool {
	v := p.view.Load()
	return v != nil && v.Laws.Over(p.clock.Redis(now)/1000)
}
