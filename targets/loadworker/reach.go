package loadworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/targets/probe"
)

// reachPatience bounds the connection test.
const reachPatience = 5 * time.Second

// reach connects to each server of the target that was opened once, and closes the connections. The error says what to do.
func (f *memberFlags) reach(ctx context.Context) error {
	if f.noCheck {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	err := probe.Reach(limit, f.target.spec, f.target.local)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return cli.Config(fmt.Errorf("reach the target: %w; nothing was sent. %s, or send anyway with --no-check", err, f.mend(err)))
	}
	return nil
}

// mend says what to do about a target that cannot be reached.
func (f *memberFlags) mend(err error) string {
	url := ""
	if server, ok := errors.AsType[*probe.Unreached](err); ok {
		url = server.URL
	}
	advice := cmp.Or(probe.Advise(err, url), "check --url")
	if len(f.target.spec.Flows) > 0 {
		advice = strings.ReplaceAll(advice, "--url", "the url of this step")
	}
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
