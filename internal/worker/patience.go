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
	clock   *pacer.Clock
	started func() int64  // as in Worker
	length  time.Duration // as in Worker

	view *atomic.Pointer[lease.View] // of a worker that leases arcs, instead of started, length and paused: its laws tell

	last   atomic.Int64 // the last reply, by the clock
	paused atomic.Int64 // ns of pauses so far, those before this worker was there too: they move the end
	still  bool         // the last reply came in a pause; used by the goroutine that leases
}

// heard is told of each reply.
func (p *patience) heard(r pacer.Reply) {
	now := p.clock.Now()
	before := p.last.Swap(now)
	paused := p.paused.Load()
	if p.still {
		paused += now - before
	}
	p.paused.Store(max(paused, r.Stood*1000)) // this worker may have come later, or may not have seen all
	p.still = r.Status == pacer.StatusPaused
}

// watch ends the worker when its patience has run out. It returns when ctx ends.
func (p *patience) watch(ctx context.Context, end context.CancelCauseFunc) {
	p.last.CompareAndSwap(0, p.clock.Now()) // nothing was to be heard before
	for p.length > 0 || p.view != nil {
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
	if p.view != nil {
		v := p.view.Load()
		return v != nil && v.Laws.Over(p.clock.Redis(now)/1000)
	}
	start := p.started()
	return start > 0 && p.clock.Redis(now) > start*1000+int64(p.length)+p.paused.Load()
}
