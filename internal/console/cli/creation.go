package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

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
}

// AddFlags adds --new and --keep.
func (f *Creation) AddFlags(c *cobra.Command) {
	f.command, f.keep = c, Duration(run.DefaultKeep)
	c.Flags().BoolVar(&f.New, "new", false, "replace a run of this name if it has ended")
	c.Flags().Var(&f.keep, "keep", "how long Redis keeps the run after the last contact")
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
