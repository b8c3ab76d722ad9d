package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/internal/spec"
	"github.com/loadctl/loadctl/pacer"
)

func newSetRateCommand(redis *cli.Redis) *cobra.Command {
	var over cli.Duration
	var rate pacer.Rate
	c := newChangeCommand(redis, "set-rate RUN RATE", "Change the rate of the whole cluster, at once or over some time", 2,
		func(ctx context.Context, r *run.Run, _ []string) (run.Change, error) {
			slots, err := spec.FlowRate(r.Spec.Target, rate)
			if err != nil {
				return run.Change{}, cli.Config(err)
			}
			return r.SetRate(ctx, slots, time.Duration(over))
		})
	c.PreRunE = func(_ *cobra.Command, args []string) (err error) { // check the arguments before asking Redis
		if strings.EqualFold(args[1], "max") {
			return cli.Config(errors.New("set-rate: a run with a rate cannot become a closed loop; stop it, and create one with --qps max"))
		}
		if rate, err = pacer.ParseRate(args[1]); err != nil {
			return cli.Config(err)
		}
		if d := time.Duration(over); d != 0 && (d < run.MinRamp || d > run.MaxRamp) {
			return cli.Config(fmt.Errorf("--over: give a time from %v to %v, such as 30s", run.MinRamp, run.MaxRamp))
		}
		return nil
	}
	c.Long = `Change the rate of the whole cluster. RATE is the total of all workers, in requests per second:
500, 2.5k, 1M, 0.2, or a count per time such as 500/s, 30/m or 1/1d12h. 0 sends nothing.

Setting 100 and then 200 means 200. Stages still to come are cancelled; the planned end stays.
The new rate is in force on every worker some 20 ms after the command. The command prints when.
Until then loadctl status shows the old rate, on the way to the new one.

If flows have several steps, RATE counts requests, as --qps does, and status counts flows.`
	c.Example = "  loadctl set-rate checkout 500\n  loadctl set-rate checkout 2k --over 30s"
	c.Flags().Var(&over, "over", "reach the new rate by a linear ramp over this time")
	return c
}
