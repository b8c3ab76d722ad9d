package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/limiters"
)

// explained is the output of limiters.
type explained struct {
	Limiters []limiters.Limiter `json:"limiters"`
	Measured *measured          `json:"measured,omitempty"` // with --measure
}

func newLimitersCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	var measuring measureFlags
	c := &cobra.Command{
		Use:   "limiters [NAME…]",
		Short: "Compare the limiters, or measure what they do",
		Long: `Compare the limiters of runs (--limiter) and of the library pacer/limit: what each promises, what it
costs, and when to use it. Names select some of them.

With --measure, loadctl uses each limiter for some seconds, one after the other. It compares what a
server saw with what the limiter promises: in runs of two workers, with and without --spread, and in
a rush of callers that take all they can get. Workers and server are inside this process, on free
ports of 127.0.0.1. So is Redis, unless --redis or LOADCTL_REDIS names one; there some keys remain
for some seconds. If a limiter lets more pass than it promises, the exit code is 1.`,
		Example: "  loadctl limiters\n  loadctl limiters --measure token-bucket --qps 1k --plot token-bucket.svg",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, names []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			chosen, err := limiters.Named(names...)
			if err != nil {
				return cli.Config(err)
			}
			if err := measuring.check(c); err != nil {
				return cli.Config(err)
			}
			if measuring.on {
				return measuring.run(c, redis, &output, chosen)
			}
			return output.Print(c.OutOrStdout(), explained{Limiters: chosen}, func(w io.Writer) error { return limiters.WriteTable(w, chosen) })
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return limiters.Names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	output.AddFlags(c, "text", "json")
	measuring.AddFlags(c)
	return cli.Patient(c) // workers finish what they have begun
}

// errBeyond says that a limiter broke its promise.
var errBeyond = errors.New("more arrived than the limiter promises; please report this as a bug")
