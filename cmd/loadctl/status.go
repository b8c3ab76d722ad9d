package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/units"
)

// status is the output of the command status.
type status struct {
	*run.State
	report.Setting
	ClosedLoop bool `json:"closed_loop,omitempty"` // as in report.Report: a closed loop has no rate, and no requests are asked for
}

func newStatusCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "status RUN",
		Short: "Show what a run is doing now",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			var now status
			var err error
			now.State, err = readState(c, redis, &output, args[0], func(c *cobra.Command, r *run.Run) {
				now.ClosedLoop, now.Setting = r.Spec.Max, r.Spec.Setting()
				touch(c, r)
			})
			if err != nil {
				return err
			}
			return output.Print(c.OutOrStdout(), now, func(w io.Writer) error { return printStatus(w, now) })
		},
	}
	output.AddFlags(c, "text", "json")
	return c
}

// touch tells a run with a dead-man's switch that somebody watches it. If that fails, it prints a warning only: reading
// goes on.
func touch(c *cobra.Command, r *run.Run) {
	if r.Spec.Deadman == 0 {
		return
	}
	if err := r.Touch(c.Context()); err != nil {
		cli.Warn(c, "the run did not get this sign of life, so --deadman may stop it: %v", err)
	}
}

// readState reads a run's state. before is called first; it may be nil.
func readState(c *cobra.Command, redis *cli.Redis, output *cli.Output, name string, before func(*cobra.Command, *run.Run)) (*run.State, error) {
	if err := output.Check(); err != nil {
		return nil, err
	}
	client, r, err := redis.Open(c.Context(), name)
	if err != nil {
		return nil, err
	}
	defer cli.Close(client)
	if before != nil {
		before(c, r)
	}
	return r.State(c.Context())
}

// shownRate formats a rate; max is that of a closed loop, and c=N of one with a concurrency.
func shownRate(r float64, closed bool, concurrency int64) string {
	switch {
	case concurrency > 0:
		return fmt.Sprintf("c=%d", concurrency)
	case closed:
		return "max"
	}
	return units.Thousandths(r)
}

// pending says how the rate will change without any further command.
func pending(s *run.State) string {
	then := units.Thousandths(s.RateThen)
	switch {
	case s.Phase == "waiting":
		return ", " + then + " when it begins"
	case s.Phase == "paused":
		return ", " + then + " when it is resumed"
	case s.Phase == "running" && s.Rate != s.RateThen:
		return ", on the way to " + then
	case s.Phase == "running" && s.Factor > 0:
		return ", " + units.OfPlan(s.Factor)
	default:
		return ""
	}
}

func printStatus(w io.Writer, s status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	printable.Fprintf(t, "run\t%s\n", s.Run)
	printable.Fprintf(t, "phase\t%s\n", s.Phase)
	switch {
	case s.ClosedLoop && s.Concurrency > 0:
		printable.Fprintf(t, "rate\tc=%d: as many requests in flight, of the whole cluster (closed loop)\n", s.Concurrency)
	case s.ClosedLoop:
		fmt.Fprintln(t, "rate\tmax: as fast as it goes (closed loop)")
	default:
		printable.Fprintf(t, "rate\t%s per second, of the whole cluster%s\n", units.Thousandths(s.Rate), pending(s.State))
		printable.Fprintf(t, "asked\t%d so far\n", s.Asked)
	}
	if s.Limiter != "" {
		printable.Fprintf(t, "limiter\t%s\n", s.Limiter)
	}
	printable.Fprintf(t, "workers\t%d", s.Present())
	switch {
	case s.Phase == "waiting" && s.MinWorkers == 0:
		fmt.Fprint(t, "; it waits for loadctl start")
	case s.Phase == "waiting":
		printable.Fprintf(t, " of the %d it waits for", s.MinWorkers)
	case s.Phase == "running" && s.Present() == 0:
		fmt.Fprint(t, "; nothing is sent until one joins")
	}
	fmt.Fprintln(t)
	for _, at := range []struct {
		name string
		time time.Time
	}{{"started", s.StartedAt}, {"ends", s.EndsAt}, {"ended", s.EndedAt}} {
		if !at.time.IsZero() {
			printable.Fprintf(t, "%s\t%s\n", at.name, at.time.Format(time.RFC3339))
		}
	}
	if s.LeftNS > 0 {
		printable.Fprintf(t, "ends\t%v after it is resumed\n", s.LeftNS.Round(time.Millisecond))
	}
	printable.Fprintf(t, "target\t%s\n", s.Target())
	printable.Fprintf(t, "flags\t%s\n", s.Line())
	return t.Flush()
}
