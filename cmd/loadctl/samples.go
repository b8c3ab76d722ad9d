package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/report/samples/show"
)

func newSamplesCommand(redis *cli.Redis) *cobra.Command {
	var out cli.Documents
	var wanted show.Filter
	var merged []string
	var ordinal uint64
	c := &cobra.Command{
		Use:   "samples RUN|FILE...",
		Short: "Show some requests of a run: those that failed, the slowest",
		Long: `Show some requests of a run, at any time: what was sent, what came, and how long each part took.

Of each class of failures and step the workers keep the first three requests and five at random. Of
each step they keep the ten slowest of the fleet, and five good ones at random. What may be a secret
is redacted. The table has a row for each; --ordinal shows one in full.

-o har is for the tools of browsers, and -o curl for a shell: a command for each request that sends
the same bytes again. A FILE is an archive, as report --out NAME.loadctl writes it.`,
		Example: `  loadctl samples checkout --class status
  loadctl samples checkout --ordinal 48213
  loadctl samples checkout --slowest --out slowest.har
  loadctl samples checkout.loadctl --step pay -o curl`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && isFile(args[0]) {
				return checkFiles(c.Name(), args, merged)
			}
			return cli.Args(cobra.ExactArgs(1))(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.Check(); err != nil {
				return err
			}
			if c.Flags().Changed("ordinal") {
				wanted.Ordinal = &ordinal
			}
			found, err := readSamples(c, redis, args, merged)
			if err != nil {
				return err
			}
			if found.unread != "" {
				printable.Fprintf(c.ErrOrStderr(), "%s\n", found.unread)
			} else if len(found.all) == 0 {
				printable.Fprintf(c.ErrOrStderr(), "%s has no samples: %s\n", found.run, found.whyNone())
			}
			chosen, err := wanted.Choose(found.all)
			if err != nil {
				return cli.Config(fmt.Errorf("samples: %w", err))
			}
			if len(found.all) > 0 && len(chosen) == 0 {
				printable.Fprintf(c.ErrOrStderr(), "%s has no such sample: no request that was kept failed\n", found.run)
			}
			return writeSamples(c, &out, show.Selection{
				Run: found.run, Samples: chosen, Whole: wanted.Ordinal != nil, Program: c.Root().Name(), Version: c.Root().Version,
			})
		},
	}
	f := show.Formats()
	out.AddFlags(c, "samples", cli.Formats{Names: f.Names(), Endings: f.Endings(), Of: f.Of, Page: "docs/samples.md#formats"})
	c.Flags().StringVar(&wanted.Class, "class", "", "only requests that failed like this, such as status or timeout")
	c.Flags().StringVar(&wanted.Step, "step", "", "only requests of this step of a workload")
	c.Flags().BoolVar(&wanted.Slowest, "slowest", false, "only those that are among the slowest of their step, the slowest first")
	c.Flags().Uint64Var(&ordinal, "ordinal", 0, "only the request of slot `N`, in full")
	c.Flags().StringArrayVar(&merged, "merge", nil, "add the samples from a `FILE` that a worker saved because Redis was away; may be repeated")
	return c
}

// foundSamples are the samples of a run.
type foundSamples struct {
	run    string
	flags  []string // that describe the run
	all    []samples.Sample
	unread string // as in results.Samples
}

// readSamples reads samples from files, or from Redis.
func readSamples(c *cobra.Command, redis *cli.Redis, args, merged []string) (foundSamples, error) {
	switch {
	case isFile(args[0]):
		rep, err := combined(args)
		return foundSamples{rep.Run, rep.Described.Flags, rep.Samples, ""}, err
	case len(merged) > 0:
		rep, err := reportOf(c, redis, args[0], merged)
		return foundSamples{rep.Run, rep.Described.Flags, rep.Samples, ""}, err
	}
	client, r, err := redis.Open(c.Context(), args[0])
	if err != nil {
		return foundSamples{}, orFile(args[0], err)
	}
	defer cli.Close(client)
	set, unread, err := results.Samples(c.Context(), r)
	return foundSamples{r.Name, r.Spec.Setting().Flags, set.Samples, unread}, err
}

// whyNone says why there are no samples.
func (f foundSamples) whyNone() string {
	if i := slices.Index(f.flags, "--sample"); i >= 0 && i+1 < len(f.flags) && f.flags[i+1] == "none" {
		return "it was created with --sample none"
	}
	return "no request has ended yet, or its workers are of a version that keeps none"
}

// writeSamples writes the samples in the formats that the flags ask for.
func writeSamples(c *cobra.Command, out *cli.Documents, selected show.Selection) error {
	return out.Write(c.OutOrStdout(), func(format string) ([]byte, error) {
		render, err := show.Formats().Renderer(format)
		if err != nil {
			return nil, err
		}
		if note := show.Note(format, selected); note != "" {
			printable.Fprintf(c.ErrOrStderr(), "%s\n", note)
		}
		var text bytes.Buffer
		err = render(&text, selected)
		return text.Bytes(), err
	})
}
