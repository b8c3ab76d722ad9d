package main

import (
	"context"
	"time"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/spf13/cobra"
)

func newSetRateCommand(redis *cli.Redis) *cobra.Command {
	var over cli.Duration
	c := newChangeCommand(redis, "set-rate RUN RATE", "Change the rate of the whole cluster, at once or over some time", 2,
		func(ctx context.Context, r *run.Run, args []string) (run.Change, error) {
			rate, err := pacer.ParseRate(args[0])
			if err != nil {
				return run.Change{}, cli.Config(err)
			}
			return r.SetRate(ctx, rate, time.Duration(over))
		})
	c.Long = `Change the rate of the whole cluster. RATE is the total of all workers, in requests per second:
500, 2.5k, 1M, 0.2, or a count per time such as 30/1m. 0 sends nothing.

Setting 100 and then 200 means 200. Stages that were still to come are cancelled; the planned end stays.
The new rate is in force on every worker some 20 ms after the command.`
	c.Example = "  loadctl set-rate checkout 500\n  loadctl set-rate checkout 2k --over 30s"
	c.Flags().Var(&over, "over", "go there as a linear ramp over this time")
	return c
}
