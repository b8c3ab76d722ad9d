// Package orders has changes of a run as people order them, before they reach it: a rate in requests per second, and which
// workers would leave because of it.
//
//	order, err := orders.ParseRate("2k", "30s")
//	if err != nil { … } // one line that says what to do
//	err = orders.StayAt(ctx, r, order) // ErrLeave names workers with a lower --max-qps
//	change, err := order.Give(ctx, r)
package orders

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
)

// A Rate is a change of the rate as people give it: in requests per second of the whole cluster. In a closed loop it may be a
// concurrency.
type Rate struct {
	Rate        pacer.Rate
	Concurrency int64         // requests in flight of the whole cluster; 0 = it is a rate
	Over        time.Duration // by a linear ramp; 0 = at once
}

// ParseRate reads a rate, such as 2k, and a time, such as 30s or "". Or a concurrency, such as c=16.
func ParseRate(rate, over string) (o Rate, err error) {
	if strings.EqualFold(rate, "max") {
		return o, errors.New("set-rate: a run with a rate cannot become a closed loop; stop it, and create one with --qps max")
	}
	n, closed, err := pacer.ParseConcurrency(rate)
	switch {
	case err != nil:
		return o, fmt.Errorf("set-rate: %w", err)
	case closed:
		o.Concurrency = n
	default:
		if o.Rate, err = pacer.ParseRate(rate); err != nil {
			return o, err
		}
	}
	if over != "" {
		if o.Over, err = pacer.ParseDuration(over); err != nil {
			return o, fmt.Errorf("over: %w", err)
		}
	}
	if err := o.CheckOver(); err != nil {
		return o, fmt.Errorf("over: %w", err)
	}
	return o, nil
}

// CheckOver refuses a ramp that is too short or too long.
func (o Rate) CheckOver() error {
	if o.Over != 0 && o.Concurrency > 0 {
		return errors.New("a number of requests in flight changes at once; leave the time out")
	}
	if o.Over != 0 && (o.Over < run.MinRamp || o.Over > run.MaxRamp) {
		return fmt.Errorf("give a time from %v to %v, such as 30s", run.MinRamp, run.MaxRamp)
	}
	return nil
}

// Give changes the rate of the run. ErrInexact says that the flows of the run cannot have exactly this rate.
func (o Rate) Give(ctx context.Context, r *run.Run) (run.Change, error) {
	if o.Concurrency > 0 {
		return r.SetConcurrency(ctx, o.Concurrency)
	}
	slots, err := o.slots(r)
	if err != nil {
		return run.Change{}, err
	}
	return r.SetRate(ctx, slots, o.Over)
}

// Fits returns the error of Give that does not depend on Redis: ErrInexact, or nil.
func (o Rate) Fits(r *run.Run) error {
	_, err := o.slots(r)
	return err
}

// slots returns the rate in slots.
func (o Rate) slots(r *run.Run) (pacer.Rate, error) {
	slots, err := spec.FlowRate(r.Spec.Target, o.Rate)
	if err != nil {
		return slots, fmt.Errorf("%w: %w", ErrInexact, err)
	}
	return slots, nil
}

// ErrInexact says that a rate of requests is no exact rate of flows.
var ErrInexact = errors.New("set the rate")
