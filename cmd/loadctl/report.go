package main

import (
	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
)

func newReportCommand(redis *cli.Redis) *cobra.Command {
	var out cli.Report
	c := &cobra.Command{
		Use:   "report RUN",
		Short: "Print the merged report of all workers, at any time",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.Check(); err != nil {
				return err
			}
			client, r, err := redis.Open(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer cli.Close(client)
			rep, err := r.Report(c.Context())
			if err != nil {
				return err
			}
			return out.Write(c.OutOrStdout(), rep)
		},
	}
	out.AddFlags(c)
	return c
}
