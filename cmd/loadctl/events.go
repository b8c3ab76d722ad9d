package main

import (
	"errors"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/output/printable"
)

func newEventsCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	var n int64
	c := &cobra.Command{
		Use:   "events RUN",
		Short: "Show the history of a run: commands, joins, leaves",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			if n < 1 {
				return cli.Config(errors.New("--last: give a number of 1 or more"))
			}
			client, r, err := redis.Open(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer cli.Close(client)
			events, err := r.Events(c.Context(), n)
			if err != nil {
				return err
			}
			return output.Print(c.OutOrStdout(), events, func(w io.Writer) error {
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				for _, e := range events {
					printable.Fprintf(t, "%s\t%s\t%s\t%s\n", e.At.Format(time.RFC3339Nano), e.Kind, e.Who, e.What)
				}
				return t.Flush()
			})
		},
	}
	output.AddFlags(c, "text", "json")
	c.Flags().Int64Var(&n, "last", 1000, "how many of the newest events to show")
	return c
}
