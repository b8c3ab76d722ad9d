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
	// The kernel kills children when the thread that started them ends. This thread lasts as long as the process.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command runs what the command line asks for: the benchmark, or one of its parts.
func command(ctx context.Context, args []string) error {
	if len(args) > 0 {
		if part, ok := parts()[args[0]]; ok {
			return part(args[1:])
		}
	}
	return benchmark(ctx, args)
}

// parts returns the parts of the benchmark that run as processes of their own, each on a core that its parent chooses.
func parts() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"bare-sse":  bareEventsPart,
		"crowd":     crowdPart,
		"endpoint":  endpointPart,
		"plain-h3":  plainThreePart,
		"plain-sse": plainEventsPart,
		"renewal":   renewalPart,
		"record":    recordPart,
		"spin":      spinPart,
		"throng":    throngPart,
	}
}

// An experiment answers one question. It writes its tables, plots and goals to the section.
type experiment struct {
	name string // in the flag -run, and in the marks of the document
	what string
	run  func(ctx context.Context, b *bench, s *section) error
}

// experiments returns all experiments, in the order in which they run.
func experiments() []experiment {
	return []experiment{
		{"saturation", "the highest rate of each tool, on one core", saturation},
		{"tls", "the same with TLS", saturationTLS},
		{"h3", "the same over HTTP/3, beside a plain client of quic-go", saturationThree},
		{"http2", "the highest rate over HTTP/2, on one core", saturationHTTP2},
		{"http2-tls", "the same with TLS, where k6 speaks HTTP/2 too", saturationHTTP2TLS},
		{"grpc", "the highest rate over gRPC beside ghz, on one core", saturationGRPC},
		{"filling", "the cost of requests that are filled and checked", filling},
		{"workload", "data files and checks beside k6, a targets file beside vegeta", workloads},
		{"sockets", "messages of WebSocket beside k6, lines over TCP, datagrams, commands of Redis beside redis-benchmark", sockets},
		{"streams", "answers with events beside a plain client of net/http, and k6", streams},
		{"tls-rate", "at 10,000 requests a second, with TLS beside without", ratesTLS},
		{"rate", "at 1,000, 10,000 and 50,000 requests a second", rates},
		{"omission", "the latencies that each tool reports of an endpoint that stalls", omission},
		{"sharing", "the cost of sharing one rate among processes", sharing},
		{"fleet", "the load of 100 workers on Redis", fleet},
		{"scale", "the load of 1,000 to 10,000 workers on Redis, and how soon they receive a command", scale},
		{"renewal", "the cost of a renewal, beside a call of another limiter", renewals},
		{"record", "the cost of recording a request and of merging snapshots", records},
	}
}

func benchmark(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("run", "", "comma-separated `NAMES` of experiments; default: all")
	out := flags.String("out", "", "write into the marked places of this Markdown `FILE`, and write plots beside it; default: print")
	quick := flags.Bool("quick", false, "one short round each, to see that it works; the figures mean nothing")
	against := flags.String("against", "", "compare with this `FILE`, a loadworker built from another commit; only with -run saturation,tls")
	rounds := flags.Int("rounds", 5, "number of rounds; each contender has one turn a round")
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
		return errors.New("give -rounds a number of at least 1, and no arguments after the flags")
	}
	if *against != "" && slices.ContainsFunc(chosen, func(e experiment) bool { return e.name != "saturation" && e.name != "tls" }) {
		return errors.New("-against compares only what -run saturation,tls measures; name one or both of these")
	}
	if *against != "" && *out != "" {
		return errors.New("-against would replace the document's comparison with other tools; leave out -out")
	}
	b, err := open(ctx, options{rounds: *rounds, quick: *quick, against: *against})
	if err != nil {
		return err
	}
	defer b.close()
	return b.report(ctx, chosen, *out)
}

// choose returns the experiments with these names; all of them if names is empty.
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
