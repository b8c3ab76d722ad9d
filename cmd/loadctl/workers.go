package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/printable"
	"github.com/loadctl/loadctl/internal/run"
)

func newWorkersCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "workers RUN",
		Short: "List a run's workers, those that have gone too",
		Long: `List a run's workers, those that have gone too. Their states: active; silent, which has not been heard of for three
renewals and may send until its promise ends; left, stopped, lost and removed, which take no part any more; replaced by
another process of that id. UNTIL is when its promise ends: so long it sends by itself if it hears nothing from Redis.

A run that is called rm is listed with: loadctl workers -- rm`,
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

// oneRun is cli.Args for a command with another one below it: what is wrong with the arguments has nothing to do with that.
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

// until is when the promise of a worker ends; of who is promised nothing it is a dash.
func until(w run.Worker) string {
	switch {
	case w.PromisedUntil.IsZero():
		return "-"
	case w.PromisedUntil.Sub(w.LastSeen) > 365*24*time.Hour: // --on-redis-loss hold
		return "without end"
	default:
		return w.PromisedUntil.Format(time.RFC3339)
	}
}

func newRemoveWorkersCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	var force bool
	c := &cobra.Command{
		Use:   "rm RUN WORKER [WORKER...]",
		Short: "Say that workers are dead: their share goes to the others half a second later",
		Long: `Say that the processes of workers are dead. Their share goes to the others half a second later. Without this the others
leave it alone until the promise ends, --permit-for after the last call: a worker that is killed and one that is cut off from
Redis look alike.

Say it only of processes that are dead. One that is cut off sends until its promise ends, and slots would be sent twice.
A worker that was heard of in the last 1.5 s is refused: three times as long as it takes it to call again, so 3 s in
a fleet of 100 or more. With --force it is removed; if it lives it joins again.`,
		Example: "  loadctl workers rm checkout vm-14b72efb",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Config(errors.New("workers rm: give the name of one run and the workers that are dead; loadctl workers RUN lists them; usage: " + c.UseLine()))
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
	c.Flags().BoolVar(&force, "force", false, "remove workers that seem to be alive, too")
	return c
}

// removeWorkers goes on after one that cannot be removed; the errors come together.
func removeWorkers(c *cobra.Command, r *run.Run, output *cli.Output, ids []string, force bool) error {
	var failures []error
	removed := map[string]bool{} // by incarnation
	for _, id := range ids {
		before, err := r.Remove(c.Context(), id, force)
		switch {
		case errors.Is(err, run.ErrNoWorker) || errors.Is(err, run.ErrAlive):
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

// printRemoved says what became of a worker, which is as it was before.
func printRemoved(w io.Writer, name string, before run.Worker) {
	if before.Gone() {
		printable.Fprintf(w, "%s: %s had gone already, as %s\n", name, before.ID, before.State)
		return
	}
	printable.Fprintf(w, "%s: %s removed, it was last heard of at %s\n", name, before.ID, before.LastSeen.Format(time.RFC3339))
}
