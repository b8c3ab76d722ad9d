package search

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report/threshold"
)

// Usable says why a search cannot use a run; nil = it can.
func Usable(r *run.Run) error {
	if !r.Ended.IsZero() {
		return fmt.Errorf("search %s: %w, since %s; choose another name, or replace it with --new and --url", r.Name, run.ErrOver, r.Ended.Format(time.RFC3339))
	}
	if r.Spec.Seated() {
		return fmt.Errorf("search %s: the run has a number of requests in flight, and no rate; create one with a rate", r.Name)
	}
	if r.Spec.Max {
		return fmt.Errorf("search %s: %w; create one with a rate", r.Name, run.ErrNoRate)
	}
	if text, does, _ := Disturbing(r.Spec.Thresholds); text != "" {
		return fmt.Errorf("search %s: the run has --threshold %q, which would %s it at the first probe that fails; create one without", r.Name, text, does)
	}
	return nil
}

// Disturbing returns the first threshold that stops or slows down a run, which of the two, and the words in it that do so;
// "" = none. It skips texts that are no thresholds; those are refused elsewhere.
func Disturbing(thresholds []string) (text, does, words string) {
	for _, text := range thresholds {
		switch t, err := threshold.Parse(text); {
		case err != nil:
		case t.Abort > 0:
			return text, "stop", "abort after"
		case t.Guards():
			return text, "slow", "reduce"
		}
	}
	return "", "", ""
}

// Begin waits until a run is running and has workers. It starts a waiting run that nobody else starts, and resumes a
// paused one. It calls alone, once, if no workers are there yet.
func Begin(ctx context.Context, r *run.Run, alone func()) error {
	noted := false
	for {
		s, err := r.State(ctx)
		if err != nil {
			return interrupted(ctx, err)
		}
		there := s.Present() > 0
		switch {
		case !s.EndedAt.IsZero():
			return fmt.Errorf("search %s: %w", r.Name, run.ErrOver)
		case s.Phase == "paused":
			_, err = rights.Change(ctx, r, func() (run.Change, error) { return r.Resume(ctx) })
		case s.Phase == "waiting" && s.MinWorkers == 0 && there:
			_, err = rights.Change(ctx, r, func() (run.Change, error) { return r.Start(ctx) })
		case s.Phase == "running" && there && !s.StartedAt.IsZero() && !s.Now().Before(s.StartedAt):
			return nil
		case !there && !noted:
			alone()
			noted = true
		}
		if err != nil {
			return interrupted(ctx, err)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// interrupted returns why a call to Redis failed: the end of ctx, if that has come. The connection has the same deadline,
// and may notice it first.
func interrupted(ctx context.Context, err error) error {
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		<-ctx.Done()
	}
	return cmp.Or(context.Cause(ctx), err)
}
