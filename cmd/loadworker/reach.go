package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/targets"
)

// reacher is a target that can tell whether it can be reached, without a request.
type reacher interface {
	Reach(ctx context.Context) error
}

// reachPatience is how long connecting once may take.
const reachPatience = 5 * time.Second

// reach connects to the target once, and hangs up. The error says what to do.
func (f *memberFlags) reach(ctx context.Context, target targets.Target) error {
	t, ok := target.(reacher)
	if !ok || f.noCheck {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	err := t.Reach(limit)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return cli.Config(fmt.Errorf("reach the target: %w; nothing was sent. Check --url, or fire anyway with --no-check", err))
	}
	return nil
}

// passable lets a worker join a run that has begun although it cannot reach the target: that may be what the run brought about.
func passable(r *run.Run, reach error, log *slog.Logger) error {
	if reach != nil && r.Phase != "waiting" {
		log.Warn("joining all the same, the run has begun", "err", reach)
		return nil
	}
	return reach
}
