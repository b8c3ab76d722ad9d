package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

func newPauseCommand(redis *cli.Redis) *cobra.Command {
	return newChangeCommand(redis, "pause RUN", "Pause a run; workers and statistics stay", 1,
		func(ctx context.Context, r *run.Run, _ []string) (run.Change, error) { return r.Pause(ctx) })
}

func newResumeCommand(redis *cli.Redis) *cobra.Command {
	return newChangeCommand(redis, "resume RUN", "Resume a paused run, without a burst", 1,
		func(ctx context.Context, r *run.Run, _ []string) (run.Change, error) { return r.Resume(ctx) })
}
