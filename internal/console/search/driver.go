package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// A Fleet sends at a rate that can be set.
type Fleet interface {
	// SetRate changes the rate, in requests per second, and returns since when it is in force. why is recorded.
	SetRate(ctx context.Context, rate float64, why string) (time.Time, error)
	// Look returns what the fleet has published since the last look.
	Look(ctx context.Context) (Sight, error)
}

// A Sight is the result of a look. All times are of one clock.
type Sight struct {
	Now      time.Time
	Started  time.Time          // of the run; its seconds are those of the intervals
	Rate     float64            // asked for now
	Workers  []string           // the processes present, as worker/incarnation
	Beats    []*record.Snapshot // the intervals published since the last look, of each process in order
	InFlight int64              // requests that were sent and have not ended, as far as published
	Skipped  int64              // slots due since the start that no worker owned
}

// A Driver plays the probes of a search with a fleet, one after the other. It sets the rate, lets it settle, measures
// whole seconds of the run, and then sets the rate to 0 until nothing is in flight.
type Driver struct {
	Fleet      Fleet
	Objectives []threshold.Threshold
	Length     time.Duration // of the judged window, whole seconds
	Settle     time.Duration // least time after the change of the rate; the first whole second after it is the first to be judged
	Drain      time.Duration // how long requests in flight may take
	Steps      float64       // requests of a slot, on average; 0 = 1
	Pause      time.Duration // the longest one that a flow makes between two requests
	Show       func(Probe)   // called with each probe that was played; nil = not called
}

// How to look at a fleet.
const (
	lookEvery = 200 * time.Millisecond  // snapshots come once a second
	latest    = 3 * time.Second         // after which an absent snapshot counts as missing
	retryFor  = 10 * time.Second        // how long to retry a call to the fleet
	edge      = 300 * time.Millisecond  // how far an interval may begin or end from its second
	news      = 1500 * time.Millisecond // how old a snapshot may be that is the newest
	inForce   = 500 * time.Millisecond  // after which the fleet must report a rate that was set
)

// ErrTaken says that the rate of the run is not the one that was set.
var ErrTaken = errors.New("the rate is not the one that was set: another command changed it, or Redis lost the change in a failover; leave the run to the search and start again")

// Run plays the search until its end or an error. The search keeps the probes that were played.
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
		s.Record(m)
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

// String returns the outcome and the reason.
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

// Rate formats a rate, with up to the six decimals that a run may have.
func Rate(perSecond float64) string {
	return strconv.FormatFloat(math.Round(perSecond*1e6)/1e6, 'f', -1, 64)
}

// measure plays one probe, without the wait after it.
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
			w = newWindow(sight, at.Add(d.Settle), d.Length, rate, cmp.Or(d.Steps, 1))
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

// near reports whether a rate is the one that was set: laws have whole numbers.
func near(a, b float64) bool { return a >= b*0.999 && a <= b*1.001 }

// drain sets the rate to 0, and waits until nothing is in flight and no flow is between two requests. If the rate turns
// out to be another one, drain sets it again: between probes nothing may be sent.
func (d *Driver) drain(ctx context.Context, why string) (drained bool, err error) {
	at, err := d.setRate(ctx, 0, why)
	if err != nil {
		return false, err
	}
	end, quiet := at.Add(d.Drain), d.Pause
	if quiet > 0 {
		quiet += news
	}
	reported, busy := map[string]time.Time{}, at // busy: when flows sent a request last, as far as known
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
			reported[process(b)] = time.UnixMicro(b.End)
			if b.Counts.Followed > 0 {
				busy = time.UnixMicro(b.End)
			}
		}
		if sight.InFlight > 0 {
			busy = sight.Now
		}
		silent := false
		for _, w := range sight.Workers {
			silent = silent || reported[w].Before(at)
		}
		switch {
		case sight.Now.Sub(busy) >= quiet && sight.InFlight == 0 && (!silent || sight.Now.Sub(at) > latest):
			return true, nil
		case sight.Now.After(end):
			return false, nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return false, err
		}
	}
}

// setRate sets the rate and retries failed calls.
func (d *Driver) setRate(ctx context.Context, rate float64, why string) (at time.Time, err error) {
	err = persist(ctx, func() (err error) {
		at, err = d.Fleet.SetRate(ctx, rate, why)
		return err
	})
	return at, err
}

// look looks and retries failed calls.
func (d *Driver) look(ctx context.Context) (sight Sight, err error) {
	err = persist(ctx, func() (err error) {
		sight, err = d.Fleet.Look(ctx)
		return err
	})
	return sight, err
}

// A FinalError is an error for which a retry is useless.
type FinalError struct{ Err error }

func (e FinalError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e FinalError) Unwrap() error { return e.Err }

// persist calls f until it succeeds, for a limited time.
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

// pause waits; if ctx ends, it returns the cause.
func pause(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
