package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/targets"
)

// reacher is a target that can test whether it is reachable, without sending a request.
type reacher interface {
	Reach(ctx context.Context) error
}

// reachPatience bounds the connection test.
const reachPatience = 5 * time.Second

// reach connects to the target of a spec once, and closes the connection. The error says what to do.
func (f *memberFlags) reach(ctx context.Context, target targets.Target, s targets.Spec) error {
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
		return cli.Config(fmt.Errorf("reach the target: %w; nothing was sent. %s, or send anyway with --no-check", err, mend(err, s.URL)))
	}
	return nil
}

// mend says what to do about a target that cannot be reached.
func mend(err error, url string) string {
	advice := cmp.Or(targets.Advise(err, url), "check --url")
	return strings.ToUpper(advice[:1]) + advice[1:]
}

// passable lets a worker join a run that has begun, even if it cannot reach the target: the load may be the cause.
func passable(r *run.Run, reach error, log *slog.Logger) error {
	if reach != nil && r.Phase != "waiting" {
		log.Warn("joining although the target cannot be reached, because the run has begun", "err", reach)
		return nil
	}
	return reach
}
