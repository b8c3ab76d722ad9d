package runflags

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer/limit"
)

// limiterFlags are the flags of a run's limiter.
type limiterFlags struct {
	name, expire string
	burst        Count
	window       cli.Duration
	spread, debt bool
}

func (f *limiterFlags) addFlags(s *pflag.FlagSet) {
	s.StringVar(&f.name, "limiter", spec.SlotsLimiter, "`NAME` of the limiter that requests have to pass: "+strings.Join(limit.Names(), ", ")+
		". With gcra and no --burst there is no limiter, only the even schedule. See docs/limiters.md#in-a-run")
	s.Var(&f.burst, "burst", "burst of a bucket, or of gcra, in requests (default: half a second of the rate). "+
		"A burst of less than 10ms of the rate may not reach the rate")
	f.window = cli.Duration(spec.DefaultWindow)
	s.Var(&f.window, "window", "window of a limiter that counts in windows; one of less than 20ms may not reach the rate")
	s.BoolVar(&f.spread, "spread", true, "send evenly what the limiter grants; false: send it at once. "+
		"Not allowed with leaky-bucket, or with gcra and no --burst")
	s.StringVar(&f.expire, "expire", "", "`nx`: fixed-window sets the expiry of its key by EXPIRE NX with each grant; needs Redis 7.0")
	s.BoolVar(&f.debt, "debt", false, "token-bucket may go into debt: with one token left it grants any number, and then waits until the debt is paid")
}

// set puts them into the spec. given are the flags of the command line.
func (f *limiterFlags) set(s *spec.Spec, given *pflag.FlagSet) error {
	switch {
	case !slices.Contains(limit.Names(), f.name):
		return fmt.Errorf("--limiter %.40q: %sthere are %s", f.name, cli.Similar(f.name, limit.Names()), strings.Join(limit.Names(), ", "))
	case given.Changed("window") && f.window == 0:
		return errors.New("--window: give a time above 0, such as 1s")
	case given.Changed("expire") && f.expire != "nx":
		return fmt.Errorf("--expire %.40q: there is nx; or leave it out", f.expire)
	}
	if f.name != spec.SlotsLimiter || f.burst > 0 {
		s.Limiter, s.Burst = f.name, int64(f.burst)
	}
	if given.Changed("window") {
		s.Window = time.Duration(f.window)
	}
	s.Together, s.ExpireNX, s.Debt = !f.spread, f.expire == "nx", f.debt
	return nil
}

// first returns the first of these flags that was given, or "".
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
