package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/console/limiters"
	"github.com/loadctl/loadctl/internal/engine/loop"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// A Measurement sends through limiters, one after the other, to a server inside this process on 127.0.0.1.
type Measurement struct {
	Redis    string        // its URL, as link.Connect takes it
	QPS      int64         // R, of all workers or callers together, more than 0
	Duration time.Duration // for each use of each limiter, more than 0
	Window   time.Duration // w, of the limiters that have one, less than Duration; R·w is a whole number
	Burst    int64         // b, of the limiters that have one, more than 0
}

// connections bounds the connections of each worker or caller.
const connections = 64

// Run measures the limiters in each of their uses and returns the results, after an error those before it. note is
// called after each use, on the caller's goroutine; it may be nil. If ctx ends, so does the measurement, with the
// cause. In Redis only keys remain that expire within some seconds.
func (m Measurement) Run(ctx context.Context, chosen []limiters.Limiter, note func(Seen)) ([]Seen, error) {
	seen := []Seen{}
	for _, l := range chosen {
		for _, use := range uses(l) {
			s, err := m.measure(ctx, l, use)
			if ctx.Err() != nil {
				return seen, context.Cause(ctx)
			}
			if err != nil {
				return seen, fmt.Errorf("measure %s, %s: %w", l.Title(), use, err)
			}
			seen = append(seen, s)
			if note != nil {
				note(s)
			}
		}
	}
	return seen, nil
}

// uses returns the uses in which a limiter is measured. Slots are always spread and no caller can ask for them; a queue
// lets out one request after the other.
func uses(l limiters.Limiter) []Use {
	switch {
	case !l.Library:
		return []Use{Run}
	case l.Queues:
		return []Use{Run, Rush}
	default:
		return []Use{Run, AtOnce, Rush}
	}
}

// measure measures one use of one limiter.
func (m Measurement) measure(ctx context.Context, l limiters.Limiter, use Use) (Seen, error) {
	target, err := arrivals.Start(arrivals.Options{NoPaths: true})
	if err != nil {
		return Seen{}, err
	}
	defer target.Close() //nolint:errcheck // it has counted
	fire := m.fleet
	if use == Rush {
		fire = m.rush
	}
	s := Seen{Limiter: l.Name, Flags: l.Flags, Use: use}
	if err := fire(ctx, l, target.URL()+"/", &s); err != nil {
		return s, err
	}
	s.look(target.Arrivals(), m)
	if s.Arrived == 0 {
		return s, errors.New("nothing arrived; please report this as a bug")
	}
	return s, nil
}

// allow sets what may arrive beyond R·W: the limiter's x, and the requests that can come together because of the time
// from grant to arrival.
func (m Measurement) allow(s *Seen, l limiters.Limiter, passed time.Duration) {
	s.Allowed = l.Most(m.count(), m.Burst) + float64(m.QPS)*passed.Seconds()
}

// count returns c: the number of permits in a window.
func (m Measurement) count() int64 { return m.QPS * int64(m.Window) / int64(time.Second) }

// DefaultBurst returns b as runs have it by default: the requests of half a second.
func DefaultBurst(qps int64) int64 { return max(1, qps/2) }

// open returns a client that sends over some connections.
func open(clock *pacer.Clock, spec targets.Spec) (worker.Client, error) {
	w, err := wire.New(spec, targets.Local{})
	if err != nil {
		return nil, err
	}
	return loop.New(clock, w, connections)
}
