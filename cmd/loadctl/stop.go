package main

import (
	"errors"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
)

func newStopCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	var every stopAll
	c := &cobra.Command{
		Use:   "stop RUN",
		Short: "End a run; when this returns, nothing more is sent",
		Long: `End a run. With --all, end every run that has not ended. Workers drop unsent requests. The command
returns when each worker has confirmed that, or can send nothing any more. A silent worker may be
cut off from Redis. Then it sends until its lease ends, --permit-for after its last call. The
command shows which workers it waits for. If a silent worker is dead, loadctl workers rm ends the
wait.

If the memory of Redis is full, stop works anyway, and says what to free.

A run that Redis has lost can be stopped too: a worker that still has it restores it as stopped. If
no worker does, the exit code is 104. For one hour, a worker that reaches Redis again then ends,
unless a run of this name is created. If the run vanishes while this command waits, it ends with 104
when the leases of the workers are over.

With --on-redis-loss hold, a worker that is cut off sends without end. Then the stop cannot be
confirmed, and the exit code is 1.`,
		Example: "  loadctl stop checkout\n  loadctl stop --all --yes",
		Args: func(c *cobra.Command, args []string) error {
			if err := every.check(c, args); every.all || err != nil {
				return err
			}
			return cli.Args(cobra.ExactArgs(1))(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			if every.all {
				return every.stop(c, redis, &output)
			}
			done, err := stopRun(c, redis, args[0])
			if err != nil {
				return err
			}
			return output.Print(c.OutOrStdout(), done, func(w io.Writer) error { return printChange(w, done) })
		},
	}
	output.AddFlags(c, "text", "json")
	every.AddFlags(c)
	return c
}

// stopRun stops one run, even if Redis has lost it.
func stopRun(c *cobra.Command, redis *cli.Redis, name string) (run.Change, error) {
	client, err := redis.Connect(c.Context())
	if err != nil {
		return run.Change{}, unchanged(err)
	}
	defer cli.Close(client)
	r, err := run.Open(c.Context(), client, name)
	err = unchanged(err)
	lost := errors.Is(err, run.ErrNoRun)
	if lost {
		r, err = run.StopLost(c.Context(), client, name)
	}
	if err != nil {
		return run.Change{}, cli.Config(err)
	}
	warnFull(c, "stop", r.MemoryAdvice(c.Context()))
	done, err := r.Stop(c.Context(), waitsFor(c.ErrOrStderr(), r.Name, ""))
	if errors.Is(err, run.ErrVanished) {
		err = cli.Config(err)
	}
	if lost && !r.Ended.IsZero() { // this command ended it, not an earlier one
		done.Changed, done.At = true, r.Ended
	}
	if err == nil { // what the run held is free now, and not only when its rows end
		_, _ = rights.NewKeeper(r).Renew(c.Context(), false)
	}
	return done, err
}

// waitsFor returns a function that prints which workers the stop of a run waits for. Each line starts with prefix.
func waitsFor(w io.Writer, name, prefix string) func([]run.Pending) {
	return func(those []run.Pending) {
		var talking []string
		for _, p := range those {
			if p.ID == "" {
				printable.Fprintf(w, "%swaiting for workers that Redis has forgotten: their leases end in %.0f s\n", prefix, math.Ceil(p.Lease.Seconds()))
			} else if p.Lease > 0 {
				printable.Fprintf(w, "%swaiting for %s: silent, its lease ends in %.0f s (loadctl workers rm %s %s if it is dead)\n",
					prefix, p.ID, math.Ceil(p.Lease.Seconds()), name, p.ID)
			} else {
				talking = append(talking, p.ID)
			}
		}
		if len(talking) > 0 {
			printable.Fprintf(w, "%swaiting for %s\n", prefix, strings.Join(talking, ", "))
		}
	}
}
