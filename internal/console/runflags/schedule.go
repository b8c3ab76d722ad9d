package runflags

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
)

// Schedule has the flags that say at which rate a run sends, and for how long.
type Schedule struct {
	qps, rate, profile string
	duration           cli.Duration
	stages             []string
	concurrency        concurrency
}

// AddFlags adds them to a command that needs no other part of a run's description.
func (f *Schedule) AddFlags(c *cobra.Command) {
	set := pflag.NewFlagSet("schedule", pflag.ContinueOnError)
	f.addFlags(set)
	cli.Group(set, "Run")
	c.Flags().AddFlagSet(set)
	f.complete(c)
}

func (f *Schedule) addFlags(s *pflag.FlagSet) {
	s.StringVar(&f.qps, "qps", "", "requests per second of the WHOLE CLUSTER: 500, 2.5k, 1M, 0.2, 30/m. With --stage the `RATE` to start from. "+
		"max: a closed loop, as fast as it goes (docs/max.md)")
	s.StringVar(&f.rate, "rate", "", "same as --qps")
	s.Var(&f.duration, "duration", "length of the run, such as 30s, 1h30m or 2d; 0 = until stopped")
	s.Var(&f.concurrency, "concurrency", "closed loop, instead of a rate: the WHOLE CLUSTER has `N` requests in flight, and sends the next one when one has "+
		"ended (docs/max.md)")
	s.StringArrayVar(&f.stages, "stage", nil, "`DURATION:RATE`: linear ramp to RATE of the whole cluster, such as 30s:200. "+
		"DURATION:c=N: closed loop with N requests in flight, such as 60s:c=64. May be repeated")
	s.StringVar(&f.profile, "profile", "", "rate over time, instead of --qps: steps:from=100,to=500,by=100,every=30s, sine:mean=1k,amplitude=400,period=1m, "+
		"spike:base=100,peak=1k,every=5m,for=30s, or replay:FILE of a CSV file or an access log. See docs/workloads.md#rates-over-time")
}

// rules reports whether a flag says the rate. Then nothing else does.
func (f *Schedule) rules() bool {
	return f.qps != "" || f.rate != "" || len(f.stages) > 0 || f.profile != "" || f.concurrency > 0
}

// complete makes a shell complete the names of profiles.
func (f *Schedule) complete(c *cobra.Command) {
	cli.Complete(c, "profile", cli.CompleteProfile)
}

// Spec returns a spec that has only a schedule. It is checked. A profile in place of --profile may be given as an
// argument; "" is none. Errors are errors of configuration.
func (f *Schedule) Spec(profile string) (spec.Spec, error) {
	var s spec.Spec
	if profile == "" && !f.rules() {
		return s, cli.Config(errors.New("give a profile, such as sine:mean=1k,amplitude=400,period=1m, or --qps or --stage"))
	}
	if profile != "" && f.profile != "" {
		return s, cli.Config(errors.New("--profile and a profile as the argument: give one of them"))
	}
	given := *f
	if profile != "" {
		given.profile = profile
	}
	err := given.set(&s)
	if err == nil {
		err = s.ValidateSchedule()
	}
	return s, cli.Config(err)
}

// set writes the values of the flags into a spec. It reads the file that a profile names.
func (f *Schedule) set(s *spec.Spec) (err error) {
	s.Duration, s.Stages = time.Duration(f.duration), f.stages
	if s.QPS, s.Max, err = f.clusterRate(); err != nil {
		return err
	}
	if err := f.setConcurrency(s); err != nil {
		return err
	}
	s.Profile, err = pacer.LoadProfile(f.profile, func(name string) (io.ReadCloser, error) { return os.Open(name) })
	if err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	return nil
}

// clusterRate returns the value of --qps or --rate: a rate, 0 if none was given, or max.
func (f *Schedule) clusterRate() (rate pacer.Rate, most bool, err error) {
	none := pacer.Rate{Den: 1}
	name, text := "--qps", f.qps
	switch {
	case f.qps != "" && f.rate != "":
		return none, false, errors.New("--qps and --rate: both are the rate of the whole cluster, give one of them")
	case f.rate != "":
		name, text = "--rate", f.rate
	case f.qps == "":
		return none, false, nil
	}
	if text == "max" {
		return none, true, nil
	}
	if rate, err = pacer.ParseRate(text); err != nil {
		return none, false, fmt.Errorf("%s: %w, or max, as fast as it goes", name, err)
	}
	return rate, false, nil
}
