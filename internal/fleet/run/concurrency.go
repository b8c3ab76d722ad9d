package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// ErrNoConcurrency says that a run has no concurrency to change.
var ErrNoConcurrency = errors.New("the run was not created with --concurrency, so it cannot have one now")

// SetConcurrency changes how many requests the whole cluster has in flight, in a closed loop that was created with such a number.
// It cancels the stages that follow. The planned end of the run stays.
func (r *Run) SetConcurrency(ctx context.Context, to int64) (Change, error) {
	switch {
	case !r.Spec.Seated() && r.Spec.Max:
		return Change{}, fmt.Errorf("set-rate %s: %w; each worker has as many requests in flight as connections", r.Name, ErrNoConcurrency)
	case !r.Spec.Seated():
		return Change{}, fmt.Errorf("set-rate %s: %w; give a rate", r.Name, ErrNoConcurrency)
	}
	profile := pacer.Profile{Segments: []pacer.Segment{pacer.Concurrent(to, 0)}}
	pieces, err := profile.Pieces()
	if err != nil {
		return Change{}, err
	}
	return r.command(ctx, "set-rate", fmt.Sprintf("c=%d", to), pacer.JoinPieces(pieces), 0)
}

// unrated returns the laws of a closed loop without rates. They say when the run is active. What stands for a rate in them is
// the concurrency, and nothing is asked for.
func unrated(laws *lease.Laws, epoch int64) *lease.Laws {
	var all []lease.Law
	for _, l := range laws.All() {
		l.R0, l.R1, l.Den, l.C, l.K, l.Base, l.Cut = 0, 0, 1, 0, 0, 0, 0
		all = append(all, l)
	}
	return (*lease.Laws)(nil).With(all...).In(epoch)
}

// takeConcurrency notes how many requests are to be in flight, now or when the schedule goes on, and how many were before. It takes
// the rates out of the laws.
func (a *reading) takeConcurrency() {
	for i := range a.laws.At(a.now.UnixMicro()) + 1 {
		if l := &a.laws.All()[i]; a.laws.Live(l.ID) && l.Phase == lease.Running && l.Concurrency() > 0 {
			a.Concurrency, a.Concurrencies = l.Concurrency(), append(a.Concurrencies, l.Concurrency())
		}
	}
	a.Concurrencies = slices.Compact(a.Concurrencies)
	a.laws = unrated(a.laws, a.core["clockEpoch"])
}
