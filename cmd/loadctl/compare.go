package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/compare"
	"github.com/loadctl/loadctl/internal/printable"
	"github.com/loadctl/loadctl/report"
)

func newCompareCommand(redis *cli.Redis) *cobra.Command {
	var force bool
	var failOn []string
	var out cli.Documents
	c := &cobra.Command{
		Use:   "compare BASE OTHER...",
		Short: "Tell how runs differ, and how sure that is",
		Long: `Tell how runs differ from the first one, and how sure that is.

Each argument is a side: the name of a run, an archive (--out NAME.loadctl), or a report as JSON (a name with a path separator).
Several runs of the same side are separated by commas.

Each difference has an interval. All intervals of one OTHER hold together with 95 %: without any difference, 1 comparison in 20
at most has a row that seems to differ. The interval of one run comes from its seconds, blocks of which are drawn again and again
(moving-block bootstrap), because a slow second is followed by slow ones. One run a side tells how these two runs differ. To tell what a change
did, give 3 or more runs a side, taken in turns (a b a b a b).

With --fail-on, compare prints for each condition whether it is met. It exits with 99 if one is met: the difference exceeds
the bound and its interval excludes 0; or if there is no interval. It exits with 98 if none is met but one cannot be told:
a part of its interval exceeds the bound. Differences are relative; of errors:rate they are percentage points.

Runs that were asked for different things, or whose generator was the limit, are refused; --force shows them all the same.

For a pull request: -o markdown. For people: --out compare.html, a page with the percentile curves over one another that needs nothing else.`,
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
			result, err := compareSides(c, sides, rules, force)
			if err != nil {
				return err
			}
			return cmp.Or(writeComparison(c, &out, result), failedOn(result))
		},
	}
	out.AddFlags(c, "comparison", cli.Formats{Names: compare.Formats().Names(), Endings: compare.Formats().Endings(), Of: compare.Formats().Of})
	c.Flags().BoolVar(&force, "force", false, "compare even if settings differ, or if a generator was the limit")
	c.Flags().StringArrayVar(&failOn, "fail-on", nil, "exit with 99 at this `DIFFERENCE`, such as 'latency:p(99)>+10%'; may be repeated")
	return c
}

// parseRules reads --fail-on.
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

// readSides reads what the arguments name.
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

// countOnce refuses a run of which a side has a part already: a run that is given three times seems to be sure. counted has the run of each
// process that was seen.
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
		return readReport(name)
	}
	return fromRedis(c.Context(), redis, name, nil)
}

// compareSides compares each side with the first, if they fit together.
func compareSides(c *cobra.Command, sides []compare.Side, rules []compare.Rule, force bool) (compare.Comparison, error) {
	result := compare.New(sides[0], sides[1:]...)
	if len(result.Warnings) > 0 && !force {
		return result, cli.Config(fmt.Errorf("%s; --force compares all the same", strings.Join(result.Warnings, "; ")))
	}
	for _, doubt := range result.Warnings {
		printable.Fprintf(c.ErrOrStderr(), "warning: %s\n", doubt)
	}
	result.Judge(rules)
	return result, nil
}

// writeComparison writes it as the flags say.
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

// failedOn is the error of a condition of --fail-on that is met, or may be; nil if there is none.
func failedOn(result compare.Comparison) error {
	if len(result.Failed) > 0 {
		return cli.Failed(errors.New(strings.Join(result.Failed, "; ")))
	}
	if open := result.Open(); len(open) > 0 {
		return cli.Unproved(fmt.Errorf("%s; compare longer runs, or more of them", strings.Join(open, "; ")))
	}
	return nil
}
