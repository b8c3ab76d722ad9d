package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
)

func newListCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "ls",
		Short: "List all runs",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			client, err := redis.Connect(c.Context())
			if err != nil {
				return err
			}
			defer cli.Close(client)
			runs, err := run.List(c.Context(), client)
			if err != nil {
				return err
			}
			return output.Print(c.OutOrStdout(), runs, func(w io.Writer) error { return printRuns(w, runs) })
		},
	}
	output.AddFlags(c, "text", "json")
	return c
}

func printRuns(w io.Writer, runs []run.Entry) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tPHASE\tWORKERS\tRATE\tASKED\tCREATED")
	for _, r := range runs {
		asked := strconv.FormatInt(r.Asked, 10)
		if r.ClosedLoop {
			asked = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", r.Run, r.Phase, r.Members, shownRate(r.Rate, r.ClosedLoop), asked,
			r.CreatedAt.Format(time.RFC3339))
	}
	return t.Flush()
}
