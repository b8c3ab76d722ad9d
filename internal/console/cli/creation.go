package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

// leastKeep is the shortest lifetime of a run's state. It is renewed once a second, and an outage of Redis should not
// end it.
const leastKeep = time.Minute

// Creation has the flags that say how a run is created, apart from its spec.
type Creation struct {
	New bool // replace a run of this name that has ended

	command *cobra.Command
	keep    Duration
	wait    Duration
}

// AddFlags adds --new, --keep and --wait-budget.
func (f *Creation) AddFlags(c *cobra.Command) {
	f.command, f.keep = c, Duration(run.DefaultKeep)
	c.Flags().BoolVar(&f.New, "new", false, "replace a run of this name if it has ended")
	c.Flags().Var(&f.keep, "keep", "how long Redis keeps the run after the last contact")
	c.Flags().Var(&f.wait, "wait-budget", "if a budget has no room for the run, or is frozen, wait for that long, first come, first served")
	Group(c.Flags(), "Run")
}

// Check refuses a lifetime that is too short.
func (f *Creation) Check() error {
	if f.keep < Duration(leastKeep) {
		return Config(errors.New("--keep: at least 1m"))
	}
	return nil
}

// Options returns the flags as run.Create takes them.
func (f *Creation) Options() run.Options {
	return run.Options{By: program(f.command), New: f.New, Keep: time.Duration(f.keep)}
}

// Wait returns how the creation waits for room at its endpoint.
func (f *Creation) Wait(tell func(string)) rights.Wait {
	return rights.Wait{Room: time.Duration(f.wait), Tell: tell}
}
