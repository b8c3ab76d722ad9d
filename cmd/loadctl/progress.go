package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/internal/watch"
)

// progress is the flag --progress: how often to show the progress of a run.
type progress struct{ every cli.Duration }

func (p *progress) AddFlags(c *cobra.Command) {
	p.every = cli.Duration(time.Second)
	c.Flags().Var(&p.every, "progress", "how often to show the progress, at least 1s; 0 = never")
}

func (p *progress) check() error {
	if p.every != 0 && p.every < cli.Duration(time.Second) {
		return cli.Config(errors.New("--progress: give 1s or more, or 0 for none"))
	}
	return nil
}

// follow shows the run's progress on stderr until the run is over or ctx ends.
func (p *progress) follow(ctx context.Context, c *cobra.Command, r *run.Run) error {
	return watch.Run(ctx, c.ErrOrStderr(), r, time.Duration(p.every))
}
