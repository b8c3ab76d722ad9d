package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/metrics"
	"github.com/loadctl/loadctl/internal/console/runflags"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
)

// How long the end of a run may take: until its workers have stopped, besides the leases of silent ones; and until
// their last snapshots have arrived.
const (
	stopPatience   = 10 * time.Second
	reportPatience = 10 * time.Second
)

func newRunCommand(redis *cli.Redis) *cobra.Command {
	f := creation{spec: runflags.Spec{MinWorkers: 1}}
	var show progress
	var start cli.StartTimeout
	var out cli.Report
	c := &cobra.Command{
		Use:   "run RUN --url URL --qps RATE",
		Short: "Create a run, wait for its workers, show progress, report",
		Long: `Create a run and stay with it. The run begins when --min-workers have joined. The command shows its
progress, and prints the report of all workers at the end. --qps is the total of the WHOLE CLUSTER.

On a terminal it shows a whole screen, as loadctl watch does, with keys that change the run; q goes
on with a line of progress. With --plain there is only that line.

The workers do not need this command: if it is killed, the run goes on, and loadctl watch shows it
again. Ctrl-C stops the run and prints the report; a second Ctrl-C ends the command at once. With
--deadman, the run stops if neither this command nor another loadctl was heard of for that long;
then the exit code is 1. If too few workers join within --start-timeout, the run is stopped, and the
exit code is 104.

With --threshold the exit code is 0 if all passed, and 99 if one failed or is undecided. It is 98 if
the run is not valid: its generator may be the reason for a result, or counts are missing. Without
thresholds it is 1 if no answer was as expected, or if the report is INCOMPLETE.`,
		Example: `  loadctl run checkout --url http://10.0.0.9:8080/ --qps 20k --duration 5m --min-workers 3`,
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			push, err := metrics.NewPush(os.Getenv, c.Root().Version)
			if err := cmp.Or(out.Check(), show.check(), cli.Config(err)); err != nil {
				return err
			}
			client, r, created, err := f.open(c, redis, args[0])
			if errors.Is(err, cli.ErrNoRedis) {
				return cli.Config(fmt.Errorf("%w; or send from this machine alone, without Redis: %s", cli.ErrNoRedis, f.spec.OneOff(c)))
			}
			if err != nil {
				return err
			}
			defer cli.Close(client)
			if created {
				printable.Fprintf(c.ErrOrStderr(), "created run %s; workers join with: %s\n", r.Name, joining(r.Name, r.Spec))
			} else {
				ignored := map[bool]string{true: "--new has no effect, because it has not ended; "}[f.how.New]
				printable.Fprintf(c.ErrOrStderr(), "run %s exists already, with the same description; %sCtrl-C stops it\n", r.Name, ignored)
			}
			last := push.Start(metrics.Of(r), nil)
			defer func() { cli.WarnOf(c, last()) }() // not earlier: the progress of the run is on the screen
			return attend(c, r, &start, &show, &out)
		},
	}
	f.AddFlags(c)
	start.AddFlags(c)
	show.AddFlags(c)
	out.AddFlags(c)
	return cli.Patient(c)
}

// attend stays with a run until it is over, and prints the report. It stops the run at a signal. It also stops the run
// if too few workers join in time: else the run could begin later with nobody watching.
func attend(c *cobra.Command, r *run.Run, start *cli.StartTimeout, show *progress, out *cli.Report) error {
	ctx, done := start.Limit(c.Context(), r)
	err := show.follow(ctx, c, r)
	done()
	switch {
	case errors.Is(err, cli.ErrFewWorkers):
		return errors.Join(fmt.Errorf("%w; the run is stopped: check its workers, and repeat this with --new; --start-timeout sets how long to wait", err), stopAnyway(c, r))
	case errors.Is(err, cli.ErrSignal):
		printable.Fprintf(c.ErrOrStderr(), "stopping run %s; a second Ctrl-C ends at once\n", r.Name)
		failed := stopAnyway(c, r)
		if failed != nil && !errors.Is(failed, run.ErrUnconfirmed) {
			return errors.Join(err, failed) // there is no report either
		}
		if failed != nil {
			err = errors.Join(err, failed)
		}
	}
	rep, err := finish(c, r, out, err)
	if err != nil {
		return err
	}
	// The report of a run that was cut short is judged as usual. The error tells the user that the run was cut short.
	stopped, err := r.Unattended(c.Context())
	if stopped {
		return fmt.Errorf("run %s: its dead-man's switch stopped it: Redis heard from no loadctl for %v; find out what delayed this command, or set a longer --deadman",
			r.Name, r.Spec.Deadman)
	}
	return cmp.Or(out.Judged(rep), err, out.Concluded(rep))
}

// stopAnyway stops the run, even if the command's own context has ended.
func stopAnyway(c *cobra.Command, r *run.Run) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), stopPatience+r.Spec.Permit())
	defer cancel()
	warnFull(c, "stop", r.MemoryAdvice(ctx))
	_, err := r.Stop(ctx, waitsFor(c.ErrOrStderr(), r.Name, ""))
	return err
}

// finish prints the report of a run that is over or was left by a signal. The error is the cause of the end, or says
// why there is no report.
func finish(c *cobra.Command, r *run.Run, out *cli.Report, ended error) (report.Report, error) {
	if ended != nil && !errors.Is(ended, cli.ErrSignal) {
		return report.Report{}, ended
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), reportPatience)
	defer cancel()
	rep, err := results.FinalReport(ctx, r, reportPatience/2)
	if err == nil {
		err = out.Write(c.OutOrStdout(), rep)
	}
	if err != nil {
		return rep, errors.Join(ended, err)
	}
	return rep, ended // a signal alone needs no message
}
