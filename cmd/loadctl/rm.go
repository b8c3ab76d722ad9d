package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
)

func newRemoveCommand(redis *cli.Redis) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "rm RUN",
		Short: "Remove a run and its report from Redis",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := redis.Connect(c.Context())
			if err != nil {
				return err
			}
			defer cli.Close(client)
			err = run.Remove(c.Context(), client, args[0], force)
			switch {
			case err == nil:
				_, err = printable.Fprintf(c.OutOrStdout(), "%s: the run and its report are removed\n", args[0])
				return err
			case errors.Is(err, run.ErrListed) || link.Unanswered(err): // no argument is wrong
				return err
			default:
				return cli.Config(err)
			}
		},
	}
	c.Flags().BoolVar(&force, "force", false, "remove it even if workers take part; they exit with an error")
	return c
}
