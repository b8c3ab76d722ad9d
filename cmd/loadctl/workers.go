package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/removal"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
)

func newWorkersCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "workers RUN",
		Short: "List all workers, including departed ones",
		Long: `List all workers of a run, including departed ones.

Their states: active; silent (not heard of for three renewals, may send until its lease ends);
left, stopped, lost, removed (take part no more); replaced (by another process of the same id).
OWNED is how many slots a worker has owned since the start: requests that were its own to send.
UNTIL is when the lease of a worker ends: until then it may send without a reply from Redis.

To list the workers of a run named rm: loadctl workers -- rm`,
		Args: oneRun,
		RunE: func(c *cobra.Command, args []string) error {
			state, err := readState(c, redis, &output, args[0], nil)
			if err != nil {
				return err
			}
			return output.Print(c.OutOrStdout(), state.Workers, func(w io.Writer) error { return printWorkers(w, state.Workers) })
		},
	}
	output.AddFlags(c, "text", "json")
	c.AddCommand(newRemoveWorkersCommand(redis))
	return c
}

// oneRun is cli.Args for a command that has a subcommand. Its error speaks only of the arguments.
func oneRun(c *cobra.Command, args []string) error {
	take := "give the name of one run"
	switch {
	case len(args) == 1:
		return nil
	case len(args) > 1:
		take += fmt.Sprintf(", %.40q is one too many", args[1])
	}
	return cli.Config(fmt.Errorf("%s: %s; usage: %s", c.Name(), take, c.UseLine()))
}

func printWorkers(w io.Writer, workers []run.Worker) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKER\tSTATE\tWEIGHT\tOWNED\tUNTIL\tLAST SEEN")
	for _, x := range workers {
		printable.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\n", x.ID, x.State, x.Weight, x.Owned, until(x), x.LastSeen.Format(time.RFC3339))
	}
	return t.Flush()
}

// until returns when the lease of a worker ends; a dash if there is none.
func until(w run.Worker) string {
	switch {
	case w.LeaseUntil.IsZero():
		return "-"
	case w.LeaseUntil.Sub(w.LastSeen) > 365*24*time.Hour: // --on-redis-loss hold
		return "without end"
	default:
		return w.LeaseUntil.Format(time.RFC3339)
	}
}

func newRemoveWorkersCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	var force bool
	c := &cobra.Command{
		Use:   "rm RUN WORKER [WORKER...]",
		Short: "Declare workers dead; their share goes to the others",
		Long: `Declare that the processes of workers are dead. Their share goes to the others half a second later.
Without this command, the others wait until the lease of a dead worker ends, --permit-for after
its last call. The reason: Redis cannot tell a killed worker from one that is cut off.

Declare only processes that are dead. A worker that is cut off sends until its lease ends, and
slots would be sent twice. A worker that was heard of in the last 1.5 s is refused: three of its
call intervals, so 3 s in a fleet of 100 or more. With --force it is asked to call instead: it is
removed when it has been silent for that long, and refused if it calls.`,
		Example: "  loadctl workers rm checkout vm-14b72efb",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Config(errors.New("workers rm: give the name of one run and its dead workers; loadctl workers RUN lists them; usage: " + c.UseLine()))
			}
			return nil
		},
		ValidArgsFunction: redis.CompleteWorkers,
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			client, r, err := redis.Open(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer cli.Close(client)
			return removeWorkers(c, r, &output, args[1:], force)
		},
	}
	output.AddFlags(c, "text", "json")
	c.Flags().BoolVar(&force, "force", false, "wait until they have missed three calls, instead of refusing")
	return c
}

// removeWorkers goes on after a worker that cannot be removed, and joins the errors.
func removeWorkers(c *cobra.Command, r *run.Run, output *cli.Output, ids []string, force bool) error {
	var failures []error
	removed := map[string]bool{} // by incarnation
	for _, id := range ids {
		before, err := removal.Worker(c.Context(), r, id, force)
		switch {
		case errors.Is(err, removal.ErrNoWorker) || errors.Is(err, removal.ErrAlive):
			failures = append(failures, cli.Config(err))
			continue
		case err != nil:
			return errors.Join(append(failures, err)...)
		}
		removed[before.Incarnation] = true
		if output.Format == "text" {
			printRemoved(c.OutOrStdout(), r.Name, before)
		}
	}
	if output.Format == "text" || len(removed) == 0 {
		return errors.Join(failures...)
	}
	s, err := r.State(c.Context())
	if err != nil {
		return errors.Join(append(failures, err)...)
	}
	those := slices.DeleteFunc(s.Workers, func(w run.Worker) bool { return !removed[w.Incarnation] })
	return errors.Join(append(failures, output.Print(c.OutOrStdout(), those, nil))...)
}

// printRemoved prints the result for one worker, from its state before.
func printRemoved(w io.Writer, name string, before run.Worker) {
	if before.Gone() {
		printable.Fprintf(w, "%s: %s had already gone, as %s\n", name, before.ID, before.State)
		return
	}
	printable.Fprintf(w, "%s: %s removed; it was last heard of at %s\n", name, before.ID, before.LastSeen.Format(time.RFC3339))
}
