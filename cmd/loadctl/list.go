package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
)

func newListCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "ls",
		Short: "List all runs",
		Long: `List all runs. If a part of a Redis Cluster cannot be reached, its runs are shown as unreachable,
and the exit code is 1.`,
		Args: cli.Args(cobra.NoArgs),
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
			if err := output.Print(c.OutOrStdout(), runs, func(w io.Writer) error { return printRuns(w, runs) }); err != nil {
				return err
			}
			return unreached(runs)
		},
	}
	output.AddFlags(c, "text", "json")
	return c
}

// warnUnlisted warns if a run exists but loadctl ls does not show it.
func warnUnlisted(c *cobra.Command, r *run.Run) {
	if r.Unlisted != nil {
		cli.Warn(c, "the list of runs could not be written, so loadctl ls and stop --all do not know run %s until a worker joins: %v", r.Name, r.Unlisted)
	}
}

// unreached returns an error if some runs cannot be reached, with the cause of the first.
func unreached(runs []run.Entry) error {
	var why error
	n := 0
	for _, r := range runs {
		if r.Err != nil {
			why, n = cmp.Or(why, r.Err), n+1
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("ls: %d of %d runs cannot be reached: %w", n, len(runs), why)
}

func printRuns(w io.Writer, runs []run.Entry) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tPHASE\tWORKERS\tRATE\tASKED\tCREATED\tTARGET\tFLAGS")
	for _, r := range runs {
		if r.Err != nil {
			printable.Fprintf(t, "%s\t%s\t?\t?\t?\t%s\t?\t?\n", r.Run, r.Phase, r.CreatedAt.Format(time.RFC3339))
			continue
		}
		asked := strconv.FormatInt(r.Asked, 10)
		if r.ClosedLoop {
			asked = "-"
		}
		printable.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", r.Run, r.Phase, r.Members, shownRate(r.Rate, r.ClosedLoop, r.Concurrency), asked,
			r.CreatedAt.Format(time.RFC3339), shortened(r.Target()), shortened(r.Line()))
	}
	return t.Flush()
}

// cellWidth is the number of characters that a list shows of a target or of flags. loadctl status shows them all.
const cellWidth = 80

// shortened cuts a text to cellWidth characters.
func shortened(s string) string {
	if all := []rune(s); len(all) > cellWidth {
		return string(all[:cellWidth-1]) + "…"
	}
	return s
}
