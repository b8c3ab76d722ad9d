package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/watch"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

// progress has the flags that say how the progress of a run is shown.
type progress struct {
	every  cli.Duration
	screen cli.Screen
	leaves bool // q on the screen ends the command
}

func (p *progress) AddFlags(c *cobra.Command) {
	p.every = cli.Duration(time.Second)
	c.Flags().Var(&p.every, "progress", "how often to show a line of progress, at least 1s; 0 = show nothing, and no screen")
	p.screen.AddFlags(c)
}

func (p *progress) check() error {
	if p.every != 0 && p.every < cli.Duration(time.Second) {
		return cli.Config(errors.New("--progress: give 1s or more, or 0 for none"))
	}
	return nil
}

// follow shows the run's progress until the run is over or ctx ends: on a whole terminal, or in lines on stderr. If the
// person leaves the screen, the command goes on in lines, or ends as if the run were over.
func (p *progress) follow(ctx context.Context, c *cobra.Command, r *run.Run) error {
	o := p.screen.Options(c, time.Duration(p.every))
	o.Leaves = p.leaves
	err := watch.Run(ctx, o, r)
	if errors.Is(err, watch.ErrLeft) {
		return nil
	}
	return err
}
