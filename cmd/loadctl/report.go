package main

import (
	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/report"
)

func newReportCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "report RUN",
		Short: "Print the merged report of all workers, at any time",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			render, err := report.Format(output.Format)
			if err != nil {
				return cli.Config(err)
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
			return render(c.OutOrStdout(), rep)
		},
	}
	output.AddFlags(c, report.Formats()...)
	return c
}
