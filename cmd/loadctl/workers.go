package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
)

func newWorkersCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "workers RUN",
		Short: "List a run's workers, those that have gone too",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			state, err := readState(c, redis, &output, args[0])
			if err != nil {
				return err
			}
			return output.Print(c.OutOrStdout(), state.Workers, func(w io.Writer) error { return printWorkers(w, state.Workers) })
		},
	}
	output.AddFlags(c, "text", "json")
	return c
}

func printWorkers(w io.Writer, workers []run.Worker) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKER\tSTATE\tWEIGHT\tLEASED\tLAST SEEN\tRTT AT MOST")
	for _, x := range workers {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%v\n", x.ID, x.State, x.Weight, x.Leased, x.LastSeen.Format(time.RFC3339),
			time.Duration(x.RTTMicros)*time.Microsecond)
	}
	return t.Flush()
}
