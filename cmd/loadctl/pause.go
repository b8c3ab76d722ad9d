package main

import (
	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

func newPauseCommand(redis *cli.Redis) *cobra.Command {
	return newChangeCommand(redis, "pause RUN", "Pause a run; workers and statistics stay", 1, (*run.Run).Pause)
}

func newResumeCommand(redis *cli.Redis) *cobra.Command {
	return newChangeCommand(redis, "resume RUN", "Resume a paused run, without a burst", 1, (*run.Run).Resume)
}
