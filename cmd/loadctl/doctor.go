package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/doctor"
	"github.com/loadctl/loadctl/internal/printable"
)

// doctorTime bounds all checks together. Cleaning up on a server that hangs may take 2 s more.
const doctorTime = 8 * time.Second

// diagnosis is the output of doctor.
type diagnosis struct {
	OK       bool             `json:"ok"` // no finding is bad
	Findings []doctor.Finding `json:"findings"`
}

func newDoctorCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	var connections, workers int
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and Redis, and say how to fix problems",
		Long: `Check this machine and the Redis server the way a worker will use them: limits, version, clock,
memory, permissions. To check Redis, doctor creates a run and removes it at once. Without --redis,
doctor checks only this machine.

The exit code is 0 if no finding is bad. There may still be warnings.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			if connections < 1 || connections > 1_000_000 {
				return cli.Config(errors.New("--max-connections: give a number from 1 to 1000000"))
			}
			if workers < 0 || workers > 1_000_000 {
				return cli.Config(errors.New("--expect-workers: give a number from 1 to 1000000, or 0 for none"))
			}
			findings := append(diagnoseRedis(c.Context(), redis, workers), doctor.Machine(connections, workers)...)
			if c.Context().Err() != nil {
				return context.Cause(c.Context())
			}
			problems := doctor.Problems(findings)
			d := diagnosis{problems == 0, findings}
			if err := output.Print(c.OutOrStdout(), d, func(w io.Writer) error { return printFindings(w, findings) }); err != nil {
				return err
			}
			return problemError(problems)
		},
	}
	output.AddFlags(c, "text", "json")
	c.Flags().IntVar(&connections, "max-connections", 1000, "how many connections a worker on this machine will open")
	c.Flags().IntVar(&workers, "expect-workers", 0,
		"check that Redis takes `N` workers (maxclients), and that this machine allows a Redis as many descriptors; 0 = not checked")
	return c
}

// diagnoseRedis checks the given server, for this many workers. A missing --redis is a finding too.
func diagnoseRedis(ctx context.Context, redis *cli.Redis, workers int) []doctor.Finding {
	if _, err := redis.Address(); err != nil {
		return []doctor.Finding{{
			Check: "reachable", State: doctor.Warn,
			Found: "no Redis given: only this machine was checked", Mend: "give --redis redis://host:port, or set LOADCTL_REDIS",
		}}
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	redis.Warn(nil) // the finding says it
	client, err := redis.Connect(ctx)
	if err != nil {
		return []doctor.Finding{doctor.Unreachable(err)}
	}
	defer cli.Close(client)
	return doctor.Redis(ctx, client, workers)
}

func problemError(n int) error {
	switch n {
	case 0:
		return nil
	case 1:
		return cli.Config(errors.New("doctor found 1 problem; fix it and run doctor again"))
	default:
		return cli.Config(fmt.Errorf("doctor found %d problems; fix them and run doctor again", n))
	}
}

// printFindings prints a line for each finding, and below it what to do.
func printFindings(w io.Writer, findings []doctor.Finding) error {
	mark := map[string]string{doctor.OK: "ok", doctor.Warn: "warn", doctor.Bad: "BAD"}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		printable.Fprintf(t, "%s\t%s\t%s\n", mark[f.State], f.Check, f.Found)
		if f.Mend != "" {
			printable.Fprintf(t, "\t\t  %s\n", f.Mend)
		}
	}
	return t.Flush()
}
