package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	server "github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
)

func newReportCommand(redis *cli.Redis) *cobra.Command {
	var out cli.Report
	var files []string
	c := &cobra.Command{
		Use:   "report RUN|FILE...",
		Short: "Print the report of a run, at any time",
		Long: `Print the merged report of all workers, at any time.

A worker that cannot publish its last counts to Redis saves them in a file and says so. --merge adds
such files. It may be repeated, and more files may follow: --merge loadctl-RUN-*.json. Counts that
Redis has of the same worker are not counted twice. If Redis or the run cannot be read, the report
covers the files alone, and says why.

An archive holds all data of a report: --out checkout.loadctl writes one. A name that ends in
.loadctl, or has a path separator, is an archive. It is read without Redis, and every format can be
made from it. Archives of several runs are combined if the runs were side by side and shared no
Redis. Counts and histograms are added up; the series are aligned by the time since each start.

For a finished run with thresholds the exit code is 0 if all passed, and 99 if one failed or is
undecided. It is 98 if the run is not valid: its generator may be the reason for a result, or counts
are missing.
Without thresholds it is 1 if no answer was as expected, or if the report is INCOMPLETE.`,
		Example: `  loadctl report checkout -o json
  loadctl report checkout --out checkout.loadctl
  loadctl report berlin.loadctl paris.loadctl
  loadctl report checkout --merge loadctl-checkout-*.json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && isFile(args[0]) {
				return checkFiles(c.Name(), args, files)
			}
			if len(files) > 0 {
				return cli.Args(cobra.MinimumNArgs(1))(c, args)
			}
			return oneReport(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.Check(); err != nil {
				return err
			}
			if isFile(args[0]) {
				out.Kept = true
				rep, err := combined(args)
				if err != nil {
					return err
				}
				return cmp.Or(out.Write(c.OutOrStdout(), rep), out.Concluded(rep))
			}
			rep, err := reportOf(c, redis, args[0], append(files, args[1:]...))
			if err != nil {
				return err
			}
			return cmp.Or(out.Write(c.OutOrStdout(), rep), out.Concluded(rep))
		},
	}
	c.Flags().StringArrayVar(&files, "merge", nil, "add the counts from a `FILE` that a worker saved because Redis was away; may be repeated")
	out.AddFlags(c)
	return c
}

// oneReport refuses more than the name of a run, and says what more files need.
func oneReport(c *cobra.Command, args []string) error {
	err := cli.Args(cobra.ExactArgs(1))(c, args)
	if len(args) > 1 {
		err = fmt.Errorf("%w; to add files that workers have saved, use --merge; write archives as ./NAME or NAME.loadctl", err)
	}
	return err
}

// reportOf returns the report of a run, with the counts in these files. Without files it needs Redis.
func reportOf(c *cobra.Command, redis *cli.Redis, name string, files []string) (report.Report, error) {
	var all []*results.Unpublished
	for _, file := range files {
		u, err := results.ReadUnpublished(file)
		if err != nil {
			return report.Report{}, cli.Config(fmt.Errorf("--merge: %w", err))
		}
		all = append(all, u)
	}
	rep, err := fromRedis(c.Context(), redis, name, all)
	if why := absent(redis, err); why != "" && len(all) > 0 {
		asked := err
		if rep, err = results.FromFiles(name, why, all); err == nil {
			printable.Fprintf(c.ErrOrStderr(), "%v; this report covers the files alone\n", asked)
		}
	}
	if len(files) > 0 {
		rep.SamplesIn = []string{name}
		for _, file := range files {
			rep.SamplesIn = append(rep.SamplesIn, "--merge", file)
		}
	}
	if errors.Is(err, results.ErrOtherRun) {
		err = cli.Config(err)
	}
	return rep, orFile(name, err)
}

func fromRedis(ctx context.Context, redis *cli.Redis, name string, all []*results.Unpublished) (report.Report, error) {
	client, r, err := redis.Open(ctx, name)
	if err != nil {
		return report.Report{}, err
	}
	defer cli.Close(client)
	return results.MergedReport(ctx, r, all)
}

// absent says why Redis told nothing about the run; "" if the error has another cause.
func absent(redis *cli.Redis, err error) string {
	_, unnamed := redis.Address()
	switch {
	case err == nil:
		return ""
	case unnamed != nil:
		return "no Redis was named"
	case errors.Is(err, run.ErrNoRun):
		return "the run is not in Redis"
	case link.Unanswered(err):
		return "Redis could not be reached"
	case errors.Is(err, spec.ErrBroken) || errors.Is(err, spec.ErrNewer) || errors.Is(err, spec.ErrOlder):
		return "the run's data in Redis cannot be read"
	}
	if answer, refused := errors.AsType[server.Error](err); refused {
		return fmt.Sprintf("Redis refused (%v)", answer)
	}
	return ""
}
