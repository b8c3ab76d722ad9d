package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/limiters"
)

// explained is what limiters prints.
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
		Long: `Compare the limiters that a run can have (--limiter) and the library pacer/limit has: what each promises, what it costs, when
to take it. With names, only those.

With --measure each is used for some seconds, one after the other, and what a server saw is held against what it promises:
runs of two workers, with and without --spread, and a rush of callers that take all they get. Workers, server and, unless --redis or
LOADCTL_REDIS names one, Redis are inside this process, on free ports of 127.0.0.1. Nothing is left behind but, in a Redis that was
named, some keys for some seconds. A limiter that lets more pass than it promises is an error, exit code 1.`,
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
	return cli.Patient(c) // workers end what they have begun
}

// errBeyond says that a limiter does not keep what it promises.
var errBeyond = errors.New("more arrived than the limiter promises; please report this as a bug")
