package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/compare"
	"github.com/loadctl/loadctl/report"
)

func newCompareCommand(redis *cli.Redis) *cobra.Command {
	var force bool
	var failOn []string
	var out cli.Documents
	c := &cobra.Command{
		Use:   "compare BASE OTHER...",
		Short: "Show how runs differ, with confidence intervals",
		Long: `Show how runs differ from the first one, with confidence intervals.

Each argument is a side: the name of a run, an archive (--out NAME.loadctl), or a report as JSON (a
name with a path separator). Separate several runs of one side by commas.

Each difference has an interval. The intervals of one OTHER hold together with 95 %: if nothing
differs, at most 1 comparison in 20 has a row that seems to differ. The interval of a single run
comes from its seconds: blocks of them are drawn again and again (moving-block bootstrap), because a
slow second is followed by slow ones. One run a side tells how these two runs differ. To tell what a
change did, give 3 or more runs a side, taken in turns (a b a b a b).

With --fail-on, compare prints whether each condition is met. The exit code is 99 if a condition is
met: the difference exceeds the bound and its interval excludes 0. It is also 99 if a condition has
no interval. It is 98 if no condition is met but one is undecided: a part of its interval exceeds
the bound. Differences are relative; those of errors:rate and goodput:rate are
percentage points.

Runs with different settings are refused, and so are runs whose generator was the limit. --force
compares them anyway.

For a pull request use -o markdown. For people use --out compare.html, a self-contained page that
lays the percentile curves over one another.`,
		Example: `  loadctl compare before.loadctl after.loadctl
  loadctl compare a1.loadctl,a2.loadctl,a3.loadctl b1.loadctl,b2.loadctl,b3.loadctl
  loadctl compare before.loadctl after.loadctl --fail-on 'latency:p(99)>+10%' -o markdown
  loadctl compare before.loadctl after.loadctl --out compare.html`,
		Args: cli.Args(cobra.MinimumNArgs(2)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.Check(); err != nil {
				return err
			}
			rules, err := parseRules(failOn)
			if err != nil {
				return err
			}
			sides, err := readSides(c, redis, args)
			if err != nil {
				return err
			}
			result, err := compareSides(sides, rules, force)
			if err != nil {
				return err
			}
			warnFiles(c, &out, result)
			return cmp.Or(writeComparison(c, &out, result), failedOn(result))
		},
	}
	out.AddFlags(c, "comparison", cli.Formats{Names: compare.Formats().Names(), Endings: compare.Formats().Endings(), Of: compare.Formats().Of})
	c.Flags().BoolVar(&force, "force", false, "compare even if settings differ, or if a generator was the limit")
	c.Flags().StringArrayVar(&failOn, "fail-on", nil, "exit with 99 at this `DIFFERENCE`, such as 'latency:p(99)>+10%'; may be repeated")
	return c
}

// parseRules parses the values of --fail-on.
func parseRules(texts []string) ([]compare.Rule, error) {
	var rules []compare.Rule
	for _, text := range texts {
		rule, err := compare.ParseRule(text)
		if err != nil {
			return nil, cli.Config(fmt.Errorf("--fail-on: %w", err))
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// readSides reads the runs that the arguments name.
func readSides(c *cobra.Command, redis *cli.Redis, args []string) ([]compare.Side, error) {
	var sides []compare.Side
	for _, arg := range args {
		side, counted := compare.Side{Name: arg}, map[string]string{}
		for name := range strings.SplitSeq(arg, ",") {
			rep, err := readRun(c, redis, name)
			if err != nil {
				return nil, err
			}
			if err := countOnce(counted, name, rep); err != nil {
				return nil, err
			}
			side.Runs = append(side.Runs, rep)
		}
		sides = append(sides, side)
	}
	return sides, nil
}

// countOnce refuses a run that its side has already: the same run counted three times would look three times as
// certain. counted maps each process seen to its run.
func countOnce(counted map[string]string, name string, rep report.Report) error {
	for _, w := range rep.Workers {
		process := w.ID + "/" + w.Incarnation
		if other, twice := counted[process]; twice {
			return cli.Config(fmt.Errorf("compare: %.200s and %.200s are the same run; give each run of a side once", other, name))
		}
		counted[process] = name
	}
	return nil
}

// readRun reads one run, from a file or from Redis.
func readRun(c *cobra.Command, redis *cli.Redis, name string) (report.Report, error) {
	if isFile(name) {
		return cli.ReadReport(name)
	}
	rep, err := fromRedis(c.Context(), redis, name, nil)
	return rep, orFile(name, err)
}

// compareSides compares each side with the first. It refuses sides that do not fit together, unless force is set.
func compareSides(sides []compare.Side, rules []compare.Rule, force bool) (compare.Comparison, error) {
	result := compare.New(sides[0], sides[1:]...)
	if len(result.Warnings) > 0 && !force {
		return result, cli.Config(fmt.Errorf("%s; --force compares them anyway", strings.Join(result.Warnings, "; ")))
	}
	result.Judge(rules)
	return result, nil
}

// warnFiles prints the warnings of a comparison that goes into files alone. Each format has them too, so elsewhere the
// user would read them twice.
func warnFiles(c *cobra.Command, out *cli.Documents, result compare.Comparison) {
	if out.Shown() {
		return
	}
	for _, doubt := range result.Warnings {
		cli.Warn(c, "%s", doubt)
	}
}

// writeComparison writes the result in the formats that the flags ask for.
func writeComparison(c *cobra.Command, out *cli.Documents, result compare.Comparison) error {
	return out.Write(c.OutOrStdout(), func(format string) ([]byte, error) {
		render, err := compare.Formats().Renderer(format)
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		err = render(&text, result)
		return text.Bytes(), err
	})
}

// failedOn returns an error if a condition of --fail-on is met or undecided; else nil.
func failedOn(result compare.Comparison) error {
	if len(result.Failed) > 0 {
		return cli.Failed(errors.New(strings.Join(result.Failed, "; ")))
	}
	if open := result.Open(); len(open) > 0 {
		return cli.Unproved(fmt.Errorf("%s; compare longer runs, or more of them", strings.Join(open, "; ")))
	}
	return nil
}
