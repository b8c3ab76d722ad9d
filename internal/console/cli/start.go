package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/fleet/run"
)

// defaultStart is how long workers may take to join by default: longer than machines take to boot, and shorter than
// people wait before they look for a mistake.
const defaultStart = 5 * time.Minute

// askAgain is the time from a failed look at the run to the next one.
const askAgain = time.Second

// ErrFewWorkers says that a run did not begin, because workers that it waits for did not join, or nobody created it.
var ErrFewWorkers = errors.New("it did not begin")

// StartTimeout is the flag that ends a wait for workers.
type StartTimeout struct {
	after   Duration
	command *cobra.Command
}

// AddFlags adds --start-timeout.
func (s *StartTimeout) AddFlags(c *cobra.Command) {
	s.command, s.after = c, Duration(defaultStart)
	c.Flags().Var(&s.after, "start-timeout", "how long to wait for --min-workers, then exit code 104; 0 = without end")
	Group(c.Flags(), "Run")
}

// Limit returns ctx with an end: when the run has waited too long for its workers. The cause is then an ErrFewWorkers.
// A run that waits for loadctl start waits for a person, without a limit. Call the function when the context is not
// needed any more.
func (s *StartTimeout) Limit(ctx context.Context, r *run.Run) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if s.after > 0 && r.Spec.MinWorkers > 0 && r.Phase == "waiting" {
		go s.watch(ctx, r, cancel)
	}
	return ctx, func() { cancel(nil) }
}

// Patience returns how long a worker tries again if Redis has no room for it; 0 = without an end.
func (s *StartTimeout) Patience() time.Duration { return time.Duration(s.after) }

// Within returns ctx with an end after --start-timeout, for a command that waits for workers of a run in any phase.
// The cause is then an ErrFewWorkers.
func (s *StartTimeout) Within(ctx context.Context, name string) (context.Context, context.CancelFunc) {
	return s.within(ctx, name, "its workers were not there", "")
}

// Created is Within for a worker that waits for somebody to create the run. Only a --start-timeout that was given ends
// that wait: workers are often started long before, and a service manager does not start them again after a 104.
func (s *StartTimeout) Created(ctx context.Context, name string) (context.Context, context.CancelFunc) {
	if !s.command.Flags().Changed("start-timeout") {
		return context.WithCancel(ctx)
	}
	return s.within(ctx, name, "nobody created it", "; create it with loadctl run or loadctl create, or set a longer --start-timeout")
}

// within returns ctx with an end after --start-timeout. what has not happened until then, and what to do is in the
// cause.
func (s *StartTimeout) within(ctx context.Context, name, what, do string) (context.Context, context.CancelFunc) {
	if s.after == 0 {
		return context.WithCancel(ctx)
	}
	why := Config(fmt.Errorf("run %s: %w: %s within %v%s", name, ErrFewWorkers, what, time.Duration(s.after), do))
	return context.WithTimeoutCause(ctx, time.Duration(s.after), why)
}

// watch looks at the run when the time is over. If Redis does not answer it asks again: the run may have begun.
func (s *StartTimeout) watch(ctx context.Context, r *run.Run, end context.CancelCauseFunc) {
	for wait := time.Duration(s.after); ; wait = askAgain {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		now, err := r.State(ctx)
		if err == nil && now.Phase == "waiting" {
			end(Config(fmt.Errorf("run %s: %w: %d of %d workers were there within %v", r.Name, ErrFewWorkers, now.Present(), now.MinWorkers, time.Duration(s.after))))
		}
		if err == nil {
			return
		}
	}
}
