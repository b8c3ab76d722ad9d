package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/runflags"
	"github.com/loadctl/loadctl/internal/fleet/orders"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

func newSetBurstCommand(redis *cli.Redis) *cobra.Command {
	var burst int64
	var force bool
	c := newChangeCommand(redis, "set-burst RUN N", "Change the burst of the run's limiter", 2,
		func(r *run.Run, ctx context.Context) (run.Change, error) {
			if err := stays(force, func() error { return orders.StayWith(ctx, r, burst) }); err != nil {
				return run.Change{}, err
			}
			if err := rights.NewKeeper(r).RaiseFor(ctx, burst); err != nil {
				return run.Change{}, err
			}
			return r.SetBurst(ctx, burst)
		})
	c.PreRunE = func(_ *cobra.Command, args []string) (err error) { // check the arguments before asking Redis
		if burst, err = runflags.ParseCount(args[1]); err != nil {
			return cli.Config(fmt.Errorf("set-burst: %w", err))
		}
		return nil
	}
	c.Long = `Change the burst of a run with --limiter token-bucket, leaky-bucket or gcra. It is in force for all
workers from the next grant on. The rate stays, and granted requests are sent. N is a number of
requests: 20, 2.5k. Workers ask every 5 ms at most, so a burst of less than 10 ms of the rate may
not reach the rate.

The burst counts for the --max-qps of workers, as the rate does. If a worker would leave the run
because of it, the burst is refused. With --force it is set anyway.`
	c.Example = "  loadctl set-burst checkout 20"
	addForce(c, &force)
	return c
}
