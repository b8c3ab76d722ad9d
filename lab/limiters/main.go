// Command limiters uses each limiter for some seconds, one after the other, and compares what a server saw with what the
// limiter promises: in runs of two workers, with and without --spread, and in a rush of callers that take all they can
// get. Workers and server are inside this process, on free ports of 127.0.0.1. So is Redis, unless --redis names one.
//
//	go -C lab run ./limiters                                                       # all of them
//	go -C lab run ./limiters token-bucket --qps 1k --plot "$PWD/token-bucket.svg"  # one, with a chart
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/limiters"
	"github.com/loadctl/loadctl/internal/console/runflags"
	"github.com/loadctl/loadctl/internal/fleet/embedded"
	"github.com/loadctl/loadctl/pacer"
)

func main() {
	os.Exit(cli.Main(newCommand(), os.Args[1:], os.Stdout, os.Stderr))
}

func newCommand() *cobra.Command {
	var redis cli.Redis
	var output cli.Output
	var measuring measureFlags
	c := &cobra.Command{
		Use:   "limiters [NAME…]",
		Short: "Measure what the limiters do",
		Long: `Use each limiter for some seconds, one after the other, and compare what a server saw with what the limiter promises.
If a limiter lets more pass than it promises, the exit code is 1.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, names []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			chosen, err := limiters.Named(names...)
			if err != nil {
				return cli.Config(err)
			}
			if err := measuring.check(); err != nil {
				return cli.Config(err)
			}
			return measuring.run(c, &redis, &output, chosen)
		},
	}
	redis.AddFlags(c, "")
	output.AddFlags(c, "text", "json")
	measuring.AddFlags(c)
	return cli.Patient(c) // workers finish what they have begun
}

// errBeyond says that a limiter broke its promise.
var errBeyond = errors.New("more arrived than the limiter promises; please report this as a bug")

// The bounds of a measurement: enough to show an effect, too little to overload a machine.
const (
	leastMeasured, mostMeasured = 2 * time.Second, time.Minute
	leastQPS, mostQPS           = 10, 20_000
	mostBurst                   = 20_000
	leastWindow                 = 20 * time.Millisecond // workers ask at most once every 5 ms
)

// measured is the result of a measurement.
type measured struct {
	QPS      int64         `json:"qps"` // of all workers or callers together
	Duration time.Duration `json:"duration_ns"`
	Window   time.Duration `json:"window_ns"` // of the limiters that have one
	Burst    int64         `json:"burst"`     // of those that have one
	Redis    string        `json:"redis"`     // embedded or given
	Seen     []Seen        `json:"seen"`
}

// measureFlags are the settings of a measurement.
type measureFlags struct {
	qps      string
	duration cli.Duration
	burst    runflags.Count
	window   cli.Duration
	plot     cli.File

	rate int64
}

func (f *measureFlags) AddFlags(c *cobra.Command) {
	f.duration, f.window = cli.Duration(3*time.Second), cli.Duration(time.Second)
	c.Flags().StringVar(&f.qps, "qps", "500", "`RATE` of all workers or callers together, 10 to 20k per second")
	c.Flags().Var(&f.duration, "duration", "how long to measure each limiter, 2s to 1m")
	c.Flags().Var(&f.burst, "burst", "burst of limiters that have one, 1 to 20k requests (default: half a second of the rate)")
	c.Flags().Var(&f.window, "window", "window of limiters that count in windows, 20ms to half of --duration")
	c.Flags().StringVar((*string)(&f.plot), "plot", "", "write a chart of arrivals per 10 ms to `FILE`, as SVG")
}

// check validates the flags.
func (f *measureFlags) check() error {
	rate, err := pacer.ParseRate(f.qps)
	if err != nil {
		return fmt.Errorf("--qps: %w", err)
	}
	if rate.Den != 1 || rate.Num < leastQPS || rate.Num > mostQPS {
		return fmt.Errorf("--qps %.40q: give a whole number of requests per second from %d to %d, such as 500", f.qps, leastQPS, mostQPS)
	}
	f.rate = rate.Num
	if d := time.Duration(f.duration); d < leastMeasured || d > mostMeasured {
		return fmt.Errorf("--duration: give a time from %v to %v, such as 3s", leastMeasured, mostMeasured)
	}
	return cmp.Or(f.checkLimits(), f.plot.Check("plot"))
}

// checkLimits refuses a burst above mostBurst. It also refuses a window that is too short, too long, or holds no whole
// number of requests.
func (f *measureFlags) checkLimits() error {
	window, longest := time.Duration(f.window), time.Duration(f.duration)/2
	whole := time.Duration(big.NewRat(f.rate, time.Second.Microseconds()).Denom().Int64()) * time.Microsecond // the shortest window that holds a whole number
	switch {
	case f.burst > mostBurst:
		return fmt.Errorf("--burst: give a number of requests from 1 to %d", mostBurst)
	case window < leastWindow || window > longest:
		return fmt.Errorf("--window: give a time from %v to %v, half of --duration, such as 1s", leastWindow, longest)
	case window%whole != 0:
		return fmt.Errorf("--window %v: at %d requests per second it holds no whole number of requests; give a multiple of %v, such as 1s", window, f.rate, whole)
	}
	return nil
}

// run measures the chosen limiters and prints the result.
func (f *measureFlags) run(c *cobra.Command, redis *cli.Redis, output *cli.Output, chosen []limiters.Limiter) error {
	m := Measurement{QPS: f.rate, Duration: time.Duration(f.duration), Window: time.Duration(f.window)}
	m.Burst = cmp.Or(int64(f.burst), DefaultBurst(f.rate))
	done := measured{QPS: m.QPS, Duration: m.Duration, Window: m.Window, Burst: m.Burst, Redis: "given"}
	if err := redis.Check(); err != nil {
		return err
	}
	if addresses, ok := redis.Embedded(); ok {
		server, err := embedded.Start(addresses[len(addresses)-1])
		if err != nil {
			return cli.Config(err)
		}
		defer cli.Close(server)
		m.Redis, done.Redis = server.URL(), "embedded"
	} else {
		var err error
		if m.Redis, err = f.reachable(c.Context(), redis); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.ErrOrStderr(), "%s/s for %v each, windows of %v, bursts of %d, Redis %s\n", f.qps, m.Duration, m.Window, done.Burst, done.Redis)
	var err error
	done.Seen, err = m.Run(c.Context(), chosen, func(s Seen) { fmt.Fprintln(c.ErrOrStderr(), s.Line()) })
	if err != nil {
		return err
	}
	fmt.Fprintln(c.ErrOrStderr())
	if err := f.draw(done.Seen); err != nil {
		return err
	}
	if err := output.Print(c.OutOrStdout(), done, func(w io.Writer) error { return WriteSeen(w, done.Seen) }); err != nil {
		return err
	}
	return beyond(done.Seen)
}

// reachable returns the address of the named server after it has answered.
func (f *measureFlags) reachable(ctx context.Context, redis *cli.Redis) (string, error) {
	client, err := redis.Connect(ctx)
	if err != nil {
		return "", err
	}
	cli.Close(client)
	return redis.Address()
}

// draw writes the plot to the file of --plot.
func (f *measureFlags) draw(seen []Seen) error {
	if f.plot == "" {
		return nil
	}
	if err := f.plot.Write([]byte(Plot(seen, time.Duration(f.window)))); err != nil {
		return fmt.Errorf("--plot: %w; give a file in a writable directory", err)
	}
	return nil
}

// beyond returns an error if a limiter let more pass than it promises.
func beyond(seen []Seen) error {
	var who []string
	for _, s := range seen {
		if !s.Within && !slices.Contains(who, s.Title()) {
			who = append(who, s.Title())
		}
	}
	if len(who) == 0 {
		return nil
	}
	return fmt.Errorf("measure %s: %w", strings.Join(who, ", "), errBeyond)
}
