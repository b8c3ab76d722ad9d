package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/orders"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

func newSetRateCommand(redis *cli.Redis) *cobra.Command {
	var over cli.Duration
	var order orders.Rate
	var force bool
	c := newChangeCommand(redis, "set-rate RUN RATE", "Change the rate of the whole cluster, at once or over some time", 2,
		func(r *run.Run, ctx context.Context) (run.Change, error) {
			if err := order.Fits(r); err != nil {
				return run.Change{}, cli.Config(err)
			}
			if err := stays(force, func() error { return orders.StayAt(ctx, r, order) }); err != nil {
				return run.Change{}, err
			}
			return order.Give(ctx, r)
		})
	c.PreRunE = func(_ *cobra.Command, args []string) (err error) { // check the arguments before asking Redis
		if order, err = orders.ParseRate(args[1], ""); err != nil {
			return cli.Config(err)
		}
		order.Over = time.Duration(over)
		if err := order.CheckOver(); err != nil {
			return cli.Config(fmt.Errorf("--over: %w", err))
		}
		return nil
	}
	c.Long = `Change the rate of the whole cluster. RATE is the total of all workers, in requests per second:
500, 2.5k, 1M, 0.2, or a count per time such as 500/s, 30/m or 1/1d12h. 0 sends nothing.

Setting 100 and then 200 means 200. Stages still to come are cancelled; the planned end stays.
The new rate is in force on every worker some 20 ms after the command. The command prints when.
Until then loadctl status shows the old rate, on the way to the new one.

If flows have several steps, RATE counts requests, as --qps does, and status counts flows.

In a run with --concurrency, RATE is c=N: from then on the whole cluster has N requests in flight.

A rate above the --max-qps of a worker is refused, because that worker would leave the run. The
error names the workers. With --force the rate is set anyway.`
	c.Example = "  loadctl set-rate checkout 500\n  loadctl set-rate checkout 2k --over 30s\n  loadctl set-rate chat c=16"
	c.Flags().Var(&over, "over", "reach the new rate by a linear ramp over this time")
	addForce(c, &force)
	return c
}

// addForce adds --force of commands after which workers may leave.
func addForce(c *cobra.Command, force *bool) {
	c.Flags().BoolVar(force, "force", false, "set it even if workers leave because of their --max-qps")
}

// stays asks whether all workers stay, unless force is set. That they do not is an error of the command line.
func stays(force bool, ask func() error) error {
	if force {
		return nil
	}
	err := ask()
	if errors.Is(err, orders.ErrLeave) {
		return cli.Config(err)
	}
	return unchanged(err)
}
