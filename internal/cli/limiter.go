package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/pacer/limit"
)

// limiterFlags are the limiter of a run.
type limiterFlags struct {
	name, expire string
	burst        Count
	window       Duration
	spread, debt bool
}

func (f *limiterFlags) addFlags(s *pflag.FlagSet) {
	s.StringVar(&f.name, "limiter", run.SlotsLimiter, "`NAME` of the limiter that requests have to pass: "+strings.Join(limit.Names(), ", ")+
		". gcra without --burst is the even schedule alone. See docs/limiters.md#in-a-run")
	s.Var(&f.burst, "burst", "requests that a bucket, or gcra, lets pass at once (default: half a second of the rate). "+
		"Less than 10ms of the rate may lose some of it")
	f.window = Duration(run.DefaultWindow)
	s.Var(&f.window, "window", "window of a limiter that counts in windows; less than 20ms may lose some of the rate")
	s.BoolVar(&f.spread, "spread", true, "send evenly what the limiter grants; false: send it together. "+
		"Not for leaky-bucket, nor gcra without --burst")
	s.StringVar(&f.expire, "expire", "", "`nx`: fixed-window sets the lifetime of its key with each grant (EXPIRE NX, Redis 7.0)")
	s.BoolVar(&f.debt, "debt", false, "token-bucket lets pass any number at once while it has one token, and then none until that is paid back")
}

// set puts them into the spec. given are the flags of the command line.
func (f *limiterFlags) set(s *run.Spec, given *pflag.FlagSet) error {
	switch {
	case !slices.Contains(limit.Names(), f.name):
		return fmt.Errorf("--limiter %.40q: %sthere are %s", f.name, Similar(f.name, limit.Names()), strings.Join(limit.Names(), ", "))
	case given.Changed("window") && f.window == 0:
		return errors.New("--window: give a time above 0, such as 1s")
	case given.Changed("expire") && f.expire != "nx":
		return fmt.Errorf("--expire %.40q: there is nx; or leave it out", f.expire)
	}
	if f.name != run.SlotsLimiter || f.burst > 0 {
		s.Limiter, s.Burst = f.name, int64(f.burst)
	}
	if given.Changed("window") {
		s.Window = time.Duration(f.window)
	}
	s.Together, s.ExpireNX, s.Debt = !f.spread, f.expire == "nx", f.debt
	return nil
}

// first is the first of these flags that was given, or "".
func (f *limiterFlags) first(given *pflag.FlagSet) string {
	for _, name := range []string{"limiter", "burst", "window", "spread", "expire", "debt"} {
		if given.Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// complete completes the names of limiters in a shell.
func (f *limiterFlags) complete(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return limit.Names(), cobra.ShellCompDirectiveNoFileComp
}
