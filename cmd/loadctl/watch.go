package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
)

func newWatchCommand(redis *cli.Redis) *cobra.Command {
	show := progress{leaves: true}
	var out cli.Report
	c := &cobra.Command{
		Use:   "watch RUN",
		Short: "Show a run's progress, and its report at the end",
		Long: `Show a run's progress until it is over, and then the report of all workers.

On a terminal this is a whole screen. Its keys change the run: + and - by 10 % of the rate, r sets
a rate, space pauses and resumes, s stops. With --read-only they do not. q and Ctrl-C end the
watching and print the report so far; the run goes on. If a part of the output is not a terminal,
or with --plain, there is one line of progress.

The exit code is that of loadctl report.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cmp.Or(out.Check(), show.check()); err != nil {
				return err
			}
			client, r, err := redis.Open(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer cli.Close(client)
			rep, err := finish(c, r, &out, show.follow(c.Context(), c, r))
			if err != nil {
				return err
			}
			return out.Concluded(rep)
		},
	}
	show.AddFlags(c)
	out.AddFlags(c)
	return cli.Patient(c)
}
