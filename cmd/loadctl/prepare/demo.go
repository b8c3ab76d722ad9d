package prepare

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/demo"
	"github.com/loadctl/loadctl/pacer"
)

// NewDemoCommand returns the command that runs a fleet on this machine through changes and a crash.
func NewDemoCommand() *cobra.Command {
	var qps string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show in 15 seconds what loadctl does",
		Long: `Show in 15 seconds what loadctl does, on this machine and without Redis.

Three loadworker processes share a rate. The rate changes while they run, one worker is killed and
removed, and another joins. The result shows for each second how many requests were asked for and
how many arrived. Redis and the target run inside this process, on free ports of 127.0.0.1. Nothing
is left behind.`,
		Example: "  loadctl demo\n  loadctl demo --qps 5k",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			rate, err := demoRate(c, qps)
			if err != nil {
				return cli.Config(err)
			}
			worker, err := demo.FindWorker()
			if err != nil {
				return cli.Config(err)
			}
			return demo.Run(c.Context(), demo.Options{QPS: rate, Worker: worker, Out: c.OutOrStdout(), Err: c.ErrOrStderr()})
		},
	}
	cli.Patient(c) // it ends its workers
	c.Flags().StringVar(&qps, "qps", "1k", "first `RATE` of the WHOLE CLUSTER, 10 to 20k per second; later 3 times and half of it")
	return c
}

// demoRate returns the rate to begin with, in requests per second.
func demoRate(c *cobra.Command, qps string) (int64, error) {
	if redis := c.Flag("redis"); redis != nil && redis.Changed {
		return 0, errors.New("--redis: the demo starts its own Redis; leave the flag out")
	}
	rate, err := pacer.ParseRate(qps)
	if err != nil {
		return 0, fmt.Errorf("--qps: %w", err)
	}
	if rate.Den != 1 || rate.Num < demo.MinQPS || rate.Num > demo.MaxQPS {
		return 0, fmt.Errorf("--qps %.40q: give a whole number of requests per second from %d to %d, such as 1k", qps, demo.MinQPS, demo.MaxQPS)
	}
	return rate.Num, nil
}
