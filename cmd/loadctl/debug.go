package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/dump"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

func newDebugCommand(redis *cli.Redis) *cobra.Command {
	return &cobra.Command{
		Use:   "debug RUN",
		Short: "Show the stored state of a run, with the names of its numbers",
		Long: `Show the state of a run as Redis has it, with the names of its numbers: laws, workers, the ranges
that they hold, and who owned what. It also reads a damaged state, and says what is wrong with it.
The description, which may have secrets, is left out. The output is for people, and changes with the
version of the state.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := run.ValidateName("run", args[0]); err != nil {
				return cli.Config(err)
			}
			client, err := redis.Connect(c.Context())
			if err != nil {
				return err
			}
			defer cli.Close(client)
			err = dump.Run(c.Context(), client, args[0], c.OutOrStdout())
			if errors.Is(err, run.ErrNoRun) {
				return cli.Config(err)
			}
			return err
		},
	}
}
