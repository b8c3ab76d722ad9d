package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/report"
)

// A Fleet sends at the rate that is set.
type Fleet interface {
	// SetRate changes the rate, requests per second, and returns from when on it is in force. why is for the record.
	SetRate(ctx context.Context, rate float64, why string) (time.Time, error)
	// Look returns what the fleet has published since the last look.
	Look(ctx context.Context) (Sight, error)
}

// A Sight is what a look shows. All times are of one clock.
type Sight struct {
	Now      time.Time
	Started  time.Time          // of the run; its seconds are those of the intervals
	Rate     float64            // asked for now
	Workers  []string           // the processes that are there, as worker/incarnation
	Beats    []*report.Snapshot // the intervals published since the last look, of each process in order
	InFlight int64              // requests that were sent and have not ended, as far as is published
	Skipped  int64              // requests that were due since the start, and no worker came to send
}

// A Driver plays the probes of a search with a fleet, one after the other: it sets the rate, lets it settle, measures whole seconds of the run,
// and then sets the rate to 0 until nothing is in flight any more.
type Driver struct {
	Fleet      Fleet
	Objectives []report.Threshold
	Length     time.Duration // of what is judged, whole seconds
	Settle     time.Duration // from the change of the rate on, at least; the first whole second after it is the first that is judged
	Drain      time.Duration // how long what is in flight may take
	Show       func(Probe)   // is told of each probe that was played; nil = nobody
}

// How a fleet is looked at.
const (
	lookEvery = 200 * time.Millisecond // snapshots come once a second
	latest    = 3 * time.Second        // after which a snapshot that is not there is missing
	retryFor  = 10 * time.Second       // how long a fleet that cannot be asked is asked again
	edge      = 300 * time.Millisecond // by which an interval may begin or end beside its second
	inForce   = 500 * time.Millisecond // after which the fleet has to tell of a rate that was set
)

// ErrTaken says that the rate of the run is another one.
var ErrTaken = errors.New("the rate is not the one that was set: somebody else has changed it, or Redis has lost it in a failover; a search needs the run for itself")

// Run plays the search until its end, or an error. What was played is then in the search.
func (d *Driver) Run(ctx context.Context, s *Search) error {
	for rate, ok := s.Next(); ok; rate, ok = s.Next() {
		n := len(s.probes) + 1
		m, err := d.measure(ctx, rate, fmt.Sprintf("probe %d of a search", n))
		if err != nil {
			return err
		}
		drained, err := d.drain(ctx, fmt.Sprintf("probe %d of a search, %s per second: %s", n, Rate(rate), m))
		if err != nil {
			return err
		}
		if !drained {
			m.Why = joined(m.Why, fmt.Sprintf("requests were still in flight %v after it", d.Drain))
		}
		s.Tell(m)
		if d.Show != nil {
			d.Show(s.probes[len(s.probes)-1])
		}
		if _, more := s.Next(); !drained && more {
			s.GiveUp()
		}
	}
	_, err := d.setRate(ctx, 0, s.Result().String())
	return err
}

// String is the outcome, and why.
func (m Measured) String() string {
	if m.Why == "" {
		return m.Outcome.String()
	}
	return m.Outcome.String() + ": " + m.Why
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// Rate is a rate in words, with the six decimals that a run may have.
func Rate(perSecond float64) string {
	return strconv.FormatFloat(math.Round(perSecond*1e6)/1e6, 'f', -1, 64)
}

// measure plays one probe, but for the wait after it.
func (d *Driver) measure(ctx context.Context, rate float64, why string) (Measured, error) {
	at, err := d.setRate(ctx, rate, why)
	if err != nil {
		return Measured{}, err
	}
	var w *window
	for {
		sight, err := d.look(ctx)
		if err != nil {
			return Measured{}, err
		}
		if sight.Now.Sub(at) > inForce && !near(sight.Rate, rate) {
			return Measured{}, fmt.Errorf("%w: it is %s per second, and was set to %s", ErrTaken, Rate(sight.Rate), Rate(rate))
		}
		if w == nil {
			w = newWindow(sight, at, at.Add(d.Settle), d.Length, rate)
		}
		w.add(sight)
		if m, over := d.judge(w, sight.Now); over {
			m.At = at
			return m, nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return Measured{}, err
		}
	}
}

// near tells whether a rate is the one that was set: laws have whole numbers.
func near(a, b float64) bool { return a >= b*0.999 && a <= b*1.001 }

// drain sets the rate to 0, and waits until nothing is in flight. Where the rate is another one after all it is set again: who does not
// measure does not fire.
func (d *Driver) drain(ctx context.Context, why string) (drained bool, err error) {
	at, err := d.setRate(ctx, 0, why)
	if err != nil {
		return false, err
	}
	end := at.Add(d.Drain)
	told := map[string]time.Time{}
	for {
		sight, err := d.look(ctx)
		if err != nil {
			return false, err
		}
		if sight.Now.Sub(at) > inForce && sight.Rate != 0 {
			if at, err = d.setRate(ctx, 0, why); err != nil {
				return false, err
			}
		}
		for _, b := range sight.Beats {
			told[process(b)] = time.UnixMicro(b.End)
		}
		silent := false
		for _, w := range sight.Workers {
			silent = silent || told[w].Before(at)
		}
		switch {
		case sight.InFlight == 0 && (!silent || sight.Now.Sub(at) > latest):
			return true, nil
		case sight.Now.After(end):
			return false, nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return false, err
		}
	}
}

// setRate sets the rate; a fleet that cannot be asked is asked again.
func (d *Driver) setRate(ctx context.Context, rate float64, why string) (at time.Time, err error) {
	err = persist(ctx, func() (err error) {
		at, err = d.Fleet.SetRate(ctx, rate, why)
		return err
	})
	return at, err
}

// look looks; a fleet that cannot be asked is asked again.
func (d *Driver) look(ctx context.Context) (sight Sight, err error) {
	err = persist(ctx, func() (err error) {
		sight, err = d.Fleet.Look(ctx)
		return err
	})
	return sight, err
}

// A FinalError is one that asking again does not mend.
type FinalError struct{ Err error }

func (e FinalError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e FinalError) Unwrap() error { return e.Err }

// persist calls f until it succeeds, for a while.
func persist(ctx context.Context, f func() error) error {
	for deadline := time.Now().Add(retryFor); ; {
		err := f()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, final := errors.AsType[FinalError](err); err == nil || final || time.Now().After(deadline) {
			return err
		}
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// pause waits; at the end of ctx it returns why.
func pause(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
