//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	// Children die with the thread that started them, which is this one, and it lasts as long as the process.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command is what the command line asks for: the benchmark, or one of the parts that are processes of their own.
func command(ctx context.Context, args []string) error {
	if len(args) > 0 {
		if part, ok := parts()[args[0]]; ok {
			return part(args[1:])
		}
	}
	return benchmark(ctx, args)
}

// parts are what this program runs as processes of their own, each on a core that its parent chooses.
func parts() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"crowd":    crowdPart,
		"endpoint": endpointPart,
		"renewal":  renewalPart,
		"record":   recordPart,
		"spin":     spinPart,
		"throng":   throngPart,
	}
}

// An experiment answers one question. It writes its tables, plots and goals to the section.
type experiment struct {
	name string // of the flag, and of the place in the document
	what string
	run  func(ctx context.Context, b *bench, s *section) error
}

// experiments are all there are, in the order in which they run.
func experiments() []experiment {
	return []experiment{
		{"saturation", "as fast as it goes, on one core", saturation},
		{"tls", "the same with TLS", saturationTLS},
		{"rate", "at 1,000, 10,000 and 50,000 requests a second", rates},
		{"omission", "what is reported of an endpoint that stalls", omission},
		{"sharing", "what it costs to share one rate among processes", sharing},
		{"fleet", "what 100 workers cost Redis", fleet},
		{"scale", "what 1,000 to 10,000 workers cost Redis, and how soon they hear of a command", scale},
		{"renewal", "renewals, beside another limiter", renewals},
		{"record", "recording a request, merging snapshots", records},
	}
}

func benchmark(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("run", "", "`NAMES` of experiments, with commas between; default: all")
	out := flags.String("out", "", "write into the marked places of this Markdown `FILE`, and plots beside it; default: print")
	quick := flags.Bool("quick", false, "one short round each, to see that it works; the figures mean nothing")
	rounds := flags.Int("rounds", 5, "how often each contender has its turn")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "Measures loadctl beside other load generators. Needs Linux, two cores, redis-server.\n\nExperiments:")
		for _, e := range experiments() {
			fmt.Fprintf(flags.Output(), "  %-11s %s\n", e.name, e.what)
		}
		fmt.Fprintln(flags.Output(), "\nFlags:")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if *rounds < 1 || flags.NArg() > 0 {
		return errors.New("-rounds: give a number from 1 on, and nothing after the flags")
	}
	b, err := open(ctx, options{rounds: *rounds, quick: *quick})
	if err != nil {
		return err
	}
	defer b.close()
	return b.report(ctx, chosen, *out)
}

// choose are the experiments with these names; all for none.
func choose(names string) ([]experiment, error) {
	all := experiments()
	if names == "" {
		return all, nil
	}
	var chosen []experiment
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(e experiment) bool { return e.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-run %s: there is no such experiment; -h lists them", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
