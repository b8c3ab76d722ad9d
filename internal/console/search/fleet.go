package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
)

// workers is the fleet of a run.
type workers struct {
	run      *run.Run
	follower *results.Follower // nil = it has to be created again
}

// SetRate implements Fleet.
func (w *workers) SetRate(ctx context.Context, rate float64, why string) (time.Time, error) {
	to, err := pacer.ParseRate(Rate(rate))
	if err != nil {
		return time.Time{}, FinalError{err}
	}
	c, err := rights.Change(ctx, w.run, func() (run.Change, error) {
		return w.run.SetRateFor(ctx, spec.NearFlowRate(w.run.Spec.Target, to), why)
	})
	return c.At, final(err)
}

// Look implements Fleet.
func (w *workers) Look(ctx context.Context) (Sight, error) {
	if w.follower == nil {
		f, err := results.Follow(ctx, w.run)
		if err != nil {
			return Sight{}, final(err)
		}
		w.follower = f
	}
	p, err := w.follower.Progress(ctx)
	switch {
	case err != nil:
		return Sight{}, final(err)
	case p.Phase != "running":
		return Sight{}, FinalError{fmt.Errorf("run %s: %w: it is %s", w.run.Name, ErrEnded, p.Phase)}
	}
	s := Sight{Now: p.Now(), Started: p.StartedAt, Rate: p.Rate * w.run.Spec.Target.StepsPerFlow(), Beats: p.Beats, InFlight: p.InFlight, Skipped: p.Skipped}
	for _, m := range p.Workers {
		if m.State == "active" || m.State == "silent" {
			s.Workers = append(s.Workers, m.Process())
		}
	}
	return s, nil
}

// ErrEnded says that the run ended during the search.
var ErrEnded = errors.New("it ended during the search")

// final marks errors for which a retry is useless.
func final(err error) error {
	for _, is := range []error{run.ErrNoRun, run.ErrOver, spec.ErrBroken, spec.ErrNewer, spec.ErrOlder, run.ErrNoRate, spec.ErrLimiter} {
		if errors.Is(err, is) {
			return FinalError{err}
		}
	}
	return err
}
