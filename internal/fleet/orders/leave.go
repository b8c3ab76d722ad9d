package orders

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report/units"
)

// ErrLeave says that a change would make workers leave.
var ErrLeave = errors.New("workers would leave")

// leave is an ErrLeave in words.
type leave struct{ why string }

func (e leave) Error() string      { return e.why }
func (leave) Is(target error) bool { return target == ErrLeave }

// StayAt returns an ErrLeave that names the workers whose --max-qps is below a rate: they would leave the run as soon as
// they receive it. A worker judges the rate of the whole cluster, and not its share.
func StayAt(ctx context.Context, r *run.Run, o Rate) error {
	if o.Concurrency > 0 { // workers with --max-qps take no part
		return nil
	}
	surge, err := r.Surge(ctx)
	if err != nil {
		return err
	}
	asked := o.Rate.Float()
	return stay(ctx, r, "set-rate", asked, surge(asked))
}

// StayWith is StayAt for another burst of the run's limiter: --max-qps counts what may pass in a second.
func StayWith(ctx context.Context, r *run.Run, burst int64) error {
	if !r.Spec.HasLimiter() || burst < 1 { // such a change is refused anyway
		return nil
	}
	s, err := r.State(ctx)
	if err != nil {
		return err
	}
	asked := s.Peak() * r.Spec.Target.StepsPerFlow()
	return stay(ctx, r, "set-burst", asked, r.Spec.Surge(asked, burst))
}

// mostNamed bounds the workers that an error names.
const mostNamed = 10

// stay returns an ErrLeave if workers would leave a run that asks for so many requests a second, and whose limiter may
// let surge more pass in one.
func stay(ctx context.Context, r *run.Run, command string, asked, surge float64) error {
	ceilings, err := results.Ceilings(ctx, r)
	if err != nil {
		return err
	}
	var leavers []string
	for _, c := range ceilings {
		if worker.Exceeds(asked, surge, c.MaxRate) {
			leavers = append(leavers, fmt.Sprintf("%s (--max-qps %s)", c.Worker, c.MaxRate))
		}
	}
	if len(leavers) == 0 {
		return nil
	}
	more := ""
	if n := len(leavers) - mostNamed; n > 0 {
		leavers, more = leavers[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	return leave{fmt.Sprintf("%s %s: %s%s would leave the run, because it would ask for %s/s%s; keep to --max-qps, or go on without them: loadctl %s --force",
		command, r.Name, strings.Join(leavers, ", "), more, units.Thousandths(asked), beyond(surge), command)}
}

// beyond says what a limiter may let pass above the rate.
func beyond(surge float64) string {
	switch {
	case math.IsInf(surge, 1):
		return ", and its limiter may let any number pass at once (--debt)"
	case surge > 0:
		return fmt.Sprintf(", and its limiter may let %s more pass in a second", units.Thousandths(surge))
	}
	return ""
}
