package main

import (
	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

func newStartCommand(redis *cli.Redis) *cobra.Command {
	return newChangeCommand(redis, "start RUN", "Start a waiting run with the workers that have joined", 1, (*run.Run).Start)
}
