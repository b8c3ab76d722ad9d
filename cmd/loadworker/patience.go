package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// errSilence ends a worker that nobody will tell that the run is over.
var errSilence = errors.New("Redis has not answered for a long time, and the run's planned end is past") //nolint:staticcheck // a name

// How long Redis may be silent after the planned end, and how often that is looked at. A pause moves the end, and whoever is
// told of a pause is not in silence.
const (
	silence     = 10 * time.Second
	silencePoll = 200 * time.Millisecond
)

// patience is how long a worker asks a Redis that does not answer: until the run is over by its plan. Without a plan it asks on.
type patience struct {
	clock   *pacer.Clock
	started func() int64  // as in worker.Worker
	length  time.Duration // of the run; 0 = no plan
	told    func(pacer.Reply)
	last    atomic.Int64 // the last reply, by the clock
}

// heard is told of each reply.
func (p *patience) heard(r pacer.Reply) {
	p.last.Store(p.clock.Now())
	p.told(r)
}

// watch ends the worker when its patience has run out. It returns when ctx ends.
func (p *patience) watch(ctx context.Context, end context.CancelCauseFunc) {
	for p.length > 0 {
		select {
		case <-time.After(silencePoll):
		case <-ctx.Done():
			return
		}
		now := p.clock.Now()
		start := p.started()
		if start > 0 && p.clock.Redis(now) > start*1000+int64(p.length) && now-p.last.Load() > int64(silence) {
			end(errSilence)
			return
		}
	}
}
